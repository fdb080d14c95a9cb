"""Windows beside earlier ones: within certain bounds by all backends, equal to the definition by the exact one."""

import math
from datetime import datetime, timedelta
from fractions import Fraction
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as some
from skyband.columns.rows import Rows
from skyband.engines import local
from skyband.errors import ConfigError, SnapshotError
from skyband.operator.bind_backends import bind
from skyband.queries import make_query
from skyband_quantiles.quantiles.comparing_processor import ComparingProcessor
from skyband_quantiles.quantiles.earlier_windows import EarlierWindows, Ended

HOUR = 3_600_000_000
START = 1_760_000_400_000_000 // HOUR * HOUR
QUERY = {"kind": "quantiles", "time": "ts", "value": "value", "windows": ["1 hour"], "every": "1 hour"}
BINS = [0.5, 1.0, 2.0]


def apart(name, ours, theirs, ends):
    """A distance by its definition, in whole numbers as far as they go; ends: of the bins of psi."""
    numbers = np.unique([*ours, *theirs])
    counts = [np.searchsorted(np.sort(values), numbers, side="right") for values in (ours, theirs)]
    differences, whole = np.abs(counts[0] * len(theirs) - counts[1] * len(ours)), len(ours) * len(theirs)
    if name == "ks":
        return float(Fraction(int(differences.max()), whole))
    if name == "wasserstein":
        return math.fsum(np.diff(numbers) * differences[:-1] / whole)
    parts = [
        (np.bincount(np.searchsorted(ends, values), minlength=len(ends) + 1) + 0.5)
        / (len(values) + (len(ends) + 1) / 2)
        for values in (ours, theirs)
    ]
    return float(((parts[0] - parts[1]) * np.log(parts[0] / parts[1])).sum())


def deciles(values):
    ordered = sorted(values)
    return sorted({ordered[max(1, -(-part * len(ordered) // 10)) - 1] for part in range(1, 10)})


def drifting(seed, rows, hours=30):
    """Rows of `hours` hours, with hours of few rows and of none, whose values drift."""
    rng = np.random.default_rng(seed)
    hour = rng.choice(hours, rows, p=rng.dirichlet(np.where(np.arange(hours) % 7 == 3, 0.002, 1.0)))
    hour = hour[(hour != 11) & (hour != 12)]
    times = np.sort(hour * HOUR + rng.integers(0, HOUR, len(hour)))
    values = rng.lognormal(times / HOUR / 40, 1.0, len(times))
    values = [values, np.round(values), rng.normal(0, 3, len(times))][seed % 3]
    return START + times, values


def table(times, values):
    return pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "value": values})


def inside(times, values, end, length=HOUR):
    return values[(times >= end - length) & (times < end)].tolist()


@pytest.mark.parametrize("backend", ["exact", "buckets"])
@pytest.mark.parametrize("bins", [BINS, 10])
@pytest.mark.parametrize("seed", range(3))
def test_distances_of_the_rows_are_within_the_bounds(backend, bins, seed):
    times, values = drifting(seed, 40_000, hours=20)
    keys = {"against": "5 hours", "distance": ["ks", "wasserstein", "psi"], "bins": bins, "at": [0.9]}
    sketch = {"name": backend, **({"alpha": 0.05, "epsilon": 0.5} if backend == "buckets" else {})}
    compared = unequal = 0
    for row in local.apply(table(times, values), QUERY | keys, {"quantile-sketch": sketch}).to_pylist():
        at = round(row["at"].timestamp() * 1e6)
        ours, theirs = inside(times, values, at), inside(times, values, at - 5 * HOUR)
        assert (row["rows"], row["against_rows"]) == (len(ours), len(theirs))
        if not ours or not theirs:
            assert row["distance"] is None or (row["value"], row["low"], row["high"]) == (None, None, None)
            continue
        compared += 1
        if row["distance"] is None:
            now, then = (sorted(rows)[-(-9 * len(rows) // 10) - 1] for rows in (ours, theirs))
            assert row["difference_low"] <= now - then <= row["difference_high"]
            assert row["difference"] == row["value"] - row["previous"]
            continue
        ends = BINS if bins == BINS else deciles(theirs)
        truth = apart(row["distance"], ours, theirs, ends)
        if backend == "exact":
            assert row["low"] == row["value"] == row["high"] == pytest.approx(truth, rel=1e-12, abs=1e-15)
            assert row["distance"] != "ks" or row["value"] == truth
        elif bins == BINS or row["distance"] != "psi":
            assert row["low"] <= truth * (1 + 1e-12) and truth * (1 - 1e-12) <= row["high"]
            assert row["low"] <= row["value"] <= row["high"]
            unequal += row["low"] < row["high"]
    assert compared >= 30 and (backend == "exact" or seed == 1 or unequal >= 8), "seed 1 has few different values"


@pytest.mark.parametrize("backend", ["exact", {"name": "buckets", "alpha": 0.05, "epsilon": 0.5}])
def test_a_window_is_compared_with_the_answers_that_were_given_at_its_end(backend):
    times, values = drifting(0, 20_000, hours=20)
    keys = {"windows": ["1 hour", "2 hours"], "against": "5 hours", "at": [0.1, 0.9], "above": [1.0]}
    rows = local.apply(table(times, values), QUERY | keys, {"quantile-sketch": backend}).to_pylist()
    answers = {(row["window"], row["quantile"], row["at"]): row for row in rows}
    compared = 0
    for (window, quantile, at), row in answers.items():
        before = answers.get((window, quantile, at - timedelta(hours=5)))
        assert row["against_rows"] == (before["rows"] if before else 0)
        assert row["previous"] == (before["value"] if before else None)
        if row["value"] is not None and before and before["value"] is not None:
            compared += 1
            assert row["difference_low"] == row["low"] - before["high"]
            assert row["difference_high"] == row["high"] - before["low"]
    assert compared > 50


def test_bins_of_the_query_are_counted_as_they_are():
    """The rows above each end of a bin are counted, here and in the earlier window: both bounds are the index."""
    times, values = drifting(0, 40_000)
    keys = {"against": "previous", "distance": ["psi"], "bins": BINS}
    rows = local.apply(table(times, values), QUERY | keys, {"quantile-sketch": "buckets"}).to_pylist()
    assert sum(row["low"] is not None for row in rows) > 15
    assert all(row["low"] == row["high"] for row in rows)


def test_windows_far_enough_apart_are_surely_different():
    """An alarm on `low` is never false: alike windows never exceed their distance, unlike ones soon do."""
    rng = np.random.default_rng(5)
    times = np.sort(rng.integers(0, 4 * HOUR, 200_000)) + START
    values = rng.lognormal(np.where(times >= START + 3 * HOUR, 0.1, 0.0), 1)
    keys = {"against": "previous", "distance": ["ks"]}
    rows = local.apply(table(times, values), QUERY | keys).to_pylist()[1:4]
    assert [row["low"] > 0.02 for row in rows] == [False, False, True]
    assert all(row["high"] - row["low"] <= 0.012 for row in rows), "at moments, by the defaults"


def test_the_same_day_of_the_week_before_by_groups():
    rng = np.random.default_rng(1)
    times = np.sort(rng.integers(0, 16 * 24, 4_000)) * HOUR + START // (24 * HOUR) * 24 * HOUR
    names, values = rng.integers(0, 3, 4_000), rng.integers(0, 9, 4_000).astype(float)
    log = table(times, values).append_column("name", pa.array(names))
    keys = {"windows": ["1 day"], "every": "1 day", "against": "7 days", "distance": ["ks"], "by": "name"}
    rows = local.apply(log, QUERY | keys).to_pylist()
    assert len(rows) == 3 * 16
    for row in rows:
        at, own = round(row["at"].timestamp() * 1e6), names == row["name"]
        days = [inside(times[own], values[own], at - lag * 24 * HOUR, 24 * HOUR) for lag in (0, 7)]
        assert row["value"] == (apart("ks", *days, []) if all(days) else None)


def test_windows_in_rows_are_compared_with_the_rows_before_them():
    rng = np.random.default_rng(2)
    values = rng.integers(0, 20, 95).astype(float)
    log = pa.table({"ts": np.arange(95), "value": values})
    keys = {"windows": ["20 rows"], "every": "10 rows", "against": "previous", "distance": ["ks"], "at": [0.5]}
    rows = [row for row in local.apply(log, QUERY | keys).to_pylist() if row["distance"] == "ks"]
    assert [(row["at"], row["against_rows"]) for row in rows] == [
        (at, max(0, min(20, at - 20))) for at in range(10, 91, 10)
    ]
    for row in rows:
        at = row["at"]
        ours, theirs = values[max(0, at - 20) : at].tolist(), values[max(0, at - 40) : max(0, at - 20)].tolist()
        assert row["value"] == (apart("ks", ours, theirs, []) if theirs else None)


def test_days_of_a_zone_are_compared_over_a_change_of_its_clocks():
    zone = ZoneInfo("Europe/Paris")
    midnights = [datetime(2026, 3, 27, tzinfo=zone) + timedelta(days=day) for day in range(5)]
    times = [int(midnight.timestamp() * 1e6) + hour * HOUR for midnight in midnights for hour in range(22)]
    values = np.arange(len(times), dtype=float)
    day = "1 day in Europe/Paris"
    keys = {"windows": [day], "every": day, "against": "previous", "at": [0], "distance": ["ks"]}
    rows = local.apply(table(np.array(times), values), QUERY | keys).to_pylist()
    assert [row["rows"] for row in rows] == [22] * 10
    assert [row["previous"] for row in rows[::2]] == [None, 0.0, 22.0, 44.0, 66.0]
    assert [row["value"] for row in rows[1::2]] == [None, 1.0, 1.0, 1.0, 1.0]


def a_processor(keys):
    query = make_query(QUERY | keys)
    schema = pa.schema([("ts", pa.timestamp("us", "UTC")), ("value", pa.float64())])
    return ComparingProcessor(query, bind(query, schema, {})["quantile-sketch"], pa.schema(query.answer_fields(schema)))


def an_hour_of(rng, hour, rows=5_000):
    times = np.sort(rng.integers(0, HOUR, rows)) + START + hour * HOUR
    return Rows(times, {"value": rng.lognormal(0, 1, rows)}), START + (hour + 1) * HOUR


def test_what_is_remembered_of_a_window_is_little_and_stays_so():
    """About 2 KB for each window of the lag, however many rows it had and however many windows there were."""
    rng, processor, sizes = np.random.default_rng(3), a_processor({"against": "10 hours", "distance": ["ks"]}), []
    for hour in range(100):
        processor.advance(*an_hour_of(rng, hour))
        arrays = processor.dump_state()[1]
        sizes.append(sum(array.nbytes for name, array in arrays.items() if name.startswith("earlier.")))
    assert max(sizes[10:]) <= 11 * 2_200
    assert max(sizes[10:]) < 1.1 * min(sizes[10:])
    assert len(arrays["earlier.at"]) == 11


@given(some.lists(some.tuples(some.integers(0, 2), some.integers(1, 3), some.integers(0, 5))), some.integers(1, 9))
def test_remembered_windows_are_those_of_a_dictionary(steps, lag):
    """Windows end, some have no rows, and each is asked for a lag later; what is remembered has its bytes."""
    known, remembered, at = {}, EarlierWindows(3), 0
    for window, step, size in steps:
        at += step
        found = remembered.find(window, at - lag)
        assert found == known.get((window, at - lag))
        known = {key: ended for key, ended in known.items() if key[0] != window or key[1] >= at - lag}
        if size:
            ended = Ended(at, size, np.zeros(size), np.zeros(3 * size, np.uint8))
            remembered.add(window, ended)
            known[window, at] = ended
        assert len(remembered) == len(known)
        assert remembered.nbytes == sum(200 + 11 * ended.rows for ended in known.values())


def test_windows_that_somebody_else_answered_are_remembered_like_others():
    rng, keys = np.random.default_rng(6), {"against": "2 hours", "distance": ["ks"]}
    steps, one, other = [an_hour_of(rng, hour, 50) for hour in range(6)], a_processor(keys), a_processor(keys)
    for rows in steps:
        one.advance(*rows)
        assert other.catch_up(*rows) is None
    ours, theirs = one.dump_state(), other.dump_state()
    assert ours[0] == theirs[0] and all(np.array_equal(ours[1][name], theirs[1][name]) for name in ours[1])


def test_nothing_is_remembered_over_a_silence_longer_than_the_lag():
    rng, processor = np.random.default_rng(7), a_processor({"against": "2 hours", "distance": ["ks"]})
    processor.advance(*an_hour_of(rng, 0))
    assert len(processor.dump_state()[1]["earlier.at"]) == 1
    processor.advance(ComparingProcessor.no_rows, START + 9 * HOUR)
    assert len(processor.dump_state()[1]["earlier.at"]) == 0


def test_a_state_whose_earlier_windows_cannot_have_been_is_refused():
    rng, keys = np.random.default_rng(4), {"against": "2 hours", "distance": ["ks", "psi"], "bins": 5, "at": [0.5]}
    processor = a_processor(keys)
    for hour in range(4):
        processor.advance(*an_hour_of(rng, hour))
    header, arrays = processor.dump_state()
    wrong = {
        "of": np.array([0, 0, 1]),
        "at": arrays["earlier.at"][::-1],
        "rows": np.zeros(3, np.int64),
        "sizes": np.array([0, 7, 14]),
        "bytes": arrays["earlier.bytes"] + 1,
        "numbers": np.full_like(arrays["earlier.numbers"], np.nan),
        "encoded": arrays["earlier.encoded"][:-1],
    }
    for name, array in wrong.items():
        with pytest.raises(SnapshotError, match=name if name != "encoded" else "bytes"):
            a_processor(keys).load_state(header, arrays | {f"earlier.{name}": array})
    with pytest.raises(SnapshotError, match="at"):
        a_processor(keys).load_state(header, arrays | {"earlier.at": arrays["earlier.at"] + 3 * HOUR})
    few = arrays["earlier.sizes"].copy()
    few[:2] += 3 + 4 - 1 - few[0], few[0] - 3 - 4 + 1
    with pytest.raises(SnapshotError, match="sizes: must be at least 7"):
        a_processor(keys).load_state(header, arrays | {"earlier.sizes": few})
    again = a_processor(keys)
    again.load_state(header, arrays)
    rows = an_hour_of(rng, 4)
    assert again.advance(*rows).columns[4].tolist() == processor.advance(*rows).columns[4].tolist()
    broken = a_processor(keys)
    broken.load_state(header, arrays | {"earlier.encoded": arrays["earlier.encoded"] | 128})
    with pytest.raises(SnapshotError, match="steps"):
        broken.advance(*rows)


@pytest.mark.parametrize(
    ("keys", "field", "said"),
    [
        ({"against": "30 minutes", "distance": ["ks"]}, "against", "must be at least as long as each window"),
        ({"against": "90 minutes", "distance": ["ks"]}, "against", "must be a multiple of `every` (1 hour)"),
        ({"against": "1 month", "distance": ["ks"]}, "against", "months differ in length; give it in days"),
        ({"against": "70 rows", "distance": ["ks"]}, "against", "must be a length of time above 0"),
        ({"against": "week", "distance": ["ks"]}, "against", "must be a duration"),
        ({"distance": ["ks"]}, "distance", 'needs `against`, the window to compare with: add against = "previous"'),
        ({"against": "previous", "distance": "ks"}, "distance", 'must be a list such as ["ks"]'),
        ({"against": "previous", "distance": ["ks", "ks"]}, "distance[1]", "is listed twice"),
        ({"against": "previous", "distance": ["KL"]}, "distance[0]", "write psi, which adds half a row to each bin"),
        ({"against": "previous", "distance": ["total-variation"]}, "distance[0]", "use the query heavy-hitters"),
        ({"against": "previous", "distance": ["emd"]}, "distance[0]", "must be one of ks, wasserstein, psi"),
        ({"against": "previous", "distance": ["psi"]}, "bins", "is required for psi: 10, or ascending numbers"),
        ({"against": "previous", "distance": ["ks"], "bins": 10}, "bins", "belongs to distance = ['psi']"),
        ({"at": [0.5], "bins": 10}, "bins", "belongs to distance = ['psi']"),
        ({"against": "previous", "distance": ["psi"], "bins": 1}, "bins", "must be from 2 to 60 bins"),
        ({"against": "previous", "distance": ["psi"], "bins": [2, 1]}, "bins", "must be ascending"),
        ({"against": "previous", "distance": ["psi"], "bins": "ten"}, "bins", "must be a list of at most 60 numbers"),
        (
            {"against": "previous", "distance": ["psi"], "bins": [*range(40)], "above": [*range(50, 75)]},
            "bins",
            "at most 60 numbers together with `above`",
        ),
        ({"against": "previous", "at": [0.5], "p_value": True}, "p_value", "compare `low` with a limit"),
        ({"against": "previous", "at": [0.5], "significance": 0.05}, "significance", "no independent draws"),
        ({"against": "previous", "at": [0.5], "emit": "state"}, "emit", "ask the states of two moments"),
        ({"against": "previous", "at": [0.5], "longest": "1 day"}, "against", "cannot be combined with `longest`"),
        ({"distance": ["ks"], "longest": "1 day"}, "distance", "cannot be combined with `longest`"),
        (
            {"against": "previous", "at": [0.5], "windows": ["90 minutes"]},
            "windows[0]",
            "must be a multiple of `every`",
        ),
        ({"against": "previous", "at": [0.5], "windows": ["ever"]}, "windows[0]", "has no previous window"),
        (
            {"against": "previous", "at": [0.5], "windows": ["2 days in UTC"], "every": "1 day in UTC"},
            "windows[0]",
            "must be `every` (1 day in UTC)",
        ),
        (
            {"against": "7 days", "at": [0.5], "windows": ["1 day in UTC"], "every": "1 day in UTC"},
            "against",
            'write "previous", or plain lengths',
        ),
        (
            {"against": "100 hours", "at": [0.5], "windows": ["9 rows"], "every": "9 rows"},
            "against",
            'write "previous"',
        ),
    ],
)
def test_impossible_comparisons_are_refused_with_the_remedy(keys, field, said):
    with pytest.raises(ConfigError) as caught:
        make_query(QUERY | keys)
    assert field in [problem.field for problem in caught.value.problems]
    assert said in str(caught.value)


def test_a_sample_bounds_no_distance():
    keys = {"against": "previous", "distance": ["ks"]}
    with pytest.raises(ConfigError, match=r"distance: does not go with quantile-sketch/k-skb, which bounds no rank"):
        local.apply(table(np.array([START]), np.array([1.0])), QUERY | keys, {"quantile-sketch": "k-skb"})


def test_a_sample_is_compared_by_its_quantiles():
    times, values = drifting(0, 3_000)
    answers = [
        local.apply(table(times, values), QUERY | {"against": "previous", "at": [0.5]}, {"quantile-sketch": name})
        for name in ("k-skb", "exact")
    ]
    assert answers[0].equals(answers[1]), "it is exact for so few rows"
