"""A query without `by` gives the same answers on any number of shards, each of which sees its part of the rows."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from families import FAMILIES, events, family
from hypothesis import given, settings
from hypothesis import strategies as st
from in_process_shards import ShardedStream, on_shards, rows_of
from skyband.engines import local
from skyband.errors import ConfigError
from skyband.groups.partitioning import by_cell, by_hash, matrix_rows
from skyband.queries import make_query
from skyband.roles.sharding import BOTH, BUILD, PROBE
from skyband_spark.program import shard_count

SECOND = 1_000_000
SHARDS = (2, 3, 5, 16)
ONE_SHARD = ("quantiles", "row-features", "uncertain-sum")


def same(table: pa.Table, query, shards: int, batches: int = 1, backends=None) -> None:
    found, metrics = on_shards(table, query, shards, batches, backends)
    assert rows_of(found) == rows_of(local.apply(table, query, backends))
    assert sum(one.rows_in for shard in metrics for one in shard) == len(table), "each row is counted once"


@pytest.mark.parametrize("shards", SHARDS)
@pytest.mark.parametrize("kind", [kind for kind in FAMILIES if kind not in ONE_SHARD])
def test_answers_are_those_of_one_shard(kind, shards):
    backends = {"sketch": "exact"} if kind == "distinct-count" else None
    same(events(1), family(kind), shards, 4, backends)


@pytest.mark.parametrize("similarity", ["overlap", "cosine", "dice", "hamming"])
def test_pairs_of_two_streams_by_every_similarity(similarity):
    same(events(2), family("top-k-pairs", side="side", similarity=similarity, k=20), 4, 3)


@pytest.mark.parametrize("output", ["pairs", "rows", "kept"])
def test_rows_of_two_sides_that_are_alike_in_all_else_are_two_rows(output):
    """A source that names a row by what both sides have, such as a card, has rows of one time and id on both."""
    one = pa.table({"ts": [1, 1, 1, 2], "id": [7, 7, 7, 7], "words": [["a"], ["a"], [], ["b"]]})
    sides = [["left", "right", "left", "left"], ["right", "left", "right", "right"]]
    table = pa.concat_tables([one.append_column("side", pa.array(side)) for side in sides for _ in range(2)])
    table = table.set_column(0, "ts", table["ts"].cast(pa.timestamp("s")))
    keys = {"time": "ts", "id": "id", "tokens": "words", "side": "side", "threshold": 0.5, "window": "1 minute"}
    query = make_query({"kind": "near-duplicates", **keys, "output": output})
    for shards in SHARDS:
        same(table, query, shards)


@pytest.mark.parametrize("name", ["base", "scase", "swoop"])
def test_pairs_by_every_ranker(name):
    same(events(3, rows=400), family("top-k-pairs"), 16, 2, {"pair-ranker": name})


@pytest.mark.parametrize("name", ["nested-loop", "index-match", "sort-match"])
def test_matches_by_every_matcher(name):
    same(events(4, rows=400), family("uncertain-join"), 3, 2, {"matcher": name})


# Few moments, ids and tokens, so that equal rows, equal similarities and rows on the edge of a window are everywhere.
SETS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 2), st.lists(st.integers(0, 3), max_size=4)),
    min_size=1,
    max_size=25,
)


@pytest.mark.filterwarnings("ignore:all .* rows were left out")
@given(SETS, st.integers(1, 6), st.integers(1, 6), st.booleans(), st.sampled_from([2, 3, 16]), st.integers(1, 3))
@settings(max_examples=150, deadline=None)
def test_ties_and_edges_of_pairs(rows, k, window, two, shards, batches):
    steps, sides, ids, tokens = zip(*rows, strict=True)
    table = pa.table(
        {
            "ts": pa.array(np.cumsum(steps) * SECOND, pa.timestamp("us")),
            "side": pa.array(sides, pa.int8()),
            "id": ids,
            "tokens": pa.array(tokens, pa.list_(pa.int64())),
        }
    )
    keys = {"id": "id", "tokens": "tokens", "k": k, "window": f"{window} seconds", "every": "1 second"}
    query = make_query({"kind": "top-k-pairs", "time": "ts", **keys, **({"side": "side"} if two else {})})
    found, _ = on_shards(table, query, shards, batches)
    assert found.sort_by([("at", "ascending"), ("rank", "ascending")]) == local.apply(table, query).sort_by(
        [("at", "ascending"), ("rank", "ascending")]
    )


SAMPLES = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 6), st.sampled_from([0.0, 0.25, 0.5, 1.0])),
    min_size=1,
    max_size=30,
)


@given(
    SAMPLES, st.integers(1, 4), st.sampled_from([0.0, 0.1, 0.3]), st.sampled_from([0.0, 0.25, 0.5]), st.integers(2, 4)
)
@settings(max_examples=100, deadline=None)
def test_ties_and_edges_of_matches(rows, size, epsilon, beta, shards):
    """Differences of exactly epsilon, probabilities of exactly beta, tuples that surely are or are not there."""
    steps, sides, values, chances = zip(*rows, strict=True)
    table = pa.table(
        {
            "ts": pa.array(np.cumsum(steps) * SECOND, pa.timestamp("us")),
            "side": pa.array(sides, pa.int8()),
            "id": np.arange(len(rows)) // 2,
            "values": np.array(values) / 10,
            "probabilities": chances,
        }
    )
    keys = {"side": "side", "id": "id", "values": "values", "probabilities": "probabilities", "size": size}
    query = make_query({"kind": "uncertain-join", "time": "ts", "epsilon": epsilon, "beta": beta, **keys})
    same(table, query, shards, 2)


@pytest.mark.parametrize("kind", ["top-k-pairs", "near-duplicates", "uncertain-join"])
def test_shards_take_room_for_their_windows_and_not_for_the_stream(kind):
    """Names, places, ids and rows to carry are let go of: no name comes in two windows."""
    query, span, sizes = family(kind), 180, []
    stream = ShardedStream(query, 2, events(0).schema)
    for number in range(18):
        rows = events(number, 60, span)
        times = pa.array(rows["ts"].cast(pa.int64()).to_numpy() + number * span * SECOND, pa.int64())
        names = [f"{name} of {number:03}" for name in rows["name"].to_pylist()]
        rows = rows.set_column(0, "ts", times.cast(rows["ts"].type)).set_column(3, "name", pa.array(names))
        stream.push(rows.set_column(2, "number", pa.array(np.arange(60) + 60 * number)))
        sizes.append(sum(len(operator.snapshot()) for operator in stream.operators))
    before, after = sizes[4:11], sizes[11:]
    assert np.mean(after) <= 1.1 * np.mean(before), sizes


@pytest.mark.parametrize("kind", ["top-k-pairs", "uncertain-join"])
def test_fewer_rows_than_shards(kind):
    """Shards without rows go on with time as the others do."""
    for rows in (1, 2, 5):
        same(events(5, rows=1500).slice(0, rows), family(kind), 16, rows)


def test_late_rows_are_counted_once():
    table = events(6, rows=300)
    late = table.filter(pc.greater(pc.list_value_length(table["words"]), 0)).slice(0, 5)
    late = late.set_column(0, "ts", pa.array([-500 * SECOND] * 5, table.schema.field("ts").type))
    empty = pc.sum(pc.equal(pc.list_value_length(table["words"]), 0)).as_py()
    found, metrics = on_shards(pa.concat_tables([table, late]), family("top-k-pairs"), 16, 5)
    assert rows_of(found) == rows_of(local.apply(table, family("top-k-pairs")))
    assert sum(one.rows_late for shard in metrics for one in shard) == 5
    assert sum(one.dropped.get("no tokens", 0) for shard in metrics for one in shard) == empty > 0


@pytest.mark.parametrize("kind", [kind for kind in FAMILIES if kind not in ONE_SHARD])
def test_rows_ahead_of_all_others_are_counted_once(kind):
    table = events(6, rows=120)
    ahead = table.filter(pc.greater(pc.list_value_length(table["words"]), 0)).slice(0, 5)
    ahead = ahead.set_column(0, "ts", pa.array([10**6 * SECOND] * 5, table.schema.field("ts").type))
    metrics = on_shards(pa.concat_tables([table, ahead]), family(kind, ahead="1 hour"), 6)[1]
    assert sum(one.dropped.get("ahead", 0) for shard in metrics for one in shard) == 5


@pytest.mark.parametrize("shards", range(1, 37))
def test_every_two_rows_meet_in_one_shard(shards):
    lines = matrix_rows(shards)
    assert shards % lines == 0
    hashes = np.random.default_rng(shards).integers(0, 2**64, 40, np.uint64)
    partitioning = by_cell(hashes, lines, shards // lines)
    assert len(partitioning.rows) == len(hashes) * (lines + shards // lines - 1)
    does = np.zeros((len(hashes), shards), np.int8)
    does[partitioning.rows, partitioning.shards] = partitioning.parts
    meetings = (does & BUILD != 0).astype(int) @ (does & PROBE != 0).astype(int).T
    assert (meetings == 1).all()
    assert ((does == BOTH).sum(axis=1) == 1).all(), "a row is one shard's own"


def test_rows_spread_evenly_by_hash_and_by_cell():
    hashes = np.random.default_rng(1).integers(0, 2**64, 64_000, np.uint64)
    for partitioning, copies in ((by_hash(hashes, 16), 1), (by_cell(hashes, 2, 8), 2 + 8 - 1)):
        assert (np.bincount(partitioning.rows) == copies).all(), "every row goes to as many shards"
        for does in (PROBE, BUILD):
            whose = slice(None) if partitioning.parts is None else partitioning.parts & does != 0
            load = np.bincount(partitioning.shards[whose], minlength=16)
            assert len(load) == 16 and load.max() < 1.1 * load.min()


def test_the_last_row_may_be_one_that_no_answer_comes_of():
    """It is left out, and the input ends with the last row that is not: on shards as on one."""
    table = pa.table(
        {
            "ts": pa.array(np.array([0, 0, 1]) * SECOND, pa.timestamp("us")),
            "id": [0, 0, 0],
            "tokens": pa.array([[0], [0], []], pa.list_(pa.int64())),
        }
    )
    keys = {"id": "id", "tokens": "tokens", "k": 1, "window": "2 seconds", "every": "1 second"}
    same(table, make_query({"kind": "top-k-pairs", "time": "ts", **keys}), 2)


@pytest.mark.parametrize("kind", ["distinct-count", "top-k", "top-k-pairs", "top-k-workload", "uncertain-sum"])
def test_row_windows_take_one_shard(kind):
    counted = {"windows": ["10 rows"], "window": "10 rows", "every": "5 rows", "k": 1}
    keys = {name: value for name, value in counted.items() if name in FAMILIES[kind]}
    if kind == "top-k-workload":
        keys = {"queries": [{"name": "one", "window": "10 rows", "slide": "5 rows", "k": 1}]}
    query = make_query({"kind": kind, "time": "ts", **FAMILIES[kind], **keys})
    assert shard_count(query, 1) == 1
    with pytest.raises(
        ConfigError, match=r"shards: row windows need one order .* use shards = 1, or group .* \(got 2\)"
    ):
        shard_count(query, 2)
    assert shard_count(make_query({"kind": kind, "time": "ts", "by": "place", **FAMILIES[kind], **keys}), 2) == 2
