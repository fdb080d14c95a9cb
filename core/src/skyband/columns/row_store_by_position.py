"""Stores columns of the rows of a window, to be found by arrival number."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from skyband.arrays import TIME_MIN, Int64
from skyband.columns.chunked_take import take_from_runs
from skyband.errors import SnapshotError

_SHORT = 64
"""A run shorter than this is merged with the next rows, whatever their number."""


@lru_cache(maxsize=64)
def _no_rows(fields: tuple[pa.Field, ...]) -> pa.RecordBatch:
    """An empty batch of these columns and a time; cached, because each of many groups needs one."""
    return pa.RecordBatch.from_pylist([], schema=pa.schema([pa.field("time", pa.int64()), *fields]))


class _Run(NamedTuple):
    """Consecutive arrivals, from number `first`."""

    first: int
    times: Int64
    columns: Sequence[pa.Array]

    def joined(self, times: Int64, columns: Sequence[pa.Array]) -> "_Run":
        """This run and the next rows, all copied: a slice would keep its whole batch alive."""
        together = [pa.concat_arrays(pair) for pair in zip(self.columns, columns, strict=True)]
        return _Run(self.first, np.concatenate([self.times, times]), together)

    def without(self, gone: int) -> "_Run":
        """This run without its first rows."""
        return _Run(self.first + gone, self.times[gone:], [column.slice(gone) for column in self.columns])


class RowStore:
    """Columns of the rows of a window, by arrival number. Memory is proportional to the window; zero without columns.

    Rows are in runs, each at least twice as long as the next: a row is copied O(log n) times for n rows, and up to 64
    times while it is among the newest. Rows added by `defer` wait, and are copied once.
    """

    def __init__(self, fields: Sequence[pa.Field]) -> None:
        nothing = _no_rows(tuple(fields))
        self._schema = nothing.schema
        self._nothing = _Run(0, np.empty(0, np.int64), nothing.columns[1:])
        self._runs: list[_Run] = []
        self._waiting: list[tuple[Int64, Sequence[pa.Array], int, int]] = []
        """Rows after those of the runs, as a range of shared columns."""
        self._rows_waiting = 0
        self._before = TIME_MIN
        """Rows before this time were forgotten while some waited."""
        self._next = 0
        """The number of the next row."""

    def update(self, times: Int64, columns: Sequence[pa.Array]) -> None:
        """Add the columns of the next rows, which arrived at these times (ascending)."""
        if not columns or not len(times):
            return
        self._settle()
        before, added = self._nothing._replace(first=self._next), len(times)
        if self._runs and len(self._runs[-1].times) < max(_SHORT, 2 * added):
            before = self._runs.pop()
        self._runs.append(before.joined(times, columns))
        self._next += added
        if len(self._runs[-1].times) < _SHORT:
            return
        while len(self._runs) > 1 and len(self._runs[-2].times) < 2 * len(self._runs[-1].times):
            last = self._runs.pop()
            self._runs[-1] = self._runs[-1].joined(last.times, last.columns)

    def defer(self, times: Int64, columns: Sequence[pa.Array], start: int, stop: int) -> None:
        """As `update`, for rows start to stop of these columns, none before a forgotten time.

        They are copied once 64 wait, or one is looked up. All of `times` and `columns` is kept until then.
        """
        self._waiting.append((times, columns, start, stop))
        self._next += stop - start
        self._rows_waiting += stop - start
        if self._rows_waiting >= _SHORT:
            self._settle()

    def _settle(self) -> None:
        """Move waiting rows to a run, then drop rows that are not needed."""
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            self._next, self._rows_waiting = self._next - self._rows_waiting, 0
            pieces = [[column[start:stop] for column in columns] for _, columns, start, stop in waiting]
            together = [pa.concat_arrays(some) for some in zip(*pieces, strict=True)]
            self.update(np.concatenate([times[start:stop] for times, _, start, stop in waiting]), together)
            self._cut(self._before)

    def lookup(self, numbers: Int64) -> list[pa.Array]:
        """The columns of these arrivals. O(m log n) for m of them."""
        self._settle()
        if len(self._schema) == 1:
            return []
        if not len(numbers):
            return list(self._nothing.columns)
        first = self._runs[0].first if self._runs else self._next
        if not first <= numbers.min() <= numbers.max() < self._next:
            raise SnapshotError("contradicts itself: the state has no name for a row in its answers")
        run = np.searchsorted([run.first for run in self._runs], numbers, side="right") - 1
        places = numbers - np.array([run.first for run in self._runs])[run]
        return take_from_runs([run.columns for run in self._runs], run, places)

    def forget(self, before: int) -> None:
        """Drop columns of rows before this time."""
        while self._runs and self._runs[0].times[-1] < before:
            del self._runs[0]
        if self._waiting:
            self._before = max(self._before, before)
        else:
            self._cut(before)

    def _cut(self, before: int) -> None:
        """As `forget`, without waiting rows."""
        while self._runs and self._runs[0].times[-1] < before:
            del self._runs[0]
        if self._runs and (gone := int(self._runs[0].times.searchsorted(before))):
            run = self._runs[0].without(gone)
            if run.columns[0].offset > len(run.times):  # most of its memory belongs to dropped rows
                run = self._nothing._replace(first=run.first).joined(run.times, run.columns)
            self._runs[0] = run

    def frame(self) -> pa.RecordBatch:
        """All rows, in one canonical form."""
        self._settle()
        runs = self._runs or [self._nothing]
        times = pa.array(np.concatenate([run.times for run in runs]))
        columns = [pa.concat_arrays(pieces) for pieces in zip(*(run.columns for run in runs), strict=True)]
        return pa.RecordBatch.from_arrays([times, *columns], schema=self._schema)

    def load_state(self, frame: pa.RecordBatch, seen: int) -> None:
        """Load the result of `frame` for this many arrivals. Raises SnapshotError if it has more."""
        column = frame.column("time")
        times = column.to_numpy(zero_copy_only=False)
        if len(frame) > seen or column.null_count or (times[1:] < times[:-1]).any():
            raise SnapshotError(f"contradicts itself: {len(frame)} names, not all in time order, for {seen} rows")
        self._next = seen
        self._runs = [_Run(seen - len(frame), times, frame.columns[1:])] if len(frame) else []
        self._waiting, self._rows_waiting, self._before = [], 0, TIME_MIN
