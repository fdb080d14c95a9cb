"""Answers that a finished stream withholds: a batch of the same rows would not have them, but a longer one would.

A finished stream stops at the last answer that the end of a batch gives, because rows before it would be late. If the
query's parts have their own moments, others would be answered more often up to there. Those answers are given
with the next row that arrives, or never.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from attrs import define

from skyband.arrays import Array, Int64, UInt64
from skyband.columns.hashing import hash_columns
from skyband.columns.keyed_frames import concatenated, plain_type, typed
from skyband.columns.state_frame_checks import check_numbers
from skyband.errors import SnapshotError
from skyband.groups import state_arrays
from skyband.groups.execution import Execution
from skyband.state_validation import StateReader

if TYPE_CHECKING:
    from skyband.groups.broadcast_state import BroadcastState

_NAME, _PART, _OWN = "withheld", "withheld.part", "own"


@define(eq=False)
class WithheldAnswers:
    """Withheld answers of one shard, with the columns of its answers, without dictionaries; may be an empty batch."""

    execution: Execution[Any]
    schema: pa.Schema
    """The schema of the shard's answers."""
    rows: pa.RecordBatch
    broadcast: "BroadcastState | None"
    """The second table that determines when answers are due, if any."""

    @classmethod
    def none(
        cls, execution: Execution[Any], schema: pa.Schema, broadcast: "BroadcastState | None" = None
    ) -> "WithheldAnswers":
        """No withheld answers."""
        columns = [pa.array([], plain_type(kind)) for kind in schema.types]
        return cls(execution, schema, pa.RecordBatch.from_arrays(columns, schema.names), broadcast)

    def __len__(self) -> int:
        return len(self.rows)

    def at_the_end(self, answers: pa.RecordBatch, latest: int) -> pa.RecordBatch:
        """Of these and more answers, those that an input ending at `latest` has; the others stay withheld."""
        parts = self._parts_of(answers) if len(answers) else None
        if parts is None and not len(self):
            return answers
        every, query = self._with(answers), self.execution.query
        at = every.column("at").cast(pa.int64()).to_numpy()
        if self.broadcast is not None:
            names = every.column(query.separate_answers[0])
            due = self.broadcast.at_the_end_of(names, at, latest)
        elif query.zone_column is not None:
            from skyband.queries.zones_of_groups import ends_by_zone  # on use, as few queries have zones

            due = at <= ends_by_zone(query, every.column(query.zone_column), latest)
        else:
            due = at <= query.schedule.each_after(latest)[self._parts_of(every)]
        self.rows = every.filter(pa.array(~due))
        return self._typed(every.filter(pa.array(due)))

    def given_with(self, answers: pa.RecordBatch) -> pa.RecordBatch:
        """All withheld answers and these; nothing is withheld any longer."""
        if not len(self):
            return answers
        every = self._with(answers)
        self.rows = every.slice(0, 0)
        return self._typed(every)

    def absorb(self, other: "WithheldAnswers", select: Any) -> None:
        """Take over another shard's answers of the selected groups (uint64[n] -> bool[n])."""
        if len(other):
            rows = other.rows.filter(pa.array(select(other.groups)))
            self.rows = concatenated([self.rows, rows])

    def merge(self, other: "WithheldAnswers") -> None:
        """Take over all of another shard, whose rows may have extra columns, until `unite` makes answers of them."""
        if len(other):
            self.rows = concatenated([self.rows, other.rows]) if len(self) else other.rows

    def unite(self) -> None:
        """Make one answer per moment of what shards withheld, each from its own rows, once all are merged here."""
        if len(self):
            whole = self.execution.merge(pa.Table.from_batches([self.rows])).select(self.schema.names)
            kinds = map(plain_type, self.schema.types)
            columns = [column.combine_chunks().cast(kind) for column, kind in zip(whole.columns, kinds, strict=True)]
            self.rows = pa.RecordBatch.from_arrays(columns, self.schema.names)

    @property
    def groups(self) -> UInt64:
        """uint64[n]: the group of each answer."""
        by = self.execution.query.by
        if not by:
            return np.zeros(len(self), np.uint64)
        return hash_columns([self.rows.column(place) for place in range(len(by))])

    def dump_state(self) -> tuple[list[str], dict[str, Array]]:
        """The parts of the query, for a header, and arrays; both are empty if nothing is withheld."""
        parts = self._parts_of(self.rows) if len(self) else None
        if parts is None:
            return [], {}
        return self._part_names, {_PART: parts, **state_arrays.frame_to_array(_NAME, self.rows)}

    def load_state(self, parts: Any, arrays: Mapping[str, Array], watermark: int | None) -> None:
        """Load the result of `dump_state`, from a query that may have had other parts: only answers of its parts stay.

        Raises SnapshotError if they are damaged.
        """
        if _PART not in arrays:
            return
        if not isinstance(parts, list) or watermark is None:
            raise SnapshotError(f"contradicts itself: it withholds answers of {parts!r:.200} before {watermark}")
        current = self._part_names
        own_arrays = {key: values for key, values in arrays.items() if key.split(" ")[0] == _NAME}
        rows = state_arrays.frame_from_array(_NAME, own_arrays, self.rows)
        state = StateReader(arrays)
        part_numbers = state.column(_PART, np.int64, len(rows), at_least=0, at_most=len(parts) - 1)
        at = pa.RecordBatch.from_arrays([rows.column("at").cast(pa.int64())], ["at"])
        check_numbers(at, "at", at_most=watermark)
        places = np.array([current.index(part) if part in current else -1 for part in parts])[part_numbers]
        stay = places >= 0
        rows = rows.filter(pa.array(stay))
        self.rows = rows if self._named_by_rows else self.execution.named_by_parts(rows, places[stay])

    @property
    def _part_names(self) -> list[str]:
        """The units with their own moments: the query's parts, or else zones or rules, which answers name."""
        return [_OWN] if self._named_by_rows else [*self.execution.query.subqueries]

    @property
    def _named_by_rows(self) -> bool:
        query = self.execution.query
        return (self.broadcast is not None and bool(query.separate_answers)) or query.zone_column is not None

    def _parts_of(self, answers: pa.RecordBatch) -> Int64 | None:
        if self._named_by_rows:
            return np.zeros(len(answers), np.int64)
        return self.execution.parts_of(answers)

    def _with(self, answers: pa.RecordBatch) -> pa.RecordBatch:
        return concatenated([self.rows, answers] if len(self) else [answers])

    def _typed(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        columns = [typed(column, kind) for column, kind in zip(rows.columns, self.schema.types, strict=True)]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)
