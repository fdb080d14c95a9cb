"""distinct-count on the local engine, compared with counting each window by hand."""

from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
from skyband.engines import local
from skyband.errors import ConfigError, InputError
from skyband.queries import make_query

SECOND = 1_000_000


def stream(seed: int, rows: int = 400, groups: int = 3, span: int = 90) -> pa.Table:
    """Rows in random order over `span` seconds with a long gap in the middle; some items are null."""
    rng = np.random.default_rng(seed)
    seconds = rng.integers(0, span, rows)
    seconds = np.where(seconds > span // 2, seconds + 10 * span, seconds) - span // 4
    items = [None if i == 0 else f"item {i}" for i in rng.integers(0, 30, rows).tolist()]
    return pa.table(
        {
            "ts": pa.array(seconds * SECOND + rng.integers(0, 3, rows), pa.timestamp("us", "UTC")),
            "who": pa.array(items),
            "place": pa.array([f"group {g}" for g in rng.integers(0, groups, rows)]),
        }
    )


def by_hand(table: pa.Table, by: list[str], windows: dict[str, int], every: int) -> dict[tuple, float]:
    """(group…, at, window) -> distinct items of [at − window, at), where the longest window has a row."""
    expected = {}
    rows = defaultdict(list)
    for row in table.to_pylist():
        if row["who"] is not None:
            rows[tuple(row[name] for name in by)].append((int(row["ts"].timestamp() * SECOND + 0.5), row["who"]))
    last = max(time for group in rows.values() for time, _ in group)
    longest = max(windows.values())
    for group, entries in rows.items():
        first = min(time for time, _ in entries)
        for at in range((first // every + 1) * every, (last // every + 1) * every + 1, every):
            if any(at - longest <= time < at for time, _ in entries):
                for name, length in windows.items():
                    distinct = {item for time, item in entries if at - length <= time < at}
                    expected[(*group, at, name)] = float(len(distinct))
    return expected


def answers(result: pa.Table, by: list[str]) -> dict[tuple, float]:
    at = np.asarray(result["at"].cast(pa.int64()))
    keys = zip(*[result[name].to_pylist() for name in by], at.tolist(), result["window"].to_pylist(), strict=True)
    counts = dict(zip(keys, result["count"].to_pylist(), strict=True))
    assert len(counts) == len(result)
    return counts


def query(**changes):
    keys = {"time": "ts", "item": "who", "windows": ["10 seconds", "1 minute"], "every": "5 seconds"}
    return make_query({"kind": "distinct-count", **keys, **changes})


@pytest.mark.parametrize("by", [[], ["place"]])
@pytest.mark.parametrize("seed", range(4))
def test_every_window_equals_counting_it_by_hand(seed, by):
    table = stream(seed)
    result = local.apply(table, query(by=by), {"sketch": "exact"})
    windows = {"10 seconds": 10 * SECOND, "1 minute": 60 * SECOND}
    assert answers(result, by) == by_hand(table, by, windows, 5 * SECOND)


@pytest.mark.parametrize("seed", range(3))
def test_batches_and_snapshots_do_not_change_the_answers(seed):
    table = stream(seed).sort_by("ts").combine_chunks()
    whole = local.apply(table, query(by=["place"]))
    rng = np.random.default_rng(seed)
    run = local.LocalRun.start(query(by=["place"], delay="20 seconds"), table.schema)
    order = np.argsort(np.asarray(table["ts"].cast(pa.int64())) + rng.integers(0, 20 * SECOND, len(table)))
    pieces = []
    for rows in np.array_split(order, 17):
        pieces.append(run.push(table.take(pa.array(rows)).combine_chunks().to_batches()[0]))
        restored = local.LocalRun.start(run.operator.query, table.schema)
        restored.operator.restore(run.operator.snapshot())
        restored._latest = run._latest
        assert restored.operator.snapshot() == run.operator.snapshot()
        run = restored
    pieces.append(run.finish())
    result = pa.Table.from_batches(pieces).sort_by([("at", "ascending"), ("place", "ascending")])
    assert run.operator.take_metrics().rows_late == 0
    assert sorted(result.to_pylist(), key=str) == sorted(whole.to_pylist(), key=str)


def test_late_rows_and_null_items_are_counted():
    times = pa.array([0, 10, 2, 9, 11], pa.timestamp("s"))
    table = pa.table({"ts": times, "who": ["a", "b", "late", None, "c"]})
    run = local.LocalRun.start(query(windows=["5 seconds"], delay="5 seconds"), table.schema, {"sketch": "exact"})
    for batch in table.to_batches(max_chunksize=1):
        run.push(batch)
    run.finish()
    metrics = run.operator.take_metrics()
    assert (metrics.rows_in, metrics.rows_late, metrics.dropped) == (5, 1, {"null item": 1})


def test_windows_in_rows_answer_after_a_number_of_rows():
    table = pa.table({"seq": range(10), "who": list("abcabcaaaa")})
    rows = query(time="seq", windows=["4 rows"], every="2 rows")
    result = local.apply(table, rows, {"sketch": "exact"})
    assert result["at"].to_pylist() == [2, 4, 6, 8, 10]
    assert result["count"].to_pylist() == [2, 3, 3, 3, 1]


def test_an_impossible_time_is_named():
    table = pa.table({"ts": pa.array([1, 2**60], pa.timestamp("s")), "who": ["a", "b"]})
    with pytest.raises(InputError, match="ts, row 1: 1152921504606846976 is out of range"):
        local.apply(table, query())


def test_all_problems_are_reported_at_once():
    table = pa.table({"ts": pa.array([1.5]), "whom": ["a"]})
    with pytest.raises(ConfigError) as caught:
        local.apply(table, query(by=["plaice"]), {"sketch": {"name": "pcsa-ml", "epsilon": 2}, "matcher": "x"})
    text = str(caught.value)
    assert "query.time: column 'ts' must be a timestamp or a date (it is double); cast it first" in text
    assert "query.item: the source has no column 'who'; did you mean 'whom'?" in text
    assert "query.by: the source has no column 'plaice'" in text
    assert "backends.matcher: this query has no such role" in text
    assert "backends.sketch.epsilon: must be" in text


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"windows": ["0 minutes"]}, "windows.0.: must be longer than 0"),
        ({"windows": []}, "windows: must be a list of durations"),
        ({"windows": ["1 minute", "60 seconds"]}, "windows.1.: is listed twice .got 60 seconds."),
        ({"windows": ["1 fortnight"]}, "unknown unit 'fortnight'"),
        ({"windows": ["1 month"]}, 'windows.0.: ends with a day, .*: every = "1 month in UTC"'),
        ({"every": "10 rows"}, "every: must be in time"),
        ({"evry": "1 minute"}, "evry: unknown; did you mean 'every'?"),
        ({"kind": "distinct-cont"}, "did you mean 'distinct-count'?"),
    ],
)
def test_a_wrong_key_is_named_with_the_remedy(changes, message):
    with pytest.raises(ConfigError, match=message.replace("?", r"\?")):
        query(**changes)


@pytest.mark.parametrize("values", [None, 7, "distinct-count", ["kind"]])
def test_a_value_that_is_not_a_query_is_refused(values):
    with pytest.raises(ConfigError, match=r"must be a query's keys, such as .*, or a Query .got "):
        make_query(values)


@pytest.mark.parametrize("kind", [7, ["distinct-count"]])
def test_a_kind_that_is_not_a_name_is_refused(kind):
    with pytest.raises(ConfigError, match=r"kind: must be a name .got .*known: .*distinct-count"):
        make_query({"kind": kind})


def test_a_query_may_be_given_as_its_keys():
    keys = {"kind": "distinct-count", "time": "ts", "item": "who", "windows": ["1 minute"], "every": "5 seconds"}
    table = stream(1)
    assert local.apply(table, keys).equals(local.apply(table, make_query(keys)))
    query = make_query(keys)
    assert make_query(query) is query
    with pytest.raises(ConfigError, match="must be a query's keys"):
        local.apply(table, None)


def test_the_operators_bytes_do_not_depend_on_how_the_input_was_cut():
    table = stream(3).sort_by("ts").combine_chunks()
    snapshots = set()
    for size in (len(table), 50, 7):
        run = local.LocalRun.start(query(by=["place"]), table.schema)
        for batch in table.to_batches(max_chunksize=size):
            run.push(batch)
        snapshots.add(run.operator.snapshot())
    assert len(snapshots) == 1
