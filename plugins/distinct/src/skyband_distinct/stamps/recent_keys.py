"""The most recent distinct keys, which make small counts exact (the list L of the paper's Algorithm 1).

Unlike the paper's list, it accepts times in any order, looks up only rows young enough to enter, and is canonical:
it holds the `size` best by (time descending, key ascending), whatever their order of arrival.
"""

from typing import Any

import numpy as np
import skyband.kernels.numba_compiler_patches  # noqa: F401 - lets numba compile without a writable cache
from attrs import define, field, setters
from numba import njit
from skyband.arrays import TIME_MIN, Int64, UInt64
from skyband.kernels.mixing import mix

from skyband_distinct.time_order import order_by_time

_FEWEST_SLOTS = 64
_MOST_SLOTS = 8
"""The most slots for each key of the list. More slots mean fewer prunings."""
BLOCK = 64
"""Rows that are skipped together if all are below the bar."""
_NO_BAR = (TIME_MIN, 0)
_LATEST, _LARGEST = np.int64(2**63 - 1), np.uint64(2**64 - 1)


@define(eq=False, on_setattr=setters.NO_OP)
class RecentKeys:
    """The `size` most recent distinct keys. The last one only says since when the others are complete.

    They are in a hash table that holds more than `size` between prunings. No new key enters below the bar, which is the
    worst entry of the last pruning: `size` others are better, and they only get better. All further entries of the
    table are worse than `size` of its entries, so that answers depend on the rows alone.
    """

    size: int
    overflowed: bool = field(default=False, init=False)
    """Whether `size` or more distinct keys have arrived, so that some may be missing."""

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

    def add(self, times: Int64, keys: UInt64, highs: Int64 | None = None) -> None:
        """Add keys at times in any order. O(1) a row, and almost nothing for rows below the bar.

        highs: the latest time of each BLOCK of rows, if the caller has computed them.
        """
        if not len(times):
            return
        if len(self._keys) < min(len(times), 4 * self.size):
            self._widen(min(len(times), 4 * self.size))  # at once instead of step by step
        highs = block_highs(times) if highs is None else highs
        backward = times[-1] >= times[0]  # youngest first, so that the bar soon excludes the rest
        row = self._enter(times, keys, highs, backward, 0)
        while row < len(times):
            self._make_room()
            row = self._enter(times, keys, highs, backward, row)
        self.overflowed = self.overflowed or self._count >= self.size

    def entries(self) -> tuple[Int64, UInt64]:
        """The list's times and keys, by time descending, then key ascending; read-only."""
        times, keys = self.table_entries()
        if len(times) > self.size:
            time, key = self._worst(times, keys)
            best = (times > time) | ((times == time) & (keys <= key))
            times, keys = times[best], keys[best]
        order = order_by_time(~times, keys)
        return _read_only(times[order]), _read_only(keys[order])

    def table_entries(self) -> tuple[Int64, UInt64]:
        """The times and keys in the table, in any order; read-only. Until `overflowed` they are the list. O(slots)."""
        times, keys = entries_of(self._times, self._keys, self._count)
        return _read_only(times), _read_only(keys)

    def reaches_back(self, since: int) -> bool:
        """Whether fewer than `size` keys have time >= `since`, so that the list has all of them."""
        if not self.overflowed or since <= self._bar[0]:  # the bar only rises
            return not self.overflowed
        return self.count(since) < self.size

    def count(self, since: int) -> int:
        """The number of keys in the list with time >= `since`."""
        return int(np.count_nonzero(self._times >= max(since, TIME_MIN + 1)))

    def merge(self, other: "RecentKeys") -> None:
        """Become the list of both streams."""
        # Free slots included: a time of TIME_MIN never enters, and filtering them out would cost more.
        self.load(other._times, other._keys, overflowed=other.overflowed)

    def load(self, times: Int64, keys: UInt64, overflowed: bool) -> None:
        """Add all entries of a list of the same size, in any order."""
        if not self._count:
            self._widen(min(2 * len(times), _MOST_SLOTS * self.size))
        self.add(times, keys)
        self.overflowed = self.overflowed or overflowed

    def _enter(self, times: Int64, keys: UInt64, highs: Int64, backward: bool, row: int) -> int:
        time, key = np.int64(self._bar[0]), np.uint64(self._bar[1])
        row, self._count = enter(
            self._times, self._keys, self._count, self.size, time, key, times, keys, highs, backward, row
        )
        return row

    def _make_room(self) -> None:
        if len(self._keys) >= _MOST_SLOTS * self.size:
            self._prune()
            self.overflowed = True
            return
        self._widen(2 * len(self._keys))

    def _widen(self, slots: int) -> None:
        times, keys = self.table_entries()
        self._allocate(1 << (slots - 1).bit_length())
        # Without the bar, which would exclude the entry that sets it.
        time, key = np.int64(_NO_BAR[0]), np.uint64(_NO_BAR[1])
        highs = block_highs(times)
        _, self._count = enter(self._times, self._keys, 0, len(times) + 1, time, key, times, keys, highs, False, 0)

    def _prune(self) -> None:
        """Keep the best `size`; the worst of them becomes the bar. O(slots)."""
        times, keys = self.table_entries()
        time, key = self._worst(times, keys)
        self._times.fill(TIME_MIN)
        reenter(self._times, self._keys, times, keys, time, key)
        self._bar = int(time), int(key)
        self._count = self.size

    def _worst(self, times: Int64, keys: UInt64) -> tuple[Any, Any]:
        """The time and key of the worst of the best `size`. O(n)."""
        size = self.size
        # numpy selects, because numba's own partition and sort take ten seconds to compile
        time = np.partition(times, len(times) - size)[len(times) - size]
        return time, np.sort(keys[times == time])[size - 1 - np.count_nonzero(times > time)]

    def _allocate(self, slots: int) -> None:
        self._times = np.full(slots, TIME_MIN, np.int64)
        self._keys = np.zeros(slots, np.uint64)


def _read_only(values: Any) -> Any:
    """Make an array read-only like Arrow's, so that no kernel is compiled again for writable arrays."""
    values.flags.writeable = False
    return values


@njit(inline="always")
def _slot_of(held_times: Any, held_keys: Any, key: Any) -> Any:
    """The slot of a key, or the free slot where it belongs; free slots hold TIME_MIN, and at least half are free."""
    mask = np.uint64(len(held_keys) - 1)
    slot = mix(key) & mask
    while held_times[slot] != TIME_MIN and held_keys[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return slot


@njit(cache=True)
def enter(
    held_times: Any,
    held_keys: Any,
    count: int,
    size: int,
    bar_time: np.int64,
    bar_key: np.uint64,
    times: Any,
    keys: Any,
    highs: Any,
    backward: bool,
    start: int,
) -> tuple[int, int]:
    """Enter the rows from `start`, counted from the end if `backward`; returns the row without room, and the count.

    After each `size` + 1 new entries the bar is raised, for this walk only, to the lowest time among them. So an
    ordered batch that is walked backward enters little more than `size` keys.
    """
    rows = len(times)
    entered, lowest = 0, _LATEST
    row = start
    while row < rows:
        at = rows - 1 - row if backward else row
        if highs[at // BLOCK] < bar_time:
            row += at % BLOCK + 1 if backward else BLOCK - at % BLOCK
            continue
        row += 1
        time, key = times[at], keys[at]
        if time < bar_time:
            continue
        slot = _slot_of(held_times, held_keys, key)
        if held_times[slot] != TIME_MIN:
            held_times[slot] = max(held_times[slot], time)
        elif time > bar_time or key < bar_key:
            if 2 * (count + 1) > len(held_keys):
                return row - 1, count
            held_times[slot], held_keys[slot] = time, key
            count += 1
            entered += 1
            lowest = min(lowest, time)
            if entered > size:  # more than are kept, so that `overflowed` is set
                if lowest > bar_time:
                    bar_time, bar_key = lowest, _LARGEST
                entered, lowest = 0, _LATEST
    return rows, count


@njit(cache=True)
def entries_of(held_times: Any, held_keys: Any, count: int) -> tuple[Any, Any]:
    """The times and keys of a table with `count` entries, in table order."""
    times, keys, entry = np.empty(count + 1, np.int64), np.empty(count + 1, np.uint64), 0
    for slot in range(len(held_times)):  # branch-free: a processor would mispredict every other time
        times[entry], keys[entry] = held_times[slot], held_keys[slot]
        entry += held_times[slot] != TIME_MIN
    return times[:count], keys[:count]


@njit(cache=True)
def reenter(held_times: Any, held_keys: Any, times: Any, keys: Any, time: np.int64, key: np.uint64) -> None:
    """Put the entries that are as good as (time, key), or better, into an empty table."""
    for entry in range(len(times)):
        if times[entry] > time or (times[entry] == time and keys[entry] <= key):
            slot = _slot_of(held_times, held_keys, keys[entry])
            held_times[slot], held_keys[slot] = times[entry], keys[entry]


@njit(cache=True)
def block_highs(times: Any) -> Any:
    """The latest time of each block of rows."""
    highs = np.full((len(times) + BLOCK - 1) // BLOCK, TIME_MIN, np.int64)
    for block in range(len(highs)):
        high = highs[block]
        for row in range(block * BLOCK, min((block + 1) * BLOCK, len(times))):
            high = max(high, times[row])
        highs[block] = high
    return highs
