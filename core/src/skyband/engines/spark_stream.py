"""Spark Structured Streaming: the operator of each shard inside transformWithState, its state in RocksDB."""

import os
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from skyband import frames
from skyband.engines import results
from skyband.engines.shipment import PACKED, Ends, Shipment
from skyband.errors import SnapshotError
from skyband.operator import Operator

CHUNK = 64 * 1024
"""Bytes of state written at a time; a chunk that did not change is not written again."""

MOST_CACHED = 256

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
    """Hosts the operator of one shard.

    State: a head (the token, length and shard count of the last snapshot) and its bytes in chunks. An operator
    left in this worker by the micro-batch before is used again only where its random token is the one in the
    state, so a task that failed after its operator moved on leaves nothing behind that could be trusted; and only
    where it runs the same query: a job that was changed and started again loads the state, which says what may change.
    """

    def __init__(self, shipment: Shipment) -> None:
        self._shipment = shipment

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._head = handle.getValueState("head", "token binary, length bigint, shards int")
        self._chunks = handle.getMapState("chunks", "number int", "data binary")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803, ARG002
        operator, written = self._take()
        end = Ends(self._shipment.query.leaves_out)
        for packed in rows:
            for row in packed.itertuples(index=False):
                if row.frame is not None:
                    operator.add(frames.from_bytes(row.frame))
                end.add(None if pd.isna(row.latest) else int(row.latest), row.dropped)
        delay = self._shipment.query.delay.length
        answers = operator.advance(end.latest - delay) if end.latest is not None else None
        size = self._keep(operator, written)
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

    def _take(self) -> tuple[Operator, list[bytes]]:
        """The operator as the last committed micro-batch left it, and the chunks it was written in."""
        if not self._head.exists():
            return self._shipment.operator(), []
        token, length, shards = self._head.get()
        if shards != self._shipment.shards:
            raise SnapshotError(
                f"the checkpoint was made with shards = {shards}, this job has {self._shipment.shards}: "
                "change it back, or give the changed job a new checkpoint"
            )
        cached = _CACHE.pop(bytes(token), None)
        if cached is not None and self._shipment.made(cached[0]):
            return cached
        count = -(-length // CHUNK)
        chunks = [bytes(self._chunks.getValue((number,))[0]) for number in range(count)]
        operator = self._shipment.operator()
        operator.load(b"".join(chunks))
        return operator, chunks

    def _keep(self, operator: Operator, written: list[bytes]) -> int:
        """Write what changed of the operator's state, remember the operator, and return the state's size in bytes."""
        blob = operator.snapshot()
        chunks = [blob[start : start + CHUNK] for start in range(0, len(blob), CHUNK)]
        for number, chunk in enumerate(chunks):
            if number >= len(written) or written[number] != chunk:
                self._chunks.updateValue((number,), (chunk,))
        for number in range(len(chunks), len(written)):
            self._chunks.removeKey((number,))
        token = os.urandom(16)
        self._head.update((token, len(blob), self._shipment.shards))
        _CACHE[token] = operator, chunks
        while len(_CACHE) > MOST_CACHED:
            _CACHE.popitem(last=False)
        return len(blob)


_CACHE: OrderedDict[bytes, tuple[Operator, list[bytes]]] = OrderedDict()
