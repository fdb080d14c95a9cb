"""What travels from the driver to the executors: a query with its backends resolved, and its origin."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from attrs import frozen
from skyband.arrays import TIME_MAX, TIME_MIN, Array
from skyband.columns import compact_frames, keyed_frames, record_batch_bytes
from skyband.columns.arrow_normalization import columns_as
from skyband.groups.execution import execution_of
from skyband.groups.partitioning import Partitioning, by_hash
from skyband.operator.bad_rows import Unreadable, bad_rows_schema, unreadable_rows
from skyband.operator.metrics import check_sum
from skyband.operator.operator import Operator
from skyband.operator.row_encoding import Encoded, encode, hashed_columns
from skyband.operator.shard import Shard
from skyband.queries.query import BAD, Query
from skyband.registry import Binding
from skyband.watermark import EventTimeProgress, Ticking

if TYPE_CHECKING:
    from skyband.operator.static_broadcast_table import WholeTable

_FEW_SHARDS = 8
"""Up to this number of shards, looking at all rows for each is cheaper than sorting the rows."""

SHUFFLE_SCHEMA = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("first", pa.int64(), nullable=False),
        pa.field("progress", pa.list_(pa.int64()), nullable=True),
        pa.field("dropped", pa.list_(pa.int64()), nullable=True),
        pa.field("rows", pa.int64(), nullable=False),
        pa.field("frame", pa.binary(), nullable=True),
        pa.field("source", pa.binary(), nullable=True),
        pa.field("bad", pa.binary(), nullable=True),
        pa.field("broadcast", pa.binary(), nullable=True),
    ]
)
"""A frame as one row: its shard and earliest time; if late rows have a place, also its unchanged rows.

Every task ends by sending each shard a row without a frame, with the task's progress in time (a packed
EventTimeProgress) and its number of rows for the shard, and one shard the rows left out, by reason. A tick of
the clock is also such a row, and so are rows of the query's second table, which every shard gets. Bad rows that
have a place go to the first shard, which also gets their number.
"""

RowsAside = Callable[[int, pa.RecordBatch | None], None]
"""Takes rows that a shard puts aside in a micro-batch, None if there are none; it runs in a Spark worker."""


@frozen
class ShardedPlan:
    """A bound query as plain data. Backends are named `module:Class`: executors need the code, not entry points."""

    query: Query
    bindings: Mapping[str, Binding]
    schema: pa.Schema
    shards: int
    ticking: Ticking | None = None
    late_rows: RowsAside | None = None
    bad_rows: RowsAside | None = None
    """Takes the bad rows of a micro-batch in its first shard, including refused rows of the second table."""
    broadcast: "WholeTable | None" = None
    """The query's second table, if it is not a stream."""

    @property
    def merges(self) -> bool:
        """Whether the answers of the shards are merged: if they do not have their own groups."""
        return self.shards > 1 and not self.query.by

    @property
    def answers(self) -> pa.Schema:
        """Schema of an operator's answers."""
        if self.merges:
            return pa.schema(execution_of(self.query).shard_fields(self.schema))
        return self.query.result_schema(self.schema)

    def operator(self, number: int | None = None) -> Operator:
        """A new operator for the shard of this number; None if it does not matter, as its state is never kept."""
        shard = None if number is None else Shard(number, self.shards)
        return Operator(self.query, self.bindings, self.schema, self.merges, shard)

    def made(self, operator: Operator) -> bool:
        """Whether `operator` runs exactly this: query with evolvable keys, backends, schema of the source."""
        return (operator.query, operator.bindings, operator.schema) == (self.query, self.bindings, self.schema)

    def to_shuffle_rows(
        self, batches: Iterator[pa.RecordBatch], unreadable: Unreadable = ()
    ) -> Iterator[pa.RecordBatch]:
        """Source batches as packed frames, each batch cut by shard and sorted by time. It runs where the rows are.

        Their columns are those that the query reads, in its order, with any names. unreadable: what the source
        could not read, complete after the last batch; each is counted as a bad row.
        """
        progress = EventTimeProgress.nowhere(self.query.source_count)
        dropped: Counter[str] = Counter()
        rows: Counter[int] = Counter()
        for encoded in map(self._encode, batches):
            dropped.update(encoded.dropped)
            progress.add(encoded.progress)
            if encoded.bad is not None:
                yield from self._bad_to_first_shard(encoded.bad)
            if len(encoded.frame):
                source = None if self.late_rows is None else encoded.as_they_came()
                pieces, own = self._cut(encoded.frame, source)
                check_sum(
                    keyed_frames.own_count(encoded.frame),
                    sum(own.values()),
                    f"{self.query.kind} put them into {self.shards} shards",
                )
                rows.update(own)
                yield pa.RecordBatch.from_pylist(pieces, schema=SHUFFLE_SCHEMA)
        dropped.update({BAD: len(unreadable)})
        if unreadable:
            yield from self._bad_to_first_shard(unreadable_rows(self.query, self.schema, unreadable))
        yield self.end_rows(progress, [dropped[reason] for reason in self.query.all_drop_reasons], rows)

    def to_bad_rows(self, batches: Iterator[pa.RecordBatch], unreadable: Unreadable = ()) -> Iterator[pa.RecordBatch]:
        """The rows of source batches, as for `to_shuffle_rows`, that the query refuses and counts as bad."""
        yield from (encoded.bad for encoded in map(self._encode, batches) if encoded.bad is not None)
        if unreadable:
            yield unreadable_rows(self.query, self.schema, unreadable)

    def _bad_to_first_shard(self, bad: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Bad rows as one packed row, if they have a place."""
        if self.bad_rows is not None:
            rows = pa.RecordBatch.from_arrays(bad.columns, schema=bad_rows_schema(self.query, self.schema))
            packed = {"shard": 0, "first": TIME_MIN, "rows": 0, "bad": record_batch_bytes.to_bytes(rows)}
            yield pa.RecordBatch.from_pylist([packed], schema=SHUFFLE_SCHEMA)

    def _encode(self, batch: pa.RecordBatch) -> Encoded:
        named = batch.rename_columns(list(self.query.columns))
        return encode(self.query, columns_as(named, self.query.columns, self.schema, hashed_columns(self.query)))

    def end_rows(
        self, progress: EventTimeProgress, dropped: list[int] | None = None, counts: Mapping[int, int] | None = None
    ) -> pa.RecordBatch:
        """The end of a task: a packed row for each shard, without a frame. counts: its rows for each shard."""
        first = TIME_MAX if self.query.ahead is None else TIME_MIN  # rows ahead of all others come first
        row = {"first": first, "progress": progress.to_list_with_spans(), "dropped": None, "frame": None}
        counts = counts or {}
        rows: list[dict[str, Any]] = [
            {**row, "shard": shard, "rows": counts.get(shard, 0)} for shard in range(self.shards)
        ]
        rows[0]["dropped"] = dropped
        return pa.RecordBatch.from_pylist(rows, schema=SHUFFLE_SCHEMA)

    def _cut(self, frame: pa.RecordBatch, source: pa.RecordBatch | None) -> tuple[list[dict[str, Any]], dict[int, int]]:
        """The rows of a frame by shard, one packed row each, and how many are the shard's own.

        source: the same rows, unchanged.
        """
        if self.shards == 1:
            whole = None if source is None else record_batch_bytes.to_bytes(source)
            packed = {"rows": 0, "frame": compact_frames.to_bytes(frame), "source": whole}
            return [{"shard": 0, "first": _first(frame), **packed}], {0: keyed_frames.own_count(frame)}
        partitioning = self._partition(frame)
        pieces, own = [], {}
        for shard, members in _by_shard(partitioning.shards, self.shards):
            rows = partitioning.rows[members]
            piece = frame.take(pa.array(rows))
            for name, column in partitioning.columns.items():
                piece = piece.set_column(piece.schema.get_field_index(name), name, pa.array(column[members]))
            if partitioning.parts is not None:
                piece = piece.append_column(keyed_frames.PART, pa.array(partitioning.parts[members]))
            came = None if source is None else record_batch_bytes.to_bytes(source.take(pa.array(rows)))
            packed = {"rows": 0, "frame": compact_frames.to_bytes(piece), "source": came}
            pieces.append({"shard": shard, "first": _first(piece), **packed})
            own[shard] = keyed_frames.own_count(piece)
        return pieces, own

    def _partition(self, frame: pa.RecordBatch) -> Partitioning:
        if self.query.by:
            return by_hash(frame.column(keyed_frames.GROUP).to_numpy(), self.shards)
        return execution_of(self.query).partition(frame, self.shards)


def _first(frame: pa.RecordBatch) -> int:
    """The earliest time in a frame of at least one row."""
    return int(frame.column(keyed_frames.TIME).to_numpy().min())


def _by_shard(shards: Array, count: int) -> Iterator[tuple[int, Array]]:
    """The shards that have rows, ascending, with the places of their rows, ascending. O(n).

    shards: int[n], from 0 to count - 1.
    """
    if count <= _FEW_SHARDS:
        narrow = shards.astype(np.uint8)
        for shard in range(count):
            members = np.flatnonzero(narrow == shard)
            if len(members):
                yield shard, members
        return
    order = np.argsort(shards.astype(np.uint16), kind="stable")  # few bits make it a radix sort
    cuts = np.append(0, np.cumsum(np.bincount(shards, minlength=count)))
    for shard in np.flatnonzero(cuts[1:] > cuts[:-1]).tolist():
        yield shard, order[cuts[shard] : cuts[shard + 1]]


class TaskEnds:
    """The sum of the last rows of all tasks: progress in time, a shard's rows, and those left out, by reason."""

    def __init__(self, query: Query) -> None:
        self.progress = EventTimeProgress.nowhere(query.source_count)
        self.dropped = dict.fromkeys(query.all_drop_reasons, 0)
        self.rows = 0

    def add(self, progress: Sequence[int] | None, dropped: Sequence[int] | None, rows: int = 0) -> None:
        """Add one packed row."""
        self.rows += int(rows)
        if progress is not None:
            self.progress.add(EventTimeProgress.from_list(progress, len(self.progress.latest)))
        if dropped is not None:
            for reason, count in zip(self.dropped, dropped, strict=True):
                self.dropped[reason] += int(count)

    def drop(self, counts: Mapping[str, int]) -> None:
        """Count additional rows that were left out, by reason."""
        for reason, count in counts.items():
            self.dropped[reason] += count

    def check(self, rows_in: int) -> None:
        """Raise EngineError unless the rows that arrived, including those left out, are as many as the tasks sent."""
        check_sum(self.rows + sum(self.dropped.values()), rows_in, "Spark moved them from the tasks to a shard")
