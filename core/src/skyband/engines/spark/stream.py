"""Spark Structured Streaming: the operator of each shard inside transformWithState, its state in RocksDB."""

from struct import pack
from typing import Any

import mmh3
from pyspark.sql.pandas.types import from_arrow_schema

from skyband.engines.spark import results_and_metrics
from skyband.engines.spark.clock_ticks import with_ticks
from skyband.engines.spark.processor import ShardProcessor
from skyband.engines.spark.sharded_plan import SHUFFLE_SCHEMA, ShardedPlan
from skyband.engines.spark.version_checked_pickling import pickled_with_versions
from skyband.engines.spark.worker import shuffle_mapper

_SPARKS_SEED = 42


def run(df: Any, plan: ShardedPlan) -> Any:
    """The unpacked answers of a streaming DataFrame. Every micro-batch answers the moments its rows have passed."""
    packed = df.mapInArrow(shuffle_mapper(plan), from_arrow_schema(SHUFFLE_SCHEMA))
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
    """The column of keys, by which Spark puts the shards into partitions."""
    from pyspark.sql import functions as sql

    keys = sql.array(*(sql.lit(key).cast("bigint") for key in keys_of(shards)))
    return keys[sql.col("shard")]


def keys_of(shards: int) -> list[int]:
    """A key for each shard that Spark hashes into a partition of its own, where it has as many or a multiple of them.

    By their numbers two of two shards would share a partition, and three of eight. Keys are of state: they follow from
    the number of shards alone.
    """
    found: dict[int, int] = {}
    key = 0
    while len(found) < shards:
        found.setdefault(mmh3.hash(pack("<q", key), _SPARKS_SEED) % shards, key)
        key += 1
    return [found[shard] for shard in range(shards)]
