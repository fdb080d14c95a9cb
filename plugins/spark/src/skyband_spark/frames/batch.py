"""Spark batch: packs rows where they are, shuffles frames by shard, and runs an operator per shard in time order."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from skyband.columns import keyed_frames
from skyband.queries.query import BAD

from skyband_spark.frames import broadcast_rows, results_and_metrics
from skyband_spark.frames.sharded_plan import ShardedPlan, TaskEnds
from skyband_spark.frames.version_checked_pickling import pickled_with_versions
from skyband_spark.frames.worker import load_and_freeze, warn_of_broken_promises

ENOUGH = 1 << 19
"""Rows that wait before they are answered, unless a later frame precedes them: each step has a cost for each group."""


def run(packed: Any, plan: ShardedPlan) -> Any:
    """The unpacked answers of a bounded DataFrame of packed rows, computed lazily.

    Frames are sorted by their earliest time, on disk if necessary, so that a task holds only the rows that a later
    frame might precede: a few batches if the source is roughly in time order.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    by_shard = packed.repartitionById(plan.shards, "shard").sortWithinPartitions("shard", "first")

    def operate(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _operate(plan, batches)

    unpacked = by_shard.mapInArrow(
        pickled_with_versions(operate, plan), from_arrow_schema(results_and_metrics.shard_schema(plan))
    )
    return results_and_metrics.merge_answers(plan, unpacked)


def _operate(plan: ShardedPlan, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    load_and_freeze(plan)
    operator, number = plan.operator(), None
    refused = [] if plan.broadcast is None else broadcast_rows.take_whole(operator, plan.broadcast)
    end, limit = TaskEnds(plan.query), None
    for batch in batches:
        for row in batch.to_pylist():
            number = row["shard"]
            if row["frame"] is not None:
                limit = operator.drop_ahead(end.progress) if limit is None else limit
                if operator.waiting >= ENOUGH and (limit is None or row["first"] <= limit):
                    yield results_and_metrics.answer_rows(plan, operator.advance(row["first"]))
                operator.add(keyed_frames.from_bytes(row["frame"]))
                if limit is not None:
                    operator.drop_after(limit)
            end.add(row["progress"], row["dropped"], row["rows"])
    latest = end.progress.newest
    if latest is not None:
        yield results_and_metrics.answer_rows(plan, operator.finish(latest))
    if number == 0:
        end.drop({BAD: len(refused)} if refused else {})
    operator.count_dropped(end.dropped)
    metrics = operator.take_metrics()
    end.check(metrics.rows_in)
    warn_of_broken_promises(plan, metrics.dropped)
    yield results_and_metrics.metrics_row(plan, results_and_metrics.with_metrics(plan, metrics, 0, latest))
