"""Spark batch: pack where the rows are, shuffle frames by shard, run one operator a shard in order of time."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from skyband import frames
from skyband.engines import results
from skyband.engines.sealing import sealed
from skyband.engines.shipment import PACKED, Ends, Shipment
from skyband.engines.worker import packing, settle


def run(df: Any, shipment: Shipment) -> Any:
    """The unpacked answers of a bounded DataFrame, computed when they are asked for.

    Frames are sorted by their earliest time on disk where they must be, so that a task holds only the rows that a
    later frame might still precede: a few batches where the source is roughly in order of time.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    packed = df.mapInArrow(packing(shipment), from_arrow_schema(PACKED))
    by_shard = packed.repartitionById(shipment.shards, "shard").sortWithinPartitions("shard", "first")

    def operate(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _operate(shipment, batches)

    unpacked = by_shard.mapInArrow(sealed(operate, shipment), from_arrow_schema(results.shard_schema(shipment)))
    if not shipment.merges:
        return unpacked

    def merge(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return results.merged(shipment, batches)

    whole = from_arrow_schema(results.unpacked_schema(shipment))
    return unpacked.repartition(1).mapInArrow(sealed(merge, shipment), whole)


def _operate(shipment: Shipment, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    settle(shipment)
    operator = shipment.operator()
    end = Ends(shipment.query)
    for batch in batches:
        for row in batch.to_pylist():
            if row["frame"] is not None:
                yield results.answer_rows(shipment, operator.advance(row["first"]))
                operator.add(frames.from_bytes(row["frame"]))
            end.add(row["reach"], row["dropped"])
    latest = end.reach.newest
    if latest is not None:
        yield results.answer_rows(shipment, operator.finish(latest))
    operator.leave_out(end.left_out)
    metrics = results.with_metrics(shipment, operator.take_metrics(), 0, latest)
    yield results.metrics_row(shipment, metrics)
