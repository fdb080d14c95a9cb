"""Answers that a finished stream withholds: a batch of the same rows would not have them, and a longer one would.

A finished stream stands where the last answer is due that the end of a batch gives, as rows before that would be late.
Where the query's parts have moments of their own, others would be answered meanwhile once more or oftener. They are
given with the first row to come, and never where none comes.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import define

from skyband.arrays import Array, Int64, UInt64
from skyband.columns.hashing import hash_columns
from skyband.columns.keyed_frames import concatenated, plain_type, typed
from skyband.columns.state_frame_checks import check_numbers
from skyband.errors import SnapshotError
from skyband.groups import state_arrays
from skyband.groups.broadcast_state import BroadcastState
from skyband.groups.execution import Execution
from skyband.queries.zones_of_groups import ends_by_zone
from skyband.state_validation import StateReader

_NAME, _PART, _OWN = "withheld", "withheld.part", "own"


@define(eq=False)
class WithheldAnswers:
    """Those of one shard, with the columns of its answers, without dictionaries; none has a batch without rows."""

    execution: Execution[Any]
    schema: pa.Schema
    """Of the shard's answers."""
    rows: pa.RecordBatch
    broadcast: BroadcastState | None
    """What says when answers are due, where rows of a second table do."""

    @classmethod
    def none(
        cls, execution: Execution[Any], schema: pa.Schema, broadcast: BroadcastState | None = None
    ) -> "WithheldAnswers":
        """No answers."""
        columns = [pa.array([], plain_type(kind)) for kind in schema.types]
        return cls(execution, schema, pa.RecordBatch.from_arrays(columns, schema.names), broadcast)

    def __len__(self) -> int:
        return len(self.rows)

    def at_the_end(self, answers: pa.RecordBatch, latest: int) -> pa.RecordBatch:
        """What the end of an input whose last time is `latest` has of these and of further answers; the rest stays."""
        parts = self._parts_of(answers) if len(answers) else None
        if parts is None and not len(self):
            return answers
        every, query = self._with(answers), self.execution.query
        at = every.column("at").cast(pa.int64()).to_numpy()
        if self.broadcast is not None:
            names = every.column(query.separate_answers[0])
            due = self.broadcast.at_the_end_of(names, at, latest)
        elif query.zone_column is not None:
            due = at <= ends_by_zone(query, every.column(query.zone_column), latest)
        else:
            due = at <= query.schedule.each_after(latest)[self._parts_of(every)]
        self.rows = every.filter(pa.array(~due))
        return self._typed(every.filter(pa.array(due)))

    def given_with(self, answers: pa.RecordBatch) -> pa.RecordBatch:
        """These and further answers; none is withheld any more."""
        if not len(self):
            return answers
        every = self._with(answers)
        self.rows = every.slice(0, 0)
        return self._typed(every)

    def absorb(self, other: "WithheldAnswers", select: Any) -> None:
        """Take over another shard's, of the groups (uint64[n] -> bool[n]) to select."""
        if len(other):
            rows = other.rows.filter(pa.array(select(other.groups)))
            self.rows = concatenated([self.rows, rows])

    def merge(self, other: "WithheldAnswers") -> None:
        """Take over all of another shard, whose rows may have columns of their own, which `unite` makes answers of."""
        if len(other):
            self.rows = concatenated([self.rows, other.rows]) if len(self) else other.rows

    def unite(self) -> None:
        """Make one answer of what shards withheld of a moment, each of its own rows, once all are merged here."""
        if len(self):
            whole = self.execution.merge(pa.Table.from_batches([self.rows])).select(self.schema.names)
            kinds = map(plain_type, self.schema.types)
            columns = [column.combine_chunks().cast(kind) for column, kind in zip(whole.columns, kinds, strict=True)]
            self.rows = pa.RecordBatch.from_arrays(columns, self.schema.names)

    @property
    def groups(self) -> UInt64:
        """uint64[n]: the group of each."""
        by = self.execution.query.by
        if not by:
            return np.zeros(len(self), np.uint64)
        return hash_columns([self.rows.column(place) for place in range(len(by))])

    def dump_state(self) -> tuple[list[str], dict[str, Array]]:
        """The parts of the query, for a header, and arrays; both are empty where nothing is withheld."""
        parts = self._parts_of(self.rows) if len(self) else None
        if parts is None:
            return [], {}
        return self._part_names, {_PART: parts, **state_arrays.frame_to_array(_NAME, self.rows)}

    def load_state(self, parts: Any, arrays: Mapping[str, Array], watermark: int | None) -> None:
        """Take over a `dump_state`, of a query that may have had other parts: only answers of those it has stay.

        Raises SnapshotError where they are damaged.
        """
        if _PART not in arrays:
            return
        if not isinstance(parts, list) or watermark is None:
            raise SnapshotError(f"contradicts itself: it withholds answers of {parts!r:.200} before {watermark}")
        here = self._part_names
        mine = {key: values for key, values in arrays.items() if key.split(" ")[0] == _NAME}
        rows = state_arrays.frame_from_array(_NAME, mine, self.rows)
        state = StateReader(arrays)
        part_numbers = state.column(_PART, np.int64, len(rows), at_least=0, at_most=len(parts) - 1)
        at = pa.RecordBatch.from_arrays([rows.column("at").cast(pa.int64())], ["at"])
        check_numbers(at, "at", at_most=watermark)
        places = np.array([here.index(part) if part in here else -1 for part in parts])[part_numbers]
        stay = places >= 0
        rows = rows.filter(pa.array(stay))
        self.rows = rows if self._told_by_rows else self.execution.named_by_parts(rows, places[stay])

    @property
    def _part_names(self) -> list[str]:
        """What has moments of its own: the query's parts, or else zones or rules, which answers name themselves."""
        return [_OWN] if self._told_by_rows else [*self.execution.query.subqueries]

    @property
    def _told_by_rows(self) -> bool:
        return self.broadcast is not None or self.execution.query.zone_column is not None

    def _parts_of(self, answers: pa.RecordBatch) -> Int64 | None:
        if self._told_by_rows:
            return np.zeros(len(answers), np.int64)
        return self.execution.parts_of(answers)

    def _with(self, answers: pa.RecordBatch) -> pa.RecordBatch:
        return concatenated([self.rows, answers] if len(self) else [answers])

    def _typed(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        columns = [typed(column, kind) for column, kind in zip(rows.columns, self.schema.types, strict=True)]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)
