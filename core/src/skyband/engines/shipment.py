"""What travels from the driver to the executors: a query with its backends resolved, and who made it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import frozen

from skyband import frames
from skyband.operator import Operator
from skyband.queries.encoding import encode
from skyband.queries.query import Query
from skyband.queries.spread import Spread, by_hash
from skyband.registry import Binding
from skyband.watermark import Reach, Ticking

PACKED = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("first", pa.int64(), nullable=False),
        pa.field("reach", pa.list_(pa.int64()), nullable=True),
        pa.field("dropped", pa.list_(pa.int64()), nullable=True),
        pa.field("frame", pa.binary(), nullable=True),
    ]
)
"""A frame as one row: its shard and earliest time.

Every task ends by sending each shard a row without a frame that says how far time has come in the task (a packed
Reach), and one shard how many rows were left out, by reason. A tick of the clock is such a row too.
"""

AT_THE_END = np.iinfo(np.int64).max


@frozen
class Shipment:
    """A bound query as plain data. Backends are named `module:Class`: executors need the code, not entry points."""

    query: Query
    bindings: Mapping[str, Binding]
    schema: pa.Schema
    shards: int
    ticking: Ticking | None = None

    @property
    def merges(self) -> bool:
        """Whether the answers of the shards make one, which is when they do not have groups of their own."""
        return self.shards > 1 and not self.query.by

    @property
    def answers(self) -> pa.Schema:
        """Schema of what an operator answers."""
        if self.merges:
            return pa.schema(self.query.shard_fields(self.schema))
        return self.query.result_schema(self.schema)

    def operator(self) -> Operator:
        """A fresh operator for one shard."""
        return Operator(self.query, self.bindings, self.schema, self.merges)

    def made(self, operator: Operator) -> bool:
        """Whether `operator` runs just this: the query with its changeable keys, the backends, the source's schema."""
        return (operator.query, operator.bindings, operator.schema) == (self.query, self.bindings, self.schema)

    def pack(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Source batches as packed frames, each batch cut by shard and sorted by time. Runs where the rows are.

        Their columns are those the query reads, in its order, whatever they are called.
        """
        reach = Reach.nowhere(self.query.source_count)
        left_out: Counter[str] = Counter()
        for batch in batches:
            encoded = encode(self.query, batch.rename_columns(list(self.query.columns)))
            left_out.update(encoded.dropped)
            reach.add(encoded.reach)
            if len(encoded.frame):
                yield pa.RecordBatch.from_pylist(self._cut(encoded.frame), schema=PACKED)
        yield self.closing(reach, [left_out[reason] for reason in self.query.reasons])

    def closing(self, reach: Reach, dropped: list[int] | None = None) -> pa.RecordBatch:
        """What a task ends with: a packed row for each shard, without a frame."""
        row = {"first": AT_THE_END, "reach": reach.packed(), "dropped": None, "frame": None}
        rows: list[dict[str, Any]] = [{**row, "shard": shard} for shard in range(self.shards)]
        rows[0]["dropped"] = dropped
        return pa.RecordBatch.from_pylist(rows, schema=PACKED)

    def _cut(self, frame: pa.RecordBatch) -> list[dict[str, Any]]:
        """The rows of a frame by shard, each shard's as one packed row."""
        times = frame.column(frames.TIME).to_numpy()
        if self.shards == 1:
            return [{"shard": 0, "first": int(times.min()), "frame": frames.to_bytes(frame)}]
        spread = self._spread(frame)
        order = np.argsort(spread.shards, kind="stable")
        cuts = np.searchsorted(spread.shards[order], np.arange(self.shards + 1))
        pieces = []
        for shard in np.flatnonzero(cuts[1:] > cuts[:-1]).tolist():
            chosen = order[cuts[shard] : cuts[shard + 1]]
            rows = spread.rows[chosen]
            piece = frame.take(pa.array(rows))
            if spread.parts is not None:
                piece = piece.append_column(frames.PART, pa.array(spread.parts[chosen]))
            pieces.append({"shard": shard, "first": int(times[rows].min()), "frame": frames.to_bytes(piece)})
        return pieces

    def _spread(self, frame: pa.RecordBatch) -> Spread:
        if self.query.by:
            return by_hash(frame.column(frames.GROUP).to_numpy(), self.shards)
        return self.query.spread(frame, self.shards)


class Ends:
    """What the closing rows of all tasks say together: how far time has come, and the rows left out by reason."""

    def __init__(self, query: Query) -> None:
        self.reach = Reach.nowhere(query.source_count)
        self.left_out = dict.fromkeys(query.reasons, 0)

    def add(self, reach: Sequence[int] | None, dropped: Sequence[int] | None) -> None:
        """Take in one packed row."""
        if reach is not None:
            self.reach.add(Reach.unpacked(reach))
        if dropped is not None:
            for reason, count in zip(self.left_out, dropped, strict=True):
                self.left_out[reason] += int(count)
