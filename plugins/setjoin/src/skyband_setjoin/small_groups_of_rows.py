"""Small groups of rows that are compared with one another: those in each group's window, with their ids and sides."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
from skyband.arrays import Array, Int8, Int64
from skyband.columns import column_ops
from skyband.columns.column_ops import Column, Kind
from skyband.columns.ids import id_values
from skyband.columns.integer_ids import is_integer_id
from skyband.columns.rows import Rows
from skyband.groups.small_groups.table import PassInput, PassResult, SmallGroupTable
from skyband.state_validation import StateReader
from skyband.windows.schedule import Schedule


class RowsInOrder(NamedTuple):
    """The rows held and those of a step, and their places, session by session in order of arrival.

    order[heads:rows] are a session's rows held, and order[rows:stops] those of the step.
    """

    heads: Int64
    rows: Int64
    stops: Int64
    order: Int64
    """int64[n]: the number of the row at each place."""
    times: Int64
    ids: Int64
    sides: Int8
    columns: Mapping[str, Column]
    """All columns, one value per row."""

    def carried(self, name: str, rows: Int64) -> pa.Array:
        """A carried column of the rows with these numbers."""
        return self.columns[name].take(pa.array(rows))


class SmallRows(SmallGroupTable):
    """Groups of at most `most` rows: 20 bytes per row, and what is compared."""

    identity: ClassVar[str] = "code"
    payload: ClassVar[str]
    """The column of what is compared."""
    payload_kind: ClassVar[Kind]

    def __init__(
        self,
        schedule: Schedule,
        most: int,
        answers: pa.Schema,
        kind: pa.DataType,
        *,
        two: bool,
        at_once: bool = False,
        carry: Mapping[str, pa.DataType] | None = None,
        carry_now: Mapping[str, pa.DataType] | None = None,
    ) -> None:
        """kind: the type of ids. two: whether two streams are joined.

        carry: columns of a row to return in answers; carry_now: columns only in the answer to the row itself.
        """
        sides = {"side": np.int8} if two else {}
        columns = {**sides, self.payload: self.payload_kind, **(carry or {})}
        self.taken = {"code": np.int64, **columns, **(carry_now or {})}  # type: ignore[misc]
        self.kept = {"code": np.int64, "time": np.int64, **columns}  # type: ignore[misc]
        self.two = two
        self._kind = kind
        named = None if is_integer_id(kind) else kind
        super().__init__(schedule, most, answers, named, at_once=at_once)

    @abstractmethod
    def compare(
        self, step: PassInput, rows: RowsInOrder
    ) -> tuple[Int64, Int64, Array, Int64, Sequence[Array | pa.Array]]:
        """Process the sessions. Returns, for each, the number of rows kept and the place of the first row not taken in
        (-1: none); bool[n], which places are kept; the session of each row of the answers; and the answers' columns.
        """

    def prepared(self, payload: Column) -> Column:
        """What is compared of the rows of a step, as entries keep it."""
        return payload

    def run_pass(self, step: PassInput) -> PassResult:
        rows = {**step.rows, "time": step.times, self.payload: self.prepared(step.rows[self.payload])}
        columns = {name: column_ops.joined([entries, rows[name]]) for name, entries in step.entries.items()}
        placed = _in_order(step, columns)
        size, full_at, kept, session, answers = self.compare(step, placed)
        first_row = np.where(full_at < 0, -1, step.sessions.start + full_at - placed.rows)
        survivors = placed.order[kept]
        entries = {name: column_ops.pick(column, survivors) for name, column in columns.items()}
        return PassResult(size, entries, first_row, session, answers)

    def id_column(self, ids: Int64) -> pa.Array:
        """The values behind ids."""
        if self.names is not None:
            return self.values(ids)
        return id_values(Rows(ids, {"code": ids}), self._kind)

    def rows_of(self, entries: Mapping[str, Column]) -> Rows:
        """Convert entries to rows for a processor."""
        columns: dict[str, Any] = {name: column for name, column in entries.items() if name != "time"}
        if self.names is not None:
            columns["name"] = self.values(entries["code"])
        return Rows(entries["time"], columns)

    def check_entries(self, state: StateReader, owners: Int64) -> None:
        times = state.column("time", np.int64, len(owners))
        state.require(
            not ((times[1:] < times[:-1]) & (owners[1:] == owners[:-1])).any(),
            "time",
            "must be ascending in each group",
        )
        if self.two:
            state.column("side", np.int8, len(owners), at_least=0, at_most=1)


def _in_order(step: PassInput, columns: Mapping[str, Column]) -> RowsInOrder:
    sessions = step.sessions
    size, rows = sessions.size, sessions.stop - sessions.start
    both = np.cumsum(size + rows)
    begins = both - size - rows
    number = int(size.sum())
    order = np.empty(number + len(step.times), np.int64)
    order[np.arange(number) + np.repeat(np.cumsum(rows) - rows, size)] = np.arange(number)
    order[np.arange(len(step.times)) + np.repeat(np.cumsum(size), rows)] = np.arange(number, len(order))
    sides = columns["side"] if "side" in columns else np.zeros(len(order), np.int8)
    return RowsInOrder(begins, begins + size, both, order, columns["time"], columns["code"], sides, columns)
