"""Keys with a time for each step of a sequence: which rows complete it."""

from typing import NamedTuple

import numpy as np
from skyband.arrays import Array, Int64, UInt64, read_only

from skyband_detect.detections.sequences.step_kernels import (
    FIRST,
    KEY,
    NEVER,
    NEWEST,
    StepAsks,
    move,
    push_in_any_order,
    push_in_order,
)

_FEWEST = 8


class Completed(NamedTuple):
    """The rows that complete a sequence, in order of row, then window."""

    rows: Int64
    asks: Int64
    """int64[c]: places in the batch, and in the list of windows."""
    lengths: Int64
    """int64[c]: the time from the first step to the row."""


class StepTimes:
    """A table of keys with a time for each step, which forgets those before a time when it is full."""

    def __init__(self, steps: int, any_order: bool) -> None:
        self._steps, self._push = steps, push_in_any_order if any_order else push_in_order
        self._table = self._free(_FEWEST)
        self._count = 0

    @property
    def nbytes(self) -> int:
        """Bytes of the table."""
        return self._table.nbytes

    def update(self, times: Int64, keys: UInt64, steps: Int64, windows: Int64, each: Array, longest: int) -> Completed:
        """Enter that rows are a step, by time, and those of one time by key. Forgets what is older than `longest`."""
        entries, asks = tuple(map(read_only, (times, keys, steps))), StepAsks(read_only(windows), read_only(each))
        completed, start, hits = np.empty((len(windows) + 1024, 3), np.int64), 0, 0
        while True:
            start, self._count, hits = self._push(self._table, self._count, *entries, start, asks, completed, hits)
            if start == len(times):
                break
            if hits + len(windows) > len(completed):
                completed = np.concatenate([completed, np.empty_like(completed)])
            else:
                self._make_room(int(times[start]) - longest + 1)
        rows, asks, lengths = completed[np.lexsort((completed[:hits, 1], completed[:hits, 0]))].T
        return Completed(*map(np.ascontiguousarray, (rows, asks, lengths)))

    def entries(self, since: int) -> tuple[UInt64, Int64]:
        """uint64[k]: the keys with a time from `since` on, ascending; int64[k, n]: these times, NEVER for others."""
        rows = self._table[self._table[:, NEWEST] >= max(since, NEVER + 1)]
        keys = np.ascontiguousarray(rows[:, KEY]).view(np.uint64)
        order = np.argsort(keys)
        times = rows[order, FIRST:]
        return keys[order], np.where(times >= since, times, NEVER)

    def load(self, keys: UInt64, times: Int64) -> None:
        """Hold these keys, all different, with times as `entries` has them, and no others."""
        entries = np.column_stack([keys.view(np.int64), times.max(axis=1, initial=NEVER), times])
        table = self._free(2 * len(keys))
        self._table, self._count = table, move(np.ascontiguousarray(entries), table, NEVER)

    def _make_room(self, since: int) -> None:
        """Forget keys from before a time; if most remain, take twice the room."""
        remaining = int(np.count_nonzero(self._table[:, NEWEST] >= max(since, NEVER + 1)))
        table = self._free(2 * max(remaining, _FEWEST // 2))
        self._count, self._table = move(self._table, table, since), table

    def _free(self, keys: int) -> Int64:
        """An empty table with room for this many keys."""
        slots = _FEWEST
        while 5 * slots < 8 * keys:
            slots *= 2
        return np.full((slots, FIRST + self._steps), NEVER, np.int64)
