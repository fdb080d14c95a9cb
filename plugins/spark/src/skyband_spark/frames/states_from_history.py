"""Runs a batch over history to make the states that a stream starts with."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from skyband.columns import keyed_frames
from skyband.operator.shard import Shard
from skyband.queries.time_columns import microseconds

from skyband_spark.frames.sharded_plan import SHUFFLE_SCHEMA, ShardedPlan, TaskEnds
from skyband_spark.frames.state_store import CHUNK
from skyband_spark.frames.version_checked_pickling import pickled_with_versions
from skyband_spark.frames.worker import load_and_freeze, warn_of_broken_promises

_PIECES = pa.schema([("shard", pa.int64()), ("number", pa.int64()), ("data", pa.binary())])


def states_before(df: Any, plan: ShardedPlan, until: int) -> list[bytes]:
    """The snapshots, by shard, of a stream that has had all rows of a bounded DataFrame before a moment.

    Its watermark is that moment: later rows from before it are late. Its answers are discarded. None where there are no
    rows at all.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        load_and_freeze(plan)
        return plan.to_shuffle_rows(rows_before(plan, batch, until) for batch in batches)

    def operate(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        load_and_freeze(plan)
        return state_pieces(plan, batches, until)

    packed = df.mapInArrow(pickled_with_versions(pack, plan), from_arrow_schema(SHUFFLE_SCHEMA))
    by_shard = packed.repartitionById(plan.shards, "shard").sortWithinPartitions("shard", "first")
    states: dict[int, dict[int, bytes]] = {}
    pieces = by_shard.mapInArrow(pickled_with_versions(operate, plan), from_arrow_schema(_PIECES))
    for row in pieces.toLocalIterator():
        states.setdefault(row["shard"], {})[row["number"]] = bytes(row["data"])
    return [b"".join(states[shard][number] for number in sorted(states[shard])) for shard in sorted(states)]


def rows_before(plan: ShardedPlan, batch: pa.RecordBatch, until: int) -> pa.RecordBatch:
    """The rows of a batch of the source before a moment, and those without a time."""
    named = batch.rename_columns(list(plan.query.columns))
    column = named.column(plan.query.time)
    earlier = microseconds(plan.query.time, column) < until
    if column.null_count:
        earlier |= column.is_null().to_numpy(zero_copy_only=False)
    return batch if earlier.all() else batch.filter(pa.array(earlier))


def state_pieces(plan: ShardedPlan, batches: Iterator[pa.RecordBatch], until: int) -> Iterator[pa.RecordBatch]:
    """The state of one shard after all its packed rows, by their earliest time: pieces of a snapshot."""
    operator, end, limit = plan.operator(), TaskEnds(plan.query), None
    for batch in batches:
        for row in batch.to_pylist():
            operator.shard = Shard(row["shard"], plan.shards)
            if row["frame"] is not None:
                limit = operator.drop_ahead(end.progress) if limit is None else limit
                if limit is None or row["first"] <= limit:
                    operator.advance(row["first"])
                operator.add(keyed_frames.from_bytes(row["frame"]))
                if limit is not None:
                    operator.drop_after(limit)
            end.add(row["progress"], row["dropped"], row["rows"])
    if operator.shard is None or end.progress.newest is None:
        return
    operator.step(end.progress)
    operator.advance(until)
    operator.count_dropped(end.dropped)
    metrics = operator.take_metrics()
    end.check(metrics.rows_in)
    warn_of_broken_promises(plan, metrics.dropped)
    state = np.frombuffer(operator.snapshot(), np.uint8)
    for number, start in enumerate(range(0, len(state), CHUNK)):
        piece = state[start : start + CHUNK].tobytes()
        yield pa.RecordBatch.from_pylist(
            [{"shard": operator.shard.number, "number": number, "data": piece}], schema=_PIECES
        )
