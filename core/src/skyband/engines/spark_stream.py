"""Spark Structured Streaming: the operator of each shard inside transformWithState, its state in RocksDB."""

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from skyband import frames
from skyband.engines import results
from skyband.engines.keeping import Keeping
from skyband.engines.shipment import PACKED, Ends, Shipment

_TURN = pa.schema([pa.field("shard", pa.int32()), pa.field("answers", pa.binary()), pa.field("metrics", pa.binary())])


def run(df: Any, shipment: Shipment) -> Any:
    """The unpacked answers of a streaming DataFrame. Every micro-batch answers the moments its rows have passed."""
    packed = df.mapInArrow(shipment.pack, from_arrow_schema(PACKED))
    turns = packed.groupBy("shard").transformWithStateInPandas(
        _Shard(shipment), from_arrow_schema(_TURN), outputMode="append", timeMode="None"
    )
    together = not (shipment.shards == 1 or shipment.query.by)

    def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = _unpacked(shipment, batches)
        return results.merged(shipment, rows) if together else rows

    whole = turns.repartition(1) if together else turns
    return whole.mapInArrow(unpack, from_arrow_schema(results.unpacked_schema(shipment)))


def _unpacked(shipment: Shipment, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for row in batch.to_pylist():
            if row["answers"] is not None:
                yield results.answer_rows(shipment, frames.from_bytes(row["answers"]))
            yield frames.from_bytes(row["metrics"])


class _Shard(StatefulProcessor):  # type: ignore[misc]
    """Hosts the operator of one shard."""

    def __init__(self, shipment: Shipment) -> None:
        self._shipment = shipment

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._keeping = Keeping(self._shipment, handle)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803, ARG002
        operator = self._keeping.take()
        end = Ends(self._shipment.query.leaves_out)
        for packed in rows:
            for row in packed.itertuples(index=False):
                if row.frame is not None:
                    operator.add(frames.from_bytes(row.frame))
                end.add(None if pd.isna(row.latest) else int(row.latest), row.dropped)
        delay = self._shipment.query.delay.length
        answers = operator.advance(end.latest - delay) if end.latest is not None else None
        size = self._keeping.keep(operator)
        operator.leave_out(end.left_out)
        metrics = results.with_metrics(self._shipment, operator.take_metrics(), size, operator.watermark)
        turn = {
            "shard": [int(key[0])],
            "answers": [results.pack_answers(answers) if answers is not None else None],
            "metrics": [frames.to_bytes(results.metrics_row(self._shipment, metrics))],
        }
        yield pd.DataFrame(turn)

    def close(self) -> None:
        """Nothing is held beyond the micro-batch but the cache."""
