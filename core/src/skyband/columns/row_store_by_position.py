"""Columns of the rows of a window, found again by the numbers in which they arrived."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa

from skyband.arrays import Int64
from skyband.columns.integer_ids import numbers_column
from skyband.errors import SnapshotError


@lru_cache(maxsize=64)
def _no_rows(fields: tuple[pa.Field, ...]) -> pa.RecordBatch:
    """Of these columns and a time; the same batch each time, as it is asked for by each of many groups."""
    return pa.RecordBatch.from_pylist([], schema=pa.schema([pa.field("time", pa.int64()), *fields]))


def _picked(column: pa.Array, places: Int64) -> pa.Array:
    if pa.types.is_integer(column.type) and not column.null_count:  # as most ids: a third of the time for a few
        return numbers_column(column.to_numpy()[places])
    return column.take(numbers_column(places))


class RowStore:
    """Columns of the rows of a window, by arrival number. Memory follows the window; of no columns nothing is kept."""

    def __init__(self, fields: Sequence[pa.Field]) -> None:
        self._first = 0
        nothing = _no_rows(tuple(fields))
        self._schema = nothing.schema
        self._times: Int64 = np.empty(0, np.int64)
        self._columns: list[pa.Array] = nothing.columns[1:]

    def update(self, times: Int64, columns: Sequence[pa.Array]) -> None:
        """Take in the columns of the next rows, which came at these times (ascending)."""
        if columns:
            self._times = np.concatenate([self._times, times])
            together = zip(self._columns, columns, strict=True)
            self._columns = [pa.concat_arrays([stored, new]) for stored, new in together]

    def lookup(self, numbers: Int64) -> list[pa.Array]:
        """The columns of these arrivals."""
        if len(self._schema) == 1:
            return []
        if len(numbers) and not self._first <= numbers.min() <= numbers.max() < self._first + len(self._times):
            raise SnapshotError("contradicts itself: the state has no name for a row in its answers")
        places = numbers - self._first
        return [_picked(column, places) for column in self._columns]

    def forget(self, before: int) -> None:
        """Columns of rows before this time are not needed any more."""
        gone = int(self._times.searchsorted(before))
        if gone:
            self._times, self._first = self._times[gone:], self._first + gone
            self._columns = [column.slice(gone) for column in self._columns]

    def frame(self) -> pa.RecordBatch:
        """All that is known, in one form however it came."""
        return pa.RecordBatch.from_arrays([pa.array(self._times), *self._columns], schema=self._schema)

    def load_state(self, frame: pa.RecordBatch, seen: int) -> None:
        """Take over what `frame` gave when this many rows had come. Raises SnapshotError where it has more."""
        column = frame.column("time")
        times = column.to_numpy(zero_copy_only=False)
        if len(frame) > seen or column.null_count or (times[1:] < times[:-1]).any():
            raise SnapshotError(f"contradicts itself: {len(frame)} names, not all in time order, of {seen} rows")
        self._times, self._columns, self._first = times, frame.columns[1:], seen - len(frame)
