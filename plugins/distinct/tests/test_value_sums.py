"""The sum of a value over the distinct items of a window, compared with plain Python and fractions."""

import math
from collections import defaultdict
from datetime import datetime
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cut_run import cut_run
from in_process_shards import on_shards
from skyband import ConfigError, InputError, SnapshotError, create
from skyband.engines import local
from skyband.engines.local import LocalRun
from skyband.queries import make_query
from skyband.state_validation import StateReader
from skyband_distinct.distinct_count import execution
from skyband_distinct.distinct_count.small_groups import SmallSums
from skyband_distinct.exact_sums import exact_sums, exact_terms, terms_of
from skyband_distinct.k_skb.sum_bounds import ValueSample, around_k, miss_of_one, sum_estimate
from skyband_jobs.files.states_table import StatesTable
from skyband_spark.savepoints.first_states import begin_with_states
from skyband_specs.binomial import allowed_failures
from skyband_specs.sketch.streams import spread

EVERY = 5
EPOCH = datetime(1970, 1, 1)
QUERY = {"kind": "distinct-count", "time": "t", "item": "item", "value": "value", "every": "5 seconds"}
PRICES = [None, math.nan, math.inf, -math.inf, 0.0, -0.0, 0.1, 9.99, 1e16, 1.0, -1e16, 2.0**53, 3e-300, 1e290, -7.25]
"""Values that cannot be added up, values that are lost in another order, and plain prices."""
TYPES = {"prices": pa.float64(), "whole": pa.int64(), "cents": pa.decimal128(9, 2)}


def stream(rng, size):
    """Rows with equal times, at moments and between them, changing values, null items and values, and gaps."""
    seconds = np.sort(rng.integers(0, 50, size))
    seconds += 100 * (seconds > 15) + 33 * (seconds > 30)
    items = [None if item > 9 else int(item) for item in rng.zipf(1.5, size)]
    kind = list(TYPES)[int(rng.integers(len(TYPES)))]
    values = {
        "prices": [PRICES[place] for place in rng.integers(0, len(PRICES), size)],
        "whole": rng.integers(-(2**53), 2**53, size).tolist(),
        "cents": [int(value) / 100 for value in rng.integers(-1000, 100_000, size)],
    }[kind]
    columns = {"t": pa.array(seconds * 1_000_000, pa.timestamp("us")), "item": pa.array(items, pa.int64())}
    exact = pa.array(values, pa.float64()) if kind == "cents" else pa.array(values, TYPES[kind])
    value = exact.cast(TYPES[kind]) if kind == "cents" else exact
    return pa.table(columns | {"group": rng.integers(0, 3, size), "value": value})


def expected(rows, query):
    """{(group, moment, window): (count, sum)} of each item's last row, the largest value if there are several."""
    lower = query.get("lower", 0.0 if "upper" in query else -math.inf)
    upper = query.get("upper", math.inf)
    groups, latest, answers = defaultdict(list), 0, {}
    for row in rows.to_pylist():
        value = None if row["value"] is None else float(row["value"])
        if row["item"] is None or value is None or not lower <= value <= upper or not abs(value) <= 2.0**960:
            continue
        latest = int((row["t"] - EPOCH).total_seconds())
        groups[row["group"] if "by" in query else 0].append((latest, row["item"], value))
    windows = [int(window.split()[0]) for window in query["windows"]]
    for group, entries in groups.items():
        begins = entries[0][0] // EVERY * EVERY + EVERY
        for at in range(begins, latest // EVERY * EVERY + EVERY + 1, EVERY):
            if not any(at - max(windows) <= time < at for time, _, _ in entries) and "empty" not in query:
                continue
            for window in windows:
                last = {}
                for time, item, value in entries:
                    if at - window <= time < at:
                        last[item] = max(last.get(item, (time, value)), (time, value))
                answers[group, at, window] = len(last), float(sum(Fraction(value) for _, value in last.values()))
    return answers


def answered(table):
    answers = {}
    for row in table.to_pylist():
        assert row["sum_low"] == row["sum"] == row["sum_high"]
        place = row.get("group", 0), int((row["at"] - EPOCH).total_seconds()), int(row["window"].split()[0])
        assert place not in answers
        answers[place] = row["count"], row["sum"]
    return answers


def follow(seed, monkeypatch):
    rng = np.random.default_rng([47, seed])
    monkeypatch.setattr(execution, "_FEWEST_KEYS", 1)
    monkeypatch.setattr(execution, "_MOST_KEYS", int(rng.choice([0, 2, 4, 512])))  # processors, and groups that grow
    windows, rows = [(10,), (20, 5), (7, 25, 15)][seed % 3], stream(rng, int(rng.integers(0, 60)))
    query = QUERY | {"windows": [f"{window} seconds" for window in windows]}
    query |= {"by": ["group"]} if rng.integers(2) else {}
    query |= [{}, {"upper": 1000.0}, {"lower": -5.0, "upper": 9.99}, {"lower": 0.05}][int(rng.integers(4))]
    query |= {"empty": "zero"} if rng.integers(2) else {}
    sketch = {"sketch": "k-skb" if "upper" in query and rng.integers(2) else "exact"}
    wanted = expected(rows, query)
    assert answered(local.apply(rows, query, sketch)) == wanted, (seed, query)
    assert answered(cut_run(rows, query, rng, sketch)[0]) == wanted, (seed, query, "in batches")
    if "by" not in query:
        together = on_shards(rows, make_query(query), 3, batches=2, backends=sketch)[0]
        assert answered(together) == wanted, (seed, query, "on shards")
    shuffled = rows.take(pa.array(rng.permutation(len(rows)))).sort_by("t")
    assert answered(local.apply(shuffled, query, sketch)) == wanted, (seed, query, "in another order of equal times")
    return len(wanted)


@pytest.mark.filterwarnings("ignore:all .* rows were left out")
def test_each_item_is_added_up_once_with_its_latest_value(monkeypatch):
    assert sum(follow(seed, monkeypatch) for seed in range(40)) > 600


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:all .* rows were left out")
def test_each_item_is_added_up_once_with_its_latest_value_on_ten_thousand_streams(monkeypatch):
    assert sum(follow(seed, monkeypatch) for seed in range(100, 10_100)) > 150_000


def test_small_groups_add_up_like_processors(monkeypatch):
    rng = np.random.default_rng(9)
    rows = stream(rng, 3000).set_column(2, "group", pa.array(rng.integers(0, 200, 3000)))
    rows = rows.set_column(3, "value", pa.array(rng.choice(PRICES[4:], 3000)))
    query = QUERY | {"windows": ["20 seconds", "7 seconds"], "by": ["group"]}
    monkeypatch.setattr(execution, "_FEWEST_KEYS", 1)
    tables = []
    for most in (0, 3, 512):
        monkeypatch.setattr(execution, "_MOST_KEYS", most)
        run = LocalRun.start(query, rows.schema, {"sketch": "exact"})
        assert isinstance(getattr(run.operator._groups._small_groups, "_table", None), SmallSums) == (most > 0)
        tables.append(
            local.apply(rows, query, {"sketch": "exact"}).sort_by([("at", "ascending"), ("group", "ascending")])
        )
    assert len(tables[0]) > 1500 and tables[0].equals(tables[1]) and tables[0].equals(tables[2])


def test_small_groups_refuse_values_beyond_the_limits():
    query = make_query(QUERY | {"windows": ["5 seconds"], "by": ["group"], "upper": 10})
    run = LocalRun.start(query, paid([1.0, 2.0], group=[1, 1]).schema, {"sketch": "exact"})
    table = run.operator._groups._small_groups._table
    for value in (-1.0, 10.5, math.nan):
        entries = {"key": np.array([7], np.uint64), "time": np.array([3]), "value": np.array([value])}
        with pytest.raises(SnapshotError, match="value"):
            table.check_entries(StateReader(entries), np.array([0]))


def test_sums_are_rounded_once_whatever_their_order():
    rng = np.random.default_rng(2)
    for _ in range(300):
        values = rng.choice([-1.0, 1.0], 40) * 2.0 ** rng.integers(-1070, 900, 40) * (1 + rng.random(40))
        values = np.append(values, -values[rng.permutation(40)[: int(rng.integers(0, 41))]])
        exact = float(sum(map(Fraction, values.tolist())))
        terms = exact_terms(rng.permutation(values))
        assert math.fsum(terms.tolist()) == exact
        assert exact_sums(terms, np.array([0, len(terms)])).tolist() == [exact]
        cut = int(rng.integers(0, len(values)))
        parts = np.concatenate([exact_terms(values[:cut]), exact_terms(values[cut:])])
        assert exact_sums(parts, np.array([0, 0, len(parts)])).tolist() == [0.0, exact]
    half = [1.0, 2.0**-53, 2.0**-106]  # half to even, with a term below it
    assert exact_sums(np.array(half), np.array([0, 3])).tolist() == [math.fsum(half)]
    for value in (2.0**960, -(2.0**960)):
        assert sorted(terms_of(np.array([1.0, value])).tolist()) == sorted([1.0, value])
    for value in (math.inf, -math.inf, 2.0**961, np.nextafter(2.0**960, math.inf)):
        with pytest.raises(InputError, match=r"values: must lie within ±2\^960"):
            terms_of(np.array([1.0, value]))


@pytest.mark.parametrize(("delta", "theta"), [(0.05, None), (0.3, None), (0.2, "theta")])
def test_bounds_of_a_sample_contain_the_sum_as_often_as_declared(delta, theta):
    misses = []
    for seed in range(60):
        rng = np.random.default_rng([5, seed])
        keys = 1500
        values = [rng.random(keys), 1.0 * (rng.random(keys) < 0.05), rng.exponential(0.1, keys).clip(0, 1)][seed % 3]
        shift = [0.0, -0.5][seed % 2]
        sketch = create("sketch", "k-skb", values="latest", epsilon=0.2, delta=delta, hash=theta)
        sketch.update(np.arange(keys), spread(np.arange(keys) + 10**6 * seed), values + shift)
        total, low, high = sketch.estimate_sum(0, shift, 1 + shift)
        assert low < total < high
        misses.append(not low <= math.fsum((values + shift).tolist()) <= high)
        assert sketch.estimate_sum(keys - 40, shift, 1 + shift) == (math.fsum((values + shift)[-40:].tolist()),) * 3
    assert sum(misses) <= allowed_failures(len(misses), delta, 1e-8)


def test_the_estimate_of_a_sum_is_unbiased_and_its_bounds_narrow_as_samples_grow():
    errors, widths = [], []
    for seed in range(40):
        rng = np.random.default_rng([6, seed])
        values = rng.random(20_000)
        sketch = create("sketch", "k-skb", values="latest", epsilon=[0.1, 0.05][seed % 2], hash="theta")
        sketch.update(np.arange(20_000), spread(np.arange(20_000) + 10**6 * seed), values)
        total, low, high = sketch.estimate_sum(0, 0, 1)
        errors.append(total / values.sum() - 1)
        widths.append((high - low) / total)
    deviation = np.sqrt(1 + 1 / 3) / np.sqrt(sketch._k)  # uniform values deviate by 1 / √3 of their mean
    assert abs(np.mean(errors)) < 4 * 2 * deviation / np.sqrt(40)
    assert np.median(widths[1::2]) < 0.65 * np.median(widths[::2])


def test_the_ends_of_a_number_of_keys_are_missed_as_rarely_as_declared():
    """n times the kth smallest of n hashes is close to a gamma number of shape k."""
    gamma = np.random.default_rng(1).gamma(50, size=200_000)
    for miss in (0.3, 0.05, 0.001):
        below, above = around_k(50, miss)
        assert below < 50 < above
        assert (gamma < below).mean() <= miss and (gamma > above).mean() <= miss
    assert miss_of_one(0.1, 1) == pytest.approx(0.05)
    miss = miss_of_one(0.05, 3)
    assert 3 * miss**2 * (1 - miss) + miss**3 == pytest.approx(0.025)


@pytest.mark.parametrize("delta", [0.2, 0.05, 0.001])
def test_the_number_of_keys_and_their_mean_each_cause_half_of_the_misses(delta):
    """The width follows from the probability p of theorem 4.3; one end misses with probability 5 p."""
    values, share = np.random.default_rng(1).random(4999), 0.1
    _, low, high = sum_estimate([ValueSample(values, share)], 5000, delta, 0.0, 1.0)
    deviation, kappa = math.sqrt(2) * values.std(), 7 / 3 + 3 / math.sqrt(2)
    for end, keys in zip((low, high), around_k(5000, delta / 4), strict=True):
        off = abs(end * share / keys - values.mean())
        root = (math.sqrt(deviation**2 + 4 * kappa * off) - deviation) / (2 * kappa)
        assert 5 * math.exp(-len(values) * root**2) == pytest.approx(delta / 4, rel=1e-6)


def test_values_that_deviate_widen_the_bounds():
    alike, apart = np.full(4999, 0.5), np.arange(4999) % 2.0
    widths = []
    for values in (alike, apart):
        total, low, high = sum_estimate([ValueSample(values, 0.1)] * 3, 5000, 0.05, 0.0, 1.0)
        assert low < total < high
        widths.append((high - low) / total)
    assert 1.5 * widths[0] < widths[1] < 3 * widths[0]


def paid(values, **columns):
    seconds = pa.array(range(len(values)), pa.timestamp("s"))
    return pa.table({"t": seconds, "item": list("abcdefgh"[: len(values)]), "value": values} | columns)


def test_rows_that_are_not_added_up_are_left_out_and_counted():
    table = paid([1.5, None, math.nan, math.inf, -2.0, 100.0, 7.25, 2.0**961])
    run = LocalRun.start(QUERY | {"windows": ["10 seconds"], "upper": 50}, table.schema, {"sketch": "exact"})
    run.push(table.to_batches()[0])
    assert [(row["count"], row["sum"]) for row in run.finish().to_pylist()] == [(2, 8.75)]
    dropped = {"null value": 2, "value too large to add up": 2, "value below lower": 1, "value above upper": 1}
    assert run.operator.take_metrics().dropped == dropped


def test_windows_in_rows_and_of_rules_and_changes():
    table = paid([1, 2, 4, 8, 16, 32]).set_column(1, "item", pa.array(list("aabcab")))
    in_rows = QUERY | {"windows": ["4 rows"], "every": "2 rows", "time": "n"}
    numbered = table.append_column("n", pa.array(range(6)))
    assert local.apply(numbered, in_rows, {"sketch": "exact"})["sum"].to_pylist() == [2, 14, 56]
    rules = pa.table({"name": ["three"], "window": ["3 seconds"], "slide": ["5 seconds"]})
    kept = QUERY | {"windows": ["5 seconds"], "longest": "10 seconds"}
    asked = local.apply(table, kept, {"sketch": "exact"}, rules=rules).to_pylist()
    assert [(row["rule"], row["sum"]) for row in asked] == [
        ("5 seconds", 28),
        ("three", 28),
        ("5 seconds", 32),
    ]
    changes = QUERY | {"windows": ["1 hour"], "every": "2 seconds", "answers": "changes", "changed": ["sum"]}
    assert local.apply(table, changes, {"sketch": "exact"})["sum"].to_pylist() == [2, 14, 56]


def test_a_query_cannot_start_from_states_with_values_that_cannot_be_added_up(tmp_path):
    table = paid([1.5, 2.5, math.inf])
    keys = QUERY | {"windows": ["1 minute"]}
    for rows, plain in ((table.slice(0, 2), True), (table, False)):
        pq.write_table(local.apply(rows, keys | {"emit": "state"}, {"sketch": "exact"}), tmp_path / "states.parquet")
        run = LocalRun.start(keys, rows.schema, {"sketch": "exact"})
        if plain:
            begin_with_states(run.operator, StatesTable(str(tmp_path)), 5_000_000)
        else:
            with pytest.raises(SnapshotError, match="holds values that cannot be added up: value too large to add up"):
                begin_with_states(run.operator, StatesTable(str(tmp_path)), 5_000_000)


@pytest.mark.parametrize(
    ("changes", "backend", "field", "said"),
    [
        ({}, "pcsa-ml", "backends.sketch", "it only counts items, without values to add up: choose exact, or k-skb"),
        ({}, "se-fm", "backends.sketch", "choose exact, or k-skb with `upper`"),
        ({}, "se-pcsa", "backends.sketch", "choose exact, or k-skb with `upper`"),
        ({}, "k-skb", "query.upper", "is required with k-skb, whose bounds of a sum depend on the largest"),
        ({"lower": 0}, "k-skb", "query.upper", "is required with k-skb"),
        ({"against": "previous"}, "exact", "against", "compares counts, not sums of values"),
        ({"lower": 5, "upper": 5}, "exact", "upper", "must be above lower = 5 (got 5)"),
        ({"upper": -1}, "exact", "upper", "must be above lower = 0 (got -1)"),
        ({"upper": 5, "ranges": [[0, 1]]}, "exact", "upper", "limits the sum of a `value`"),
        ({"lower": 5, "emit": "state"}, "exact", "lower", "limits the sum of a `value`"),
        ({"upper": 5, "value": None}, "exact", "upper", "limits the sum of a `value`"),
        ({"value": "item"}, "exact", "query.value", "column 'item' must be a number"),
    ],
)
def test_invalid_sums_are_refused_with_the_remedy(changes, backend, field, said):
    with pytest.raises(ConfigError) as caught:
        local.apply(paid([1]), QUERY | {"windows": ["5 seconds"]} | changes, {"sketch": backend})
    (problem,) = caught.value.problems
    assert problem.field == field and said in problem.message


def test_a_sketch_that_cannot_sum_says_so():
    with pytest.raises(InputError, match="sum: pcsa-ml counts keys only; k-skb and exact can add up values"):
        create("sketch", "pcsa-ml").estimate_sum(0)
    with pytest.raises(InputError, match="values: exact keeps no values: make it with"):
        create("sketch", "exact").estimate_sum(0)
    sampled = create("sketch", "k-skb", values="latest")
    for limits, field in (((-math.inf, 1), "least"), ((0, math.inf), "most"), ((1, 0), "most")):
        with pytest.raises(InputError, match=f"{field}: "):
            sampled.estimate_sum(0, *limits)


def test_a_job_that_counted_ranges_cannot_continue_with_sums():
    """Ranges hold infinite values too."""
    table = paid([1.0, 2.0])
    keys = {"windows": ["5 seconds"]}
    run = LocalRun.start(QUERY | keys | {"ranges": [[0, 1]]}, table.schema, {"sketch": "exact"})
    run.push(table.to_batches()[0])
    again = LocalRun.start(QUERY | keys, table.schema, {"sketch": "exact"})
    with pytest.raises(SnapshotError, match=r"query.ranges was \(\[0, 1\),\), is None"):
        again.operator.restore(run.operator.snapshot())
