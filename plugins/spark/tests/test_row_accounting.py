"""Rows in are those answered, late, left out and put aside: a lost or duplicated row is reported."""

from collections import Counter, OrderedDict

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from skyband.columns import compact_frames
from skyband.engines.local import LocalRun
from skyband.errors import EngineError
from skyband.groups.partitioning import Partitioning
from skyband.operator import row_encoding
from skyband.operator.bad_rows import late_rows
from skyband.operator.bind_backends import bind
from skyband.operator.waiting_rows import WaitingRows
from skyband.queries import make_query
from skyband_spark.frames import micro_batch, state_store
from skyband_spark.frames.micro_batch import process_micro_batch
from skyband_spark.frames.shard_keys import keys_of
from skyband_spark.frames.sharded_plan import ShardedPlan
from skyband_spark.frames.state_store import StateStore
from task_stores import Store

SECOND = 1_000_000
QUERY = {
    "kind": "distinct-count",
    "time": "ts",
    "item": "name",
    "windows": ["10 seconds"],
    "every": "10 seconds",
    "delay": "5 seconds",
    "ahead": "1 hour",
    "source": "name",
    "sources": ["a", "b"],
    "bad_rows": "count",
}
SCHEMA = pa.schema([("ts", pa.timestamp("us", "UTC")), ("name", pa.string())])
TURNS = [[(1, "a"), (4, "b"), (None, "a"), (9999, "b")], [(30, "b"), (31, "a"), (31, "c")], [(2, "a"), (32, "b")]]
"""With rows that wait, without a time, ahead of all others, bad and late."""


def batch(rows):
    times = [None if second is None else second * SECOND for second, _ in rows]
    return pa.RecordBatch.from_arrays(
        [pa.array(times, SCHEMA.field("ts").type), [name for _, name in rows]], schema=SCHEMA
    )


def in_process():
    run = LocalRun.start(QUERY, SCHEMA)
    counts = Counter()
    for rows in TURNS:
        run.push(batch(rows))
        metrics = run.operator.take_metrics()
        counts.update(metrics.dropped, rows_in=metrics.rows_in, late=metrics.rows_late)
    run.finish()
    run.operator.take_metrics()
    return counts


def on_shards(shards=2):
    query = make_query(QUERY)
    plan = ShardedPlan(query, bind(query, SCHEMA), SCHEMA, shards, late_rows=lambda *_: None, bad_rows=lambda *_: None)
    states, counts = [{} for _ in range(shards)], Counter()
    for rows in TURNS:
        packed = [row for each in plan.to_shuffle_rows(iter([batch(rows)])) for row in each.to_pylist()]
        for shard, key in enumerate(keys_of(shards)):
            state_store._CACHE.clear()
            store = Store(states[shard])
            own = pd.DataFrame([row for row in packed if row["shard"] == shard])
            given = process_micro_batch(plan, StateStore(store), key, [own])
            states[shard] = store.held
            (metrics,) = [one for one in given["skyband_metrics"] if one is not None]
            counts.update({name: metrics[name] for name in metrics if name.startswith("rows_")})
    return counts


@pytest.fixture(autouse=True)
def no_operators(monkeypatch):
    monkeypatch.setattr(state_store, "_CACHE", OrderedDict())


def test_the_sum_holds_in_process_and_on_shards():
    assert in_process() == Counter({"rows_in": 9, "late": 1, "null time": 1, "ahead": 1, "bad": 1})
    counts = on_shards()
    assert counts == Counter(rows_in=9, rows_late=1, rows_null_time=1, rows_ahead=1, rows_bad=1, rows_null_source=0)


def loses_one(inside):
    """A function like this, whose frame is without its last row."""

    def broken(*args):
        frame = inside(*args)
        return frame if frame is None or not len(frame) else frame.slice(0, len(frame) - 1)

    return broken


def doubles(inside):
    """A function like this, whose frame has each row twice."""

    def broken(*args):
        frame = inside(*args)
        return frame if frame is None or not len(frame) else pa.concat_batches([frame, frame])

    return broken


def with_its_last(broken, inside):
    """A function like this, whose last frame is broken so."""

    def one_broken(*args):
        frames = inside(*args)
        return [*frames[:-1], *map(broken(lambda frame: frame), frames[-1:])]

    return one_broken


def counts_none(self, limit, drop_after=WaitingRows.drop_after):
    drop_after(self, limit)
    return 0


def does_not_tell(query, batch, encode, inside=row_encoding.without_bad_rows):
    return inside(query, batch, encode)[0], None


def sends_one_row(self, frame):
    """A partitioning of a frame of several rows."""
    return Partitioning(np.array([1]), np.array([1]))


@pytest.mark.parametrize(
    ("owner", "name", "broken", "runs"),
    [
        (WaitingRows, "release", with_its_last(loses_one, WaitingRows.release), (in_process, on_shards)),
        (WaitingRows, "release", with_its_last(doubles, WaitingRows.release), (in_process, on_shards)),
        (WaitingRows, "drop_after", counts_none, (in_process, on_shards)),
        (row_encoding, "without_bad_rows", does_not_tell, (in_process, on_shards)),
        (compact_frames, "from_bytes", loses_one(compact_frames.from_bytes), (on_shards,)),
        (compact_frames, "from_bytes", doubles(compact_frames.from_bytes), (on_shards,)),
        (ShardedPlan, "_partition", sends_one_row, (on_shards,)),
        (ShardedPlan, "_bad_to_first_shard", lambda self, bad: iter(()), (on_shards,)),
        (micro_batch, "late_rows", loses_one(late_rows), (on_shards,)),
    ],
)
def test_a_lost_or_duplicated_row_ends_the_run(monkeypatch, owner, name, broken, runs):
    monkeypatch.setattr(owner, name, broken)
    for run in runs:
        with pytest.raises(EngineError, match=r"that came in, .* (lost|counted twice): .*; a bug in Skyband or a"):
            run()


def test_a_state_returned_without_waiting_rows_does_not_affect_the_next_turn():
    """Rows that waited are counted from what was restored: its own checks say whether that is whole."""
    run = LocalRun.start(QUERY, SCHEMA)
    run.push(batch(TURNS[0]))
    run.operator.take_metrics()
    again = LocalRun.start(QUERY, SCHEMA)
    again.operator.restore(run.operator.snapshot())
    assert again.operator.waiting == 2
    again.push(batch(TURNS[1]))
    assert again.operator.take_metrics().rows_in == 3
