# mypy: disable-error-code="untyped-decorator"
"""The most recent distinct keys, which make small counts exact (the list L of the paper's Algorithm 1).

Unlike the paper's, the list takes times in any order, costs a table look-up only for rows young enough to enter,
and is canonical: the `size` best by (time descending, key ascending), however they arrived.
"""

from typing import Any

import numpy as np
from attrs import define, field
from numba import njit
from skyband.arrays import Int64, UInt64
from skyband.roles.sketch import NEVER

from skyband_distinct.mixing import mix

_FEWEST_SLOTS = 64
_NO_BAR = (NEVER, 0)


@define(eq=False)
class Recent:
    """The `size` most recent distinct keys.

    They sit in a hash table that holds more than `size` between prunings. Below the bar, the worst entry of the
    last pruning, nothing enters that is not there already: `size` others are better, and they only get better.
    """

    size: int
    overflowed: bool = field(default=False, init=False)
    """Whether there have been more than `size` distinct keys, so that some have been left out."""

    _keys: UInt64 = field(init=False)
    _times: Int64 = field(init=False)
    _count: int = field(default=0, init=False)
    _bar: tuple[int, int] = field(default=_NO_BAR, init=False)

    def __attrs_post_init__(self) -> None:
        self._allocate(_FEWEST_SLOTS)

    def __len__(self) -> int:
        return min(self._count, self.size)

    @property
    def nbytes(self) -> int:
        """Bytes of the hash table."""
        return self._keys.nbytes + self._times.nbytes

    def add(self, times: Int64, keys: UInt64) -> None:
        """Take in keys at times, in any order. O(1) a row, and hardly anything a row below the bar."""
        if not len(times):
            return
        backward = times[-1] >= times[0]  # youngest first: the bar soon keeps out all the rest
        row = self._enter(times, keys, backward, 0)
        while row < len(times):
            self._make_room()
            row = self._enter(times, keys, backward, row)
        self.overflowed = self.overflowed or self._count > self.size

    def entries(self) -> tuple[Int64, UInt64]:
        """The list's times and keys, by time descending, then key ascending."""
        self._settle()
        times, keys = self._filled()
        order = np.lexsort((keys, ~times))
        return times[order], keys[order]

    def knows(self, since: int) -> bool:
        """Whether no key with time >= `since` has been left out."""
        self._settle()
        return not self.overflowed or since > self._bar[0]

    def count(self, since: int) -> int:
        """Keys in the list with time >= `since`."""
        return int(np.count_nonzero(self._times >= max(since, NEVER + 1)))

    def merge(self, other: "Recent") -> None:
        """Become the list of both streams."""
        self.load(*other.entries(), overflowed=other.overflowed)

    def load(self, times: Int64, keys: UInt64, overflowed: bool) -> None:
        """Take in the `entries` of a list of the same size."""
        self.add(times, keys)
        self.overflowed = self.overflowed or overflowed
        if self.overflowed:
            self._prune()

    def _enter(self, times: Int64, keys: UInt64, backward: bool, row: int) -> int:
        time, key = np.int64(self._bar[0]), np.uint64(self._bar[1])
        row, self._count = enter(self._times, self._keys, self._count, time, key, times, keys, backward, row)
        return row

    def _settle(self) -> None:
        if self._count > self.size:
            self._prune()

    def _make_room(self) -> None:
        if len(self._keys) >= 4 * self.size:
            self._prune()
            self.overflowed = True
            return
        times, keys = self._filled()
        self._allocate(2 * len(self._keys))
        enter(self._times, self._keys, 0, np.int64(_NO_BAR[0]), np.uint64(_NO_BAR[1]), times, keys, False, 0)

    def _prune(self) -> None:
        time, key = keep_best(self._times, self._keys, self.size)
        self._bar, self._count = (int(time), int(key)), self.size

    def _filled(self) -> tuple[Int64, UInt64]:
        filled = self._times != NEVER
        return self._times[filled], self._keys[filled]

    def _allocate(self, slots: int) -> None:
        self._times = np.full(slots, NEVER, np.int64)
        self._keys = np.zeros(slots, np.uint64)


@njit(cache=True)
def enter(
    held_times: Any,
    held_keys: Any,
    count: int,
    bar_time: np.int64,
    bar_key: np.uint64,
    times: Any,
    keys: Any,
    backward: bool,
    start: int,
) -> tuple[int, int]:
    """Enter the rows from `start`, counted from the end if `backward`; returns the row that has no room, and the count.

    held_times: int64[power of two], NEVER where a slot is free; at most half of the slots are filled.
    """
    mask = np.uint64(len(held_keys) - 1)
    rows = len(times)
    for row in range(start, rows):
        at = rows - 1 - row if backward else row
        time = times[at]
        if time < bar_time:
            continue
        key = keys[at]
        slot = mix(key) & mask
        while held_times[slot] != NEVER and held_keys[slot] != key:
            slot = (slot + np.uint64(1)) & mask
        if held_times[slot] != NEVER:
            held_times[slot] = max(held_times[slot], time)
        elif time > bar_time or key < bar_key:
            if 2 * (count + 1) > len(held_keys):
                return row, count
            held_times[slot], held_keys[slot] = time, key
            count += 1
    return rows, count


@njit(cache=True)
def keep_best(held_times: Any, held_keys: Any, size: int) -> tuple[np.int64, np.uint64]:
    """Keep the `size` best entries by (time descending, key ascending); returns the worst of them. O(slots).

    Needs at least `size` entries in the table.
    """
    filled = held_times != NEVER
    times, keys = held_times[filled], held_keys[filled]
    bar_time = np.partition(times, len(times) - size)[len(times) - size]
    tied = np.sort(keys[times == bar_time])
    bar_key = tied[size - np.count_nonzero(times > bar_time) - 1]
    held_times[:] = NEVER
    mask = np.uint64(len(held_keys) - 1)
    for entry in range(len(times)):
        time, key = times[entry], keys[entry]
        if time < bar_time or (time == bar_time and key > bar_key):
            continue
        slot = mix(key) & mask
        while held_times[slot] != NEVER:
            slot = (slot + np.uint64(1)) & mask
        held_times[slot], held_keys[slot] = time, key
    return bar_time, bar_key
