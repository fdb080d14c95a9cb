"""Adds ticks of a clock to a stream, which show that no rows arrive, or that the input is complete."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from skyband.queries.time_columns import microseconds
from skyband.watermark import EventTimeProgress

from skyband_spark.frames.sharded_plan import SHUFFLE_SCHEMA, ShardedPlan
from skyband_spark.frames.version_checked_pickling import pickled_with_versions


def with_ticks(packed: Any, plan: ShardedPlan) -> Any:
    """Packed rows and, if the stream needs ticks, a packed row for each tick.

    A clock ticks every second. A stream that finishes gets one tick for each run with Trigger.AvailableNow instead:
    Spark's `rate` does not support that trigger, and would take all files at once.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    if plan.ticking is None:
        return packed
    reader = packed.sparkSession.readStream.option("numPartitions", 1)
    if plan.ticking.idle_after is None:
        ticks = reader.format("rate-micro-batch").option("rowsPerBatch", 1).load()
    else:
        ticks = reader.format("rate").option("rowsPerSecond", 1).load()

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            progress = EventTimeProgress.nowhere(plan.query.source_count)
            progress.tick = int(microseconds("tick", batch.column("timestamp")).max(initial=progress.tick))
            yield plan.end_rows(progress)

    return packed.union(ticks.mapInArrow(pickled_with_versions(pack, plan), from_arrow_schema(SHUFFLE_SCHEMA)))
