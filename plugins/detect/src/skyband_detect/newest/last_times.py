"""Keys with the time of each one's last row: which rows find their key unseen, or far enough from its last one."""

import numpy as np
from skyband.arrays import TIME_MIN, Array, Int64, UInt64

from skyband_detect.newest.last_times_kernels import enter_spaced, enter_unseen, move

_FEWEST = 8


class LastTimes:
    """A table of keys, which forgets those from before a time when it is full."""

    def __init__(self) -> None:
        self._table = _free(_FEWEST)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        """Bytes of the table."""
        return self._table.nbytes

    def unseen(self, times: Int64, keys: UInt64, windows: Int64, longest: int) -> tuple[Int64, Int64]:
        """Enter rows; int64[c] each: rows whose key had none in the window before, and the window's place.

        The first row of a key at a time counts. Keys without a row in `longest` are forgotten.
        """
        crossings, crossed, row = np.empty((len(windows) + 1024, 2), np.int64), 0, 0
        while True:
            row, self._count, crossed = enter_unseen(
                self._table, self._count, times, keys, row, windows, crossings, crossed
            )
            if row == len(times):
                return crossings[:crossed, 0].copy(), crossings[:crossed, 1].copy()
            if crossed + len(windows) > len(crossings):
                crossings = np.concatenate([crossings, np.empty_like(crossings)])
            else:
                self._make_room(int(times[row]) - longest)

    def spaced(self, times: Int64, keys: UInt64, apart: int) -> Array:
        """bool[n]: the rows that are at least `apart` after their key's last such row; these are entered."""
        result, row = np.zeros(len(times), np.bool_), 0
        while True:
            row, self._count = enter_spaced(self._table, self._count, times, keys, row, apart, result)
            if row == len(times):
                return result
            self._make_room(int(times[row]) - apart + 1)

    def entries(self, since: int) -> tuple[UInt64, Int64]:
        """The keys with a time from `since` on, ascending, and their times."""
        rows = self._table[self._table[:, 1] >= max(since, TIME_MIN + 1)]
        keys = np.ascontiguousarray(rows[:, 0]).view(np.uint64)
        order = np.argsort(keys)
        return keys[order], rows[order, 1]

    def load(self, keys: UInt64, times: Int64) -> None:
        """Hold these keys, all different, and no others."""
        table = _free(2 * len(keys))
        entries = _free(0, exactly=len(keys))
        entries[:, 0], entries[:, 1] = keys.view(np.int64), times
        self._table, self._count = table, move(entries, table, TIME_MIN)

    def _make_room(self, since: int) -> None:
        """Forget keys from before a time; if most remain, take twice the room."""
        remaining = int(np.count_nonzero(self._table[:, 1] >= max(since, TIME_MIN + 1)))
        table = _free(2 * max(remaining, _FEWEST // 2))
        self._count, self._table = move(self._table, table, since), table


def _free(keys: int, exactly: int | None = None) -> Int64:
    """An empty table with room for this many keys; or this number of slots."""
    slots = _FEWEST
    while 5 * slots < 8 * keys:
        slots *= 2
    table = np.zeros((slots if exactly is None else exactly, 2), np.int64)
    table[:, 1] = TIME_MIN
    return table
