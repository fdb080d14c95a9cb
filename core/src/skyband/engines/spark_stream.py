"""Spark Structured Streaming: the operator of each shard inside transformWithState, its state in RocksDB."""

from collections.abc import Iterator
from struct import pack
from typing import Any

import mmh3
import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

from skyband.engines import results
from skyband.engines.processor import Shard
from skyband.engines.sealing import sealed
from skyband.engines.shipment import PACKED, Shipment
from skyband.engines.ticks import with_ticks
from skyband.engines.worker import packing

_SPARKS_SEED = 42


def run(df: Any, shipment: Shipment) -> Any:
    """The unpacked answers of a streaming DataFrame. Every micro-batch answers the moments its rows have passed."""
    packed = df.mapInArrow(packing(shipment), from_arrow_schema(PACKED))
    schema = from_arrow_schema(results.shard_schema(shipment))
    answers = (
        with_ticks(packed, shipment)
        .withColumn("shard", _key(shipment.shards))
        .groupBy("shard")
        .transformWithStateInPandas(sealed(Shard(shipment), shipment), schema, outputMode="append", timeMode="None")
    )
    if not shipment.merges:
        return answers

    def merge(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return results.merged(shipment, batches)

    whole = from_arrow_schema(results.unpacked_schema(shipment))
    return answers.repartition(1).mapInArrow(sealed(merge, shipment), whole)


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
