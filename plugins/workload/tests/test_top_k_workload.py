"""top-k-workload on the local engine, against sorting each window by hand."""

from collections import defaultdict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
import pytest
from skyband.columns.hashing import hash_column
from skyband.engines import local
from skyband.errors import ConfigError
from skyband.groups.execution import execution_of
from skyband.queries import make_query
from skyband_workload.top_k_workload import processor as top_k_workload_processor

SECOND = 1_000_000
QUERIES = [
    {"name": "short", "window": "5 seconds", "slide": "2 seconds", "k": 2},
    {"name": "long", "window": "40 seconds", "slide": "15 seconds", "k": 4, "phase": "3 seconds"},
    {"name": "gaps", "window": "3 seconds", "slide": "10 seconds", "k": 3},
    {"name": "many", "window": "20 seconds", "slide": "20 seconds", "k": 1000},
]


def stream(seed, rows=300, span=120):
    """Rows in random order with a long gap in the middle; objects and scores repeat, some are null or NaN."""
    rng = np.random.default_rng(seed)
    seconds = rng.integers(0, span, rows)
    seconds = np.where(seconds > span // 2, seconds + 10 * span, seconds) - span // 4
    scores = [None if n == 0 else float("nan") if n == 1 else float(n) for n in rng.integers(0, 12, rows).tolist()]
    return pa.table(
        {
            "ts": pa.array(seconds * SECOND + rng.integers(0, 3, rows), pa.timestamp("us", "UTC")),
            "what": pa.array([None if n == 0 else f"object {n}" for n in rng.integers(0, 25, rows).tolist()]),
            "number": rng.integers(-5, 5, rows),
            "points": pa.array(scores, pa.float64()),
            "place": pa.array([f"group {g}" for g in rng.integers(0, 3, rows)]),
        }
    )


def query(**changes):
    keys = {"time": "ts", "object": "what", "score": "points", "queries": QUERIES}
    return make_query({"kind": "top-k-workload", **keys, **changes})


def by_hand(table, asked):
    """The rows of every answer up to each query's first moment after the last row, by sorting each window."""
    codes = hash_column(table[asked.object].combine_chunks()).view(np.int64).tolist()
    groups = defaultdict(list)
    for row, code in zip(table.to_pylist(), codes, strict=True):
        score, name = row[asked.score], row[asked.object]
        if name is not None and score is not None and score == score:
            time = round(row["ts"].timestamp() * SECOND)
            tie = name if isinstance(name, int) else code
            groups[tuple(row[column] for column in asked.by)].append((time, -score, tie, name))
    latest = max(row[0] for group in groups.values() for row in group)
    expected = []
    for group, rows in groups.items():
        first = min(row[0] for row in rows)
        for one in asked.queries:
            window, slide, phase = one.window.length, one.slide.length, one.phase.length
            at = first + 1 + (phase - first - 1) % slide
            while at <= latest + 1 + (phase - latest - 1) % slide:
                inside = sorted(row[1:] for row in rows if at - window <= row[0] < at)[: one.k]
                ranked = enumerate(inside, start=1)
                expected += [(*group, at, one.name, rank, name, -minus) for rank, (minus, _, name) in ranked]
                at += slide
    return sorted(expected, key=str)


def plain(result):
    columns = result.set_column(result.column_names.index("at"), "at", result["at"].cast(pa.int64())).to_pydict()
    return sorted(zip(*columns.values(), strict=True), key=str)


@pytest.mark.parametrize("name", ["what", "number"])
@pytest.mark.parametrize("by", [[], ["place"]])
@pytest.mark.parametrize("seed", range(3))
def test_every_answer_equals_sorting_its_window(seed, by, name):
    table = stream(seed)
    asked = query(by=by, object=name)
    result = local.apply(table, asked)
    assert result.column_names == [*by, "at", "query", "rank", "object", "score"]
    assert result.schema.field("object").type == table.schema.field(name).type
    assert plain(result) == by_hand(table, asked)


@pytest.mark.parametrize("backend", ["mintopk", "mtopband", "mtoplist"])
def test_every_backend_gives_the_same_rows(backend):
    table = stream(7)
    assert local.apply(table, query(by="place"), {"workload-ranker": backend}) == local.apply(table, query(by="place"))


def batches(table, seed, delay):
    rng = np.random.default_rng(seed)
    order = np.argsort(np.asarray(table["ts"].cast(pa.int64())) + rng.integers(0, delay * SECOND, len(table)))
    return [table.take(pa.array(rows)).combine_chunks().to_batches()[0] for rows in np.array_split(order, 23)]


def resumed(run, asked, schema):
    """The run, restored from its snapshot, for a query that may have changed."""
    other = local.LocalRun.start(asked, schema)
    other.operator.restore(run.operator.snapshot())
    other._latest = run._latest
    return other


@pytest.mark.parametrize("by", [[], ["place"]])
def test_answers_do_not_depend_on_batches_or_snapshots(by):
    table = stream(4)
    asked = query(by=by, delay="20 seconds")
    run = local.LocalRun.start(asked, table.schema)
    pieces = []
    for batch in batches(table, 4, 20):
        pieces.append(run.push(batch))
        run = resumed(run, asked, table.schema)
    pieces.append(run.finish())
    assert run.operator.take_metrics().rows_late == 0
    assert plain(pa.Table.from_batches(pieces)) == by_hand(table, asked)


def test_queries_may_change_on_one_checkpoint():
    table = stream(5).sort_by("ts")
    table = table.slice(0, 140).combine_chunks()
    new = [*QUERIES[1:3], {"name": "new", "window": "6 seconds", "slide": "3 seconds", "k": 3}]
    before, after = query(), query(queries=new)
    run = local.LocalRun.start(before, table.schema)
    half = 70
    pieces = [run.push(table.slice(0, half).to_batches()[0])]
    changed = resumed(run, after, table.schema)
    pieces += [changed.push(table.slice(half).to_batches()[0]), changed.finish()]
    found = plain(pa.Table.from_batches(pieces))
    stays = {"long", "gaps"}
    assert [row for row in found if row[1] in stays] == [row for row in by_hand(table, before) if row[1] in stays]
    joined = int(np.asarray(table["ts"].cast(pa.int64()))[half - 1])
    wanted = [row for row in by_hand(table, after) if row[1] == "new" and row[0] - 6 * SECOND > joined]
    got = [row for row in found if row[1] == "new"]
    assert got
    assert set(wanted) <= set(got) <= {row for row in by_hand(table, after) if row[0] - 6 * SECOND >= joined - SECOND}


def test_shards_merge_into_the_whole():
    table = stream(6).filter(pc.is_valid(stream(6)["what"]))
    asked = query()
    shard = hash_column(table["what"].combine_chunks()) % np.uint64(3)
    parts, latest = [], None
    runs = [local.LocalRun.start(asked, table.schema) for _ in range(3)]
    for number, run in enumerate(runs):
        for batch in table.filter(pa.array(shard == number)).combine_chunks().to_batches():
            run.add(batch)
        latest = max(latest or run._latest, run._latest)
    parts = [run.operator.finish(latest) for run in runs]
    merged = execution_of(asked).merge(pa.Table.from_batches(parts))
    assert plain(merged) == plain(local.apply(table, asked))


def test_windows_in_rows_answer_after_each_slide_of_rows():
    table = pa.table({"seq": range(10), "what": list("abcabcaaaa"), "points": [5, 3, 8, 1, 9, 3, 2, 2, 2, 7]})
    one = [{"name": "q", "window": "4 rows", "slide": "3 rows", "k": 2, "phase": "1 row"}]
    result = local.apply(table, query(time="seq", queries=one))
    assert result["at"].to_pylist() == [1, 4, 4, 7, 7, 10, 10]
    assert result["object"].to_pylist()[:5] == ["a", "c", "a", "b", "c"]
    assert result["score"].to_pylist() == [5, 8, 5, 9, 3, 7, 2]
    assert result["rank"].to_pylist() == [1, 1, 2, 1, 2, 1, 2]


def test_rows_without_object_or_score_are_counted():
    table = stream(1)
    run = local.LocalRun.start(query(), table.schema)
    for batch in table.to_batches():
        run.push(batch)
    unnamed = pc.is_null(table["what"]).to_numpy()
    unscored = pc.is_null(table["points"], nan_is_null=True).to_numpy()
    assert run.operator.take_metrics().dropped == {
        "null object": unnamed.sum(),
        "no score": (unscored & ~unnamed).sum(),
    }


def test_a_long_gap_costs_nothing():
    times = pa.array([0, 10**10], pa.timestamp("s"))
    table = pa.table({"ts": times, "what": ["a", "b"], "points": [1.0, 2.0]})
    busy = [{"name": "q", "window": "10 seconds", "slide": "1 second", "k": 1}]
    assert len(local.apply(table, query(queries=busy))) == 11


@pytest.mark.parametrize("moments", [1, 7])
def test_a_gap_is_passed_in_parts_with_the_same_answers(moments, monkeypatch):
    """The longest window is longer than the gap, in which the quick queries have many empty answers."""
    queries = [*QUERIES, {"name": "longest", "window": "1 hour", "slide": "10 minutes", "k": 3}]
    asked, table = query(queries=queries, by=["place"]), stream(9)
    monkeypatch.setattr(top_k_workload_processor, "_MOST_MOMENTS", moments)
    assert plain(local.apply(table, asked)) == by_hand(table, asked)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_queries_may_be_in_a_file(tmp_path, kind):
    columns = ("name", "window", "slide", "k", "phase")
    table = pa.table({name: [str(one[name]) if name in one else None for one in QUERIES] for name in columns})
    table = table.set_column(3, "k", table["k"].cast(pa.int64()))
    path = tmp_path / f"queries.{kind}"
    if kind == "csv":
        pyarrow.csv.write_csv(table, path)
    else:
        pyarrow.parquet.write_table(table, path)
    assert query(queries=str(path)) == query()


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"queries: the table '.*none.csv' cannot be read"):
        query(queries=str(tmp_path / "none.csv"))


def test_all_problems_are_reported_at_once_each_with_its_entry():
    good = QUERIES[0]
    wrong = [
        good,
        {**good, "k": 0},
        {"name": "b", "window": "0 seconds", "slide": "soon", "k": 1},
        {"name": "c", "window": "5 rows", "slide": "1 second", "k": 1, "phaze": 2},
        {"window": "5 seconds", "slide": "1 second", "k": "3"},
        "all",
    ]
    with pytest.raises(ConfigError) as caught:
        query(queries=wrong, score="")
    said = str(caught.value).splitlines()
    for line in (
        "score: must be a column name (got '')",
        "queries[1].k: must be at least 1 (got 0)",
        "queries[2].window: must be longer than 0 (got 0 seconds)",
        "queries[3].phaze: unknown; did you mean 'phase'?",
        "queries[3].window: must be in time, like those before it (got 5 rows)",
        "queries[4].name: is required",
        "queries[4].k: must be a whole number (got '3')",
        "queries[5]: must be a table with name, window, slide and k (got 'all')",
        "queries[0].name: 'short' is used 2 times",
        "queries[1].name: 'short' is used 2 times",
    ):
        assert line in said
    assert any(line.startswith("queries[2].slide: must be a duration") for line in said)


@pytest.mark.parametrize("wrong", [[], "", {"name": "a"}, 5])
def test_a_workload_must_be_a_list_of_queries(wrong):
    with pytest.raises(ConfigError, match="queries: "):
        query(queries=wrong)


def test_other_keys_may_not_change_on_a_checkpoint():
    table = stream(2)
    run = local.LocalRun.start(query(), table.schema)
    run.push(table.to_batches()[0])
    with pytest.raises(Exception, match=r"query\.score was points, is number"):
        resumed(run, query(score="number"), table.schema)
