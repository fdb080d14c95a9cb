"""Streams at scale on Spark: many groups, a state much larger than its micro-batches, shards without rows."""

import json
import statistics

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import functions as sql
from skyband.engines import local
from skyband.queries import make_query
from skyband_spark.frames import step_log, stream
from skyband_spark.frames.checkpoint import read_shards

pytestmark = pytest.mark.spark

SECOND = 1_000_000


def table_of(seconds, **columns) -> pa.Table:
    return pa.table({"ts": pa.array(np.asarray(seconds) * SECOND, pa.timestamp("us", "UTC")), **columns})


def rows_of(rows, names):
    return sorted(tuple(str(row[name]).removesuffix("+00:00") for name in names) for row in rows)


def reached(table: pa.Table, query, backends=None) -> pa.Table:
    """The local engine's answers at the moments that a stream of these rows has come to."""
    watermark = pc.max(table["ts"].cast(pa.int64())).as_py() - query.delay.length
    answers = local.apply(table, query, backends)
    return answers.filter(pc.less_equal(answers["at"].cast(pa.int64()), watermark))


@pytest.mark.parametrize("kind", ["distinct-count", pytest.param("top-k", marks=pytest.mark.slow)])
def test_many_groups_of_which_few_have_rows(kind, files, stream):
    """All groups once, then a few; those that wait answer at every moment, also after a restart, and then are gone."""
    groups, rng = {"distinct-count": 6_000, "top-k": 2_000}[kind], np.random.default_rng(1)
    keys = {
        "distinct-count": {"item": "item", "windows": ["60 seconds"]},
        "top-k": {"object": "item", "stream": "origin", "value": "value", "streams": ["a"], "k": 2}
        | {"window": "60 seconds"},
    }[kind]
    query = make_query({"kind": kind, "time": "ts", "by": ["group"], "every": "20 seconds", **keys})
    busy = [np.arange(groups), *(rng.choice(groups, 10).repeat(20) for _ in range(5))]
    parts = [
        table_of(
            np.full(len(who), 25 * number),
            group=who,
            item=rng.integers(0, 30, len(who)),
            origin=["a"] * len(who),
            value=rng.random(len(who)),
        )
        for number, who in enumerate(busy)
    ]
    stream(files(pa.concat_tables(parts[:3]).slice(0, len(parts[0])), 1, "source"), query)
    for part in parts[1:3]:
        folder = files(part, 1, "source")
    stream(folder, query)
    for part in parts[3:]:
        files(part, 1, "source")
    got, progress = stream(folder, query)
    expected = reached(pa.concat_tables(parts), query)
    names = expected.column_names
    assert rows_of(got, names) == rows_of(expected.to_pylist(), names)
    assert pc.count_distinct(expected["group"]).as_py() == groups
    first, last = (progress[place].observedMetrics["skyband"] for place in (0, -1))
    assert (first["groups"], last["groups"] < 60) == (groups, True), "those that fell silent are forgotten"
    assert first["state_bytes"] / groups < 800


def test_a_micro_batch_writes_its_rows_and_not_the_state(files, stream, tmp_path):
    """A state of several MB and few rows: they alone go into the state store, whichever worker has the operator."""
    rng = np.random.default_rng(2)
    query = make_query(
        {"kind": "distinct-count", "time": "ts", "item": "item", "windows": ["1 hour"], "every": "1 second"}
    )
    batches = [table_of(np.arange(300_000) // 299_999, item=np.arange(300_000))]
    batches += [table_of(np.full(200, number), item=rng.integers(0, 10**6, 200)) for number in range(2, 12)]
    for part in batches:
        folder = files(part, 1)
    got, progress = stream(folder, query, {"sketch": "exact"}, shards=2)
    expected = reached(pa.concat_tables(batches), query, {"sketch": "exact"})
    assert rows_of(got, expected.column_names) == rows_of(expected.to_pylist(), expected.column_names)
    assert min(entry.observedMetrics["skyband"]["state_bytes"] for entry in progress) > 4_000_000
    written = [written_in(entry) for entry in progress]
    assert written[0] > 4_000_000
    assert statistics.median(written[1:]) < 40_000


def test_a_step_of_megabytes_is_loaded_again(files, stream, session, tmp_path):
    """It stands in the state in pieces, which a job whose source has gained a column reads, as does a reader of
    checkpoints."""
    keys = {"kind": "distinct-count", "time": "ts", "item": "item", "every": "5 seconds", "windows": ["1 hour"]}
    query, rng, parts = make_query(keys), np.random.default_rng(3), []
    for start, count in ((0, 300_000), (10, 300_000), (20, 50)):
        seconds = np.sort(rng.integers(start, start + 10, count))
        parts.append(table_of(seconds, item=rng.integers(0, 2**62, count)))
    stream(files(pa.concat_tables(parts[:2]), 2), query, {"sketch": "exact"}, shards=1)
    (shard,) = read_shards(session, str(tmp_path / "checkpoint"))
    assert (shard.head.step, shard.head.base) == (2, 1)
    assert shard.head.logged > 2 * step_log.PIECE
    (step,) = shard.batches
    assert sum(map(len, step.frames)) == 300_000
    wider = files(parts[2].append_column("unread", parts[2]["item"]), 1, "wider")
    got, _ = stream(files(parts[2], 1), query, {"sketch": "exact"}, shards=1, like=wider)
    expected = reached(pa.concat_tables(parts), query, {"sketch": "exact"})
    assert rows_of(got, expected.column_names) == rows_of(expected.to_pylist(), expected.column_names)
    assert max(expected["count"].to_pylist()) > 599_000


def written_in(progress) -> int:
    """Bytes that a micro-batch put into the state store."""
    return sum(
        each["customMetrics"]["rocksdbTotalBytesWritten"] for each in json.loads(progress.json)["stateOperators"]
    )


@pytest.mark.parametrize("kind", [pytest.param("distinct-count", marks=pytest.mark.slow), "top-k"])
def test_shards_without_rows_hold_no_answer_back(kind, files, stream):
    """From the second file on there is one item, so that three of four shards have nothing."""
    keys = {
        "distinct-count": {"item": "item", "windows": ["30 seconds"]},
        "top-k": {"object": "item", "stream": "origin", "value": "value", "streams": ["a"], "k": 3}
        | {"window": "30 seconds"},
    }[kind]
    query = make_query({"kind": kind, "time": "ts", "every": "10 seconds", **keys})
    seconds = np.arange(240) // 2
    item = np.where(seconds < 20, seconds % 9, 1)
    table = table_of(seconds, item=item, origin=["a"] * len(item), value=np.linspace(0, 1, len(item)))
    for number in range(2):
        folder = files(table.slice(120 * number, 120), 3)
        got, _ = stream(folder, query, {"sketch": "exact"} if kind == "distinct-count" else None, shards=4)
        so_far = table.slice(0, 120 * (number + 1))
        expected = reached(so_far, query, {"sketch": "exact"} if kind == "distinct-count" else None)
        assert rows_of(got, expected.column_names) == rows_of(expected.to_pylist(), expected.column_names)
    assert {row["at"].isoformat() for row in got} >= {f"1970-01-01T00:01:{tens}0" for tens in range(6)}


@pytest.mark.parametrize("shards", [1, 2, 3, 8])
def test_no_two_shards_share_a_partition(session, shards):
    """Where Spark has as many partitions as there are shards, or a multiple of them."""
    keys = session.createDataFrame([(key,) for key in stream.keys_of(shards)], "key bigint")
    for partitions in (shards, 3 * shards):
        placed = keys.select(sql.pmod(sql.hash("key"), sql.lit(partitions)).alias("partition"))
        assert placed.distinct().count() == shards
