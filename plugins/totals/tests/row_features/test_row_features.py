"""row-features, compared with looking at all earlier rows of each row, on random streams."""

from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from cut_run import cut_run
from skyband import ConfigError, SnapshotError
from skyband.engines import local
from skyband.queries import make_query

EPOCH = datetime(1970, 1, 1)
QUERY = {"kind": "row-features", "time": "t", "carry": ["number"]}
NO_AMOUNTS = {**dict.fromkeys(range(21, 24)), 24: 0.25, 25: float("nan")}
WINDOWS = [(10,), (3, 20), (1, 60), (7,)]


def stream(rng, size=None):
    """Rows with equal times, up to 3 seconds out of order, with gaps, nulls, and negative or invalid amounts."""
    size = int(rng.integers(0, 50)) if size is None else size
    seconds = np.sort(rng.integers(0, 40, size))
    seconds += 50 * (seconds > 15) + 200 * (seconds > 30)
    order = np.argsort(seconds + rng.uniform(0, 3, size), kind="stable")
    table = pa.table(
        {
            "t": pa.array(seconds * 1_000_000, pa.timestamp("us")),
            "number": np.arange(size),
            "amount": pa.array(
                [NO_AMOUNTS.get(amount, amount / 10) for amount in rng.integers(-20, 26, size).tolist()], pa.float64()
            ),
            "item": pa.array([None if item > 5 else f"i{item}" for item in rng.zipf(1.6, size)], pa.string()),
            "group": pa.array([[None, 1, 2, 3][place] for place in rng.integers(0, 4, size)], pa.int64()),
        }
    )
    return table.take(pa.array(order))


def expected(rows, query):
    """{number: {column: value}}."""
    entries = rows.to_pylist()
    answers = {}
    for row in entries:
        found = {}
        mine = [other for other in entries if "by" not in query or other["group"] == row["group"]]
        for window in query["windows"]:
            length, name = timedelta(seconds=int(window.split()[0])), window.replace(" ", "_")
            if query.get("before"):
                inside = [other for other in mine if row["t"] - length <= other["t"] < row["t"]]
            else:
                inside = [other for other in mine if row["t"] - length < other["t"] <= row["t"]]
            found[f"count_{name}"] = len(inside)
            for column in query.get("sums", ()):
                amounts = [other[column] for other in inside if other[column] is not None]
                whole = all(10 * amount == round(10 * amount) for amount in amounts if amount == amount)
                whole &= all(amount == amount for amount in amounts)
                found[f"{column}_sum_{name}"] = sum(round(10 * amount) for amount in amounts) / 10 if whole else None
            for column in query.get("distinct", ()):
                found[f"{column}_distinct_{name}"] = len({other[column] for other in inside} - {None})
        answers[row["number"]] = {"time": row["t"], "group": row["group"], **found}
    return answers


def answered(table, query):
    rows = table.to_pylist()
    assert len({row["number"] for row in rows}) == len(rows)
    group = {} if "by" in query else {"group": None}
    return {row.pop("number"): group | row for row in rows}


def follow(seed):
    rng = np.random.default_rng([46, seed])
    rows, query = stream(rng), QUERY | {"delay": "3 seconds"}
    query |= {"windows": [f"{window} seconds" for window in WINDOWS[int(rng.integers(len(WINDOWS)))]]}
    query |= {"sums": ["amount"], "unit": 0.1} if rng.integers(2) else {}
    query |= {"distinct": ["item"]} if rng.integers(2) else {}
    query |= {"by": ["group"]} if rng.integers(4) else {}
    query |= {"before": True} if rng.integers(2) else {}
    wanted = expected(rows, query)
    if "by" not in query:
        wanted = {number: row | {"group": None} for number, row in wanted.items()}
    assert answered(local.apply(rows, query), query) == wanted, (seed, query)
    assert answered(cut_run(rows, query, rng)[0], query) == wanted, (seed, query, "in batches")
    return len(wanted)


WARNED = pytest.mark.filterwarnings("ignore:.* rows have a value that is no")


@WARNED
def test_each_row_has_the_features_of_the_rows_before_it():
    assert sum(follow(seed) for seed in range(40)) > 500


@WARNED
@pytest.mark.slow
def test_each_row_has_the_features_of_the_rows_before_it_on_ten_thousand_streams():
    assert sum(follow(seed) for seed in range(100, 10_100)) > 150_000


def test_a_stream_and_its_past_have_the_same_rows_and_a_label_is_joined_by_time():
    """Features computed in micro-batches equal those that a model was trained on."""
    rows = stream(np.random.default_rng(3), 200)
    query = QUERY | {"windows": ["10 seconds"], "by": ["group"], "delay": "3 seconds", "distinct": ["item"]}
    run = local.LocalRun.start(query, rows.schema)
    parts = [run.push(batch) for start in range(0, 200, 7) for batch in rows.slice(start, 7).to_batches()]
    streamed = pa.Table.from_batches([*parts, run.finish()]).sort_by("number")
    assert streamed.equals(local.apply(rows, query).sort_by("number"))


def test_groups_are_forgotten_when_their_windows_become_empty():
    seconds = np.arange(1000)
    rows = pa.table({"t": pa.array(seconds, pa.timestamp("s")), "number": seconds, "group": seconds // 2})
    query = QUERY | {"windows": ["10 seconds"], "by": ["group"]}
    run = local.LocalRun.start(query, rows.schema)
    for batch in rows.to_batches(max_chunksize=50):
        run.push(batch)
    assert 5 <= len(run.operator.groups) <= 8


def test_sums_stay_exact_when_rows_leave_the_window():
    rows = pa.table(
        {"t": pa.array([0, 1, 50], pa.timestamp("s")), "number": [0, 1, 2], "amount": [2**53 / 10, 0.1, 0.1]}
    )
    query = QUERY | {"windows": ["10 seconds"], "sums": ["amount"], "unit": 0.1}
    assert local.apply(rows, query)["amount_sum_10_seconds"].to_pylist()[2] == 0.1


def test_values_between_the_units_cause_a_warning_with_a_remedy():
    query = make_query({**QUERY, "windows": ["10 seconds"], "sums": ["amount"], "unit": 1})
    assert sorted(query.promises) == sorted(query.drop_reasons)
    warning = query.promises["value no multiple of unit"]
    assert "not a multiple of unit = 1, so that features over them are null: use a smaller unit" in warning
    assert make_query({**QUERY, "windows": ["10 seconds"]}).promises == {}


@pytest.mark.parametrize("by", [[], ["number"]])
def test_rows_with_a_value_that_cannot_be_added_have_other_features_and_are_reported(by):
    amounts = [0.1, float("nan"), 0.25, float("inf"), 1e300]
    rows = pa.table({"t": pa.array(range(5), pa.timestamp("s")), "number": range(5), "amount": amounts})
    rows = rows.append_column("other", pa.array([1, 2, 3, 4, 5]))
    query = {**QUERY, "carry": [], "windows": ["10 seconds"], "sums": ["amount", "other"], "unit": 0.1, "by": by}
    run = local.LocalRun.start(query, rows.schema)
    answers = pa.Table.from_batches([run.push(rows.to_batches()[0]), run.finish()]).sort_by("time").to_pylist()
    assert [row["amount_sum_10_seconds"] for row in answers] == [0.1, None, None, None, None]
    if not by:
        assert [row["count_10_seconds"] for row in answers] == [1, 2, 3, 4, 5]
        assert [row["other_sum_10_seconds"] for row in answers] == [1, 3, 6, 10, 15]
    dropped = run.operator.take_metrics().dropped
    assert {reason: count for reason, count in dropped.items() if count} == {
        "value no number": 2,
        "value above 2^53 units": 1,
        "value no multiple of unit": 1,
    }


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64()], ids=str)
def test_whole_numbers_beyond_2_53_make_a_sum_null_without_dropping_rows(kind):
    """Whether or not float64 can represent them; all up to 2^53 are added exactly."""
    numbers = [2**53 - 1, 2**53, *(2**power + step for power in range(53, 63) for step in (0, 1, 2))]
    numbers += [2**63, 2**64 - 1] if kind == pa.uint64() else [2**63 - 1, -(2**63), -(2**53), -(2**53) - 1]
    rows = pa.table(
        {
            "t": pa.array([60 * place for place in range(len(numbers))], pa.timestamp("s")),
            "number": [0] * len(numbers),
            "amount": pa.array(numbers, kind),
        }
    )
    with pytest.warns(UserWarning, match="above 2\\^53 times the unit"):
        answers = local.apply(rows, QUERY | {"windows": ["10 seconds"], "sums": ["amount"]}).sort_by("time")
    expected = [float(number) if abs(number) <= 2**53 else None for number in numbers]
    assert answers["amount_sum_10_seconds"].to_pylist() == expected


def test_a_sum_is_known_again_when_the_invalid_value_has_left_the_window():
    rows = pa.table(
        {"t": pa.array([0, 5, 10, 11], pa.timestamp("s")), "number": range(4), "amount": [0.5, 2.0, 3.0, 4.0]}
    )
    query = QUERY | {"windows": ["10 seconds"], "sums": ["amount"], "unit": 1}
    with pytest.warns(UserWarning, match="^1 rows have a value that is not a multiple of unit = 1, so that features"):
        assert local.apply(rows, query)["amount_sum_10_seconds"].to_pylist() == [None, None, 5.0, 9.0]
    with pytest.warns(UserWarning, match="not a multiple"):
        assert local.apply(rows, {**query, "before": True})["amount_sum_10_seconds"].to_pylist() == [0, None, None, 5.0]


def test_sums_beyond_64_bits_are_right():
    most = 2.0**53
    for sign in (1, -1):
        rows = pa.table({"t": pa.array(np.arange(3000), pa.timestamp("s")), "number": np.arange(3000)})
        rows = rows.append_column("amount", pa.array(np.full(3000, sign * most)))
        sums = local.apply(rows, QUERY | {"windows": ["1 hour"], "sums": ["amount"]})["amount_sum_1_hour"].to_pylist()
        assert sums == [sign * most * count for count in range(1, 3001)]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("entries.time", [5, 4]),
        ("entries.time", [-(10**9), 4]),
        ("entries.units.0", [2**60, 0]),
        ("entries.units.0", [-(2**53) - 1, 0]),
        ("entries.where.0", np.array([0, 2], np.int8)),
    ],
)
def test_an_impossible_state_is_refused(name, values):
    from skyband.queries import make_query
    from skyband_totals.row_features.features_table import FeaturesTable

    schema = pa.schema([("t", pa.timestamp("us")), ("amount", pa.float64())])
    features = [{"of": "count", "where": "amount > 1", "name": "more"}]
    query = {"kind": "row-features", "time": "t", "windows": ["10 seconds"], "sums": ["amount"], "unit": 1}
    query = make_query({**query, "features": features})
    state = {"group": np.array([0], np.uint64), "count": np.array([2])}
    state |= {"entries.time": np.array([3, 4]), "entries.units.0": np.array([1, 2])}
    state |= {"entries.where.0": np.array([0, 1], np.int8)}
    answers = pa.schema(query.answer_fields(schema))
    FeaturesTable(query, answers, schema).load_state(state)
    with pytest.raises(SnapshotError, match="must"):
        FeaturesTable(query, answers, schema).load_state(state | {name: np.array(values)})


@pytest.mark.parametrize(
    ("keys", "key", "message"),
    [
        (
            {"windows": ["9 rows"]},
            r"windows\[0\]",
            "must be a length of time: a number of rows would depend on the order",
        ),
        ({"windows": ["1 hour", "60 minutes"]}, r"windows\[1\]", "is listed twice"),
        ({"sums": ["amount", "amount"]}, "sums", "names a column twice"),
        ({"windows": []}, "windows", "must be"),
        ({"unit": 0.1}, "unit", "requires `sums`, or features that add: remove it"),
        ({"sums": ["item"]}, "sums", "must be a number"),
        ({"sums": ["price"]}, "sums", "no column 'price'"),
        ({"distinct": ["nothing"]}, "distinct", "no column 'nothing'"),
        ({"carry": ["time"]}, "carry", "'time' is also the name of another column of the answers"),
        ({"by": ["count_5_seconds"]}, "by", "is also the name of another column of the answers"),
        ({"every": "1 hour"}, "every", "answers each row when it arrives: drop this"),
        ({"answers": "changes"}, "answers", "answers each row once, which already is a log"),
    ],
)
def test_invalid_keys_are_refused(keys, key, message):
    rows = stream(np.random.default_rng(0), 3).append_column("time", pa.array([1, 2, 3]))
    with pytest.raises(ConfigError, match=f"{key}: .*({message})"):
        local.LocalRun.start(QUERY | {"windows": ["5 seconds"]} | keys, rows.schema)


@pytest.mark.parametrize("every", ["each row", "every event", "row"])
def test_queries_that_answer_at_moments_point_to_this_one(every):
    query = {"kind": "heavy-hitters", "time": "t", "object": "item", "k": 1, "windows": ["1 hour"], "every": every}
    with pytest.raises(ConfigError, match=r"^every: must be .* use kind = 'row-features' from skyband-totals$"):
        make_query(query)
    with pytest.raises(ConfigError) as other:
        make_query(query | {"every": "each hour or so"})
    assert "row-features" not in str(other.value)
