"""Spark Structured Streaming: the operator of each shard inside transformWithState, its state in RocksDB."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

from skyband import frames
from skyband.engines import results
from skyband.engines.processor import Shard
from skyband.engines.sealing import sealed
from skyband.engines.shipment import PACKED, Shipment
from skyband.engines.ticks import with_ticks
from skyband.engines.turn import TURN


def run(df: Any, shipment: Shipment) -> Any:
    """The unpacked answers of a streaming DataFrame. Every micro-batch answers the moments its rows have passed."""
    packed = df.mapInArrow(sealed(shipment.pack, shipment), from_arrow_schema(PACKED))
    turns = (
        with_ticks(packed, shipment)
        .groupBy("shard")
        .transformWithStateInPandas(
            sealed(Shard(shipment), shipment), from_arrow_schema(TURN), outputMode="append", timeMode="None"
        )
    )

    def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = _unpacked(shipment, batches)
        return results.merged(shipment, rows) if shipment.merges else rows

    whole = turns.repartition(1) if shipment.merges else turns
    return whole.mapInArrow(sealed(unpack, shipment), from_arrow_schema(results.unpacked_schema(shipment)))


def _unpacked(shipment: Shipment, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for row in batch.to_pylist():
            if row["answers"] is not None:
                yield results.answer_rows(shipment, frames.from_bytes(row["answers"]))
            yield frames.from_bytes(row["metrics"])
