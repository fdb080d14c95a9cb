"""Spark Structured Streaming: the operator of each shard in transformWithState, its state in RocksDB."""

from typing import Any

from pyspark.sql.pandas.types import from_arrow_schema

from skyband_spark.frames import results_and_metrics
from skyband_spark.frames.clock_ticks import with_ticks
from skyband_spark.frames.processor import ShardProcessor
from skyband_spark.frames.shard_keys import keys_of
from skyband_spark.frames.sharded_plan import ShardedPlan
from skyband_spark.frames.version_checked_pickling import pickled_with_versions


def run(packed: Any, plan: ShardedPlan) -> Any:
    """The unpacked answers of a streaming DataFrame of packed rows.

    Every micro-batch answers the moments that its rows have passed.
    """
    schema = from_arrow_schema(results_and_metrics.shard_schema(plan))
    answers = (
        with_ticks(packed, plan)
        .withColumn("shard", _key(plan.shards))
        .groupBy("shard")
        .transformWithStateInPandas(
            pickled_with_versions(ShardProcessor(plan), plan), schema, outputMode="append", timeMode="None"
        )
    )
    return results_and_metrics.merge_answers(plan, answers)


def _key(shards: int) -> Any:
    """The column of keys, by which Spark partitions the shards."""
    from pyspark.sql import functions as sql

    keys = sql.array(*(sql.lit(key).cast("bigint") for key in keys_of(shards)))
    return keys[sql.col("shard")]
