"""The stamps of a table with few keys: a hash table of the filled cells only."""

from typing import Any

import numpy as np
import skyband.kernels.numba_compiler_patches  # noqa: F401 - lets numba compile without a writable cache
from attrs import define, field
from numba import njit
from skyband.arrays import TIME_MIN, Int64, UInt64
from skyband.kernels.mixing import GAMMA, mix

from skyband_distinct.stamps.likelihood_formula import LEVELS
from skyband_distinct.stamps.recent_keys import BLOCK
from skyband_distinct.stamps.stamping import LAST_LEVEL, bits_set, zeros_below

_FEWEST_SLOTS = 256
_LANES = 4
"""The number of slots is a multiple of it."""
_1, _32, _56, _LOW = np.uint64(1), np.uint64(32), np.uint64(56), np.uint64(0xFFFFFFFF)


@define(eq=False)
class FewStamps:
    """The youngest time of every filled cell, at most `most`, a power of two. O(1) a key."""

    most: int
    slots: Int64 = field(init=False)
    """int64[slots, 2]: cells and their times, TIME_MIN in free slots; at most half are filled."""
    count: int = field(default=0, init=False)
    """The number of filled cells."""

    def __attrs_post_init__(self) -> None:
        self._allocate(0)

    def stamp(self, arrays: int, times: Int64, keys: UInt64, salt: Any, highs: Int64) -> int:
        """Stamp one cell for each key, in a table of this many arrays, and write `highs` as `stamping.stamp_one` does.

        Returns the number of rows that had room, in whole blocks; the next block may have stamped some cells already.
        """
        row = 0
        if len(keys):
            self._begin()
        while True:
            row, self.count = stamp_few(self.slots, self.count, np.uint64(arrays), times, keys, salt, highs, row)
            if row == len(keys) or not self._widen():
                return row

    def enter(self, cells: Int64, times: Int64) -> bool:
        """Stamp these cells; returns whether there was room for all."""
        entry = 0
        if len(cells) and not len(self.slots):  # a loaded table gets room for all cells at once
            self._allocate(_slots_for(min(len(cells), self.most)))
        elif len(cells):
            self._begin()
        while True:
            entry, self.count = enter_few(self.slots, self.count, cells, times, entry)
            if entry == len(cells) or not self._widen():
                return bool(entry == len(cells))

    def forget(self, before: int) -> None:
        """Drop the cells older than a moment, once the table is three quarters full. O(cells) then, else O(1).

        When this happens depends only on the cells, so that a restored table forgets at the same time.
        """
        if 8 * self.count < 3 * len(self.slots) or not self.count:
            return
        self.count -= forget_few(self.slots, max(before, TIME_MIN + 1))
        slots = _slots_for(self.count) if self.count else 0
        if slots < len(self.slots):
            self._rehash(slots)

    def filled(self) -> tuple[Int64, Int64]:
        """The filled cells, ascending, and their times. O(slots + largest cell / 64)."""
        filled: tuple[Int64, Int64] = filled_few(self.slots, self.count)
        return filled

    def filled_since(self, since: int, arrays: int) -> Int64:
        """int64[levels reached]: the number of cells of each level stamped at `since` or later. O(slots)."""
        counts = np.zeros(LEVELS, np.int64)
        return counts[: count_few(self.slots, max(since, TIME_MIN + 1), np.uint64(arrays), counts)]

    def _begin(self) -> None:
        if not len(self.slots):
            self._allocate(_FEWEST_SLOTS)

    def _widen(self) -> bool:
        """Double the slots; returns False if there are already as many as allowed."""
        if len(self.slots) >= 2 * self.most:
            return False
        self._rehash(2 * len(self.slots))
        return True

    def _rehash(self, slots: int) -> None:
        """Move the cells to a table with this many slots."""
        former = self.slots
        self._allocate(slots)
        rehash_few(former, self.slots)

    def _allocate(self, slots: int) -> None:
        self.slots = np.full((slots, 2), TIME_MIN, np.int64)


def _slots_for(cells: int) -> int:
    """The slots of a table of `cells` cells, at least one."""
    return max(_FEWEST_SLOTS, 1 << (2 * cells - 1).bit_length())


@njit(inline="always")
def _slot_of(slots: Any, cell: np.uint64) -> Any:
    """The slot of a cell, or the free slot where it belongs. The slots are a power of two, at most half filled."""
    mask = np.uint64(len(slots) - 1)
    slot = ((cell * GAMMA) >> _32) & mask
    while slots[slot, 1] != TIME_MIN and slots[slot, 0] != np.int64(cell):
        slot = (slot + np.uint64(1)) & mask
    return slot


@njit(cache=True)
def stamp_few(
    slots: Any, count: int, arrays: np.uint64, times: Any, keys: Any, salt: np.uint64, highs: Any, start: int
) -> tuple[int, int]:
    """Stamp the rows from `start`, a block's first row; returns the first block without room, and the count."""
    cells = np.empty(BLOCK, np.uint64)
    arrays = arrays & _LOW
    for first in range(start, len(keys), BLOCK):
        block = min(BLOCK, len(keys) - first)
        high = times[first]
        # This loop is vectorised, as in stamp_one.
        for row in range(block):
            word = mix(keys[first + row] ^ salt)
            cells[row] = bits_set(zeros_below(word | LAST_LEVEL)) * arrays + (((word >> _32) * arrays) >> _32)
            high = max(high, times[first + row])
        highs[first // BLOCK] = high
        for row in range(block):
            slot = _slot_of(slots, cells[row])
            if slots[slot, 1] == TIME_MIN:
                if 2 * (count + 1) > len(slots):
                    return first, count
                slots[slot, 0] = np.int64(cells[row])
                count += 1
            slots[slot, 1] = max(slots[slot, 1], times[first + row])
    return len(keys), count


@njit(cache=True)
def enter_few(slots: Any, count: int, cells: Any, times: Any, start: int) -> tuple[int, int]:
    """Stamp the cells from `start` with their times; returns the first entry without room, and the count."""
    for entry in range(start, len(cells)):
        slot = _slot_of(slots, np.uint64(cells[entry]))
        if slots[slot, 1] == TIME_MIN:
            if 2 * (count + 1) > len(slots):
                return entry, count
            slots[slot, 0] = cells[entry]
            count += 1
        slots[slot, 1] = max(slots[slot, 1], times[entry])
    return len(cells), count


@njit(cache=True)
def rehash_few(former: Any, slots: Any) -> None:
    """Copy all cells into a table of free slots."""
    for entry in range(len(former)):
        if former[entry, 1] != TIME_MIN:
            slot = _slot_of(slots, np.uint64(former[entry, 0]))
            slots[slot, 0], slots[slot, 1] = former[entry, 0], former[entry, 1]


@njit(cache=True)
def forget_few(slots: Any, before: int) -> int:
    """Free the slots of cells older than a moment; returns their number."""
    mask, first = len(slots) - 1, 0
    while slots[first, 1] != TIME_MIN:
        first += 1
    old, count = np.empty(len(slots) // 2 + 1, np.int64), 0
    for step in range(len(slots)):  # branch-free: a processor would mispredict every other time
        entry = (first + step) & mask
        old[count] = entry
        count += (slots[entry, 1] < before) & (slots[entry, 1] != TIME_MIN)
    for place in range(count - 1, -1, -1):  # from the end: the cells that move up are behind, where none is old
        _free(slots, old[place])
    return count


@njit(inline="always")
def _free(slots: Any, hole: int) -> None:
    """Free a slot and move up the cells behind it whose home slot is there or earlier."""
    mask = len(slots) - 1
    entry = (hole + 1) & mask
    while slots[entry, 1] != TIME_MIN:
        home = np.int64(((np.uint64(slots[entry, 0]) * GAMMA) >> _32) & np.uint64(mask))
        if ((entry - home) & mask) >= ((entry - hole) & mask):
            slots[hole, 0], slots[hole, 1] = slots[entry, 0], slots[entry, 1]
            hole = entry
        entry = (entry + 1) & mask
    slots[hole, 1] = TIME_MIN


@njit(cache=True)
def filled_few(slots: Any, count: int) -> tuple[Any, Any]:
    """The filled cells, ascending, and their times. A bitmap counts the lower cells, which is a cell's place."""
    cells, times = np.empty(count + 1, np.int64), np.empty(count + 1, np.int64)
    entry, largest = 0, np.int64(-1)
    for slot in range(len(slots)):  # branch-free, as above
        cells[entry], times[entry] = slots[slot, 0], slots[slot, 1]
        entry += slots[slot, 1] != TIME_MIN
    for entry in range(count):
        largest = max(largest, cells[entry])
    bits, lower = np.zeros(largest // 64 + 1, np.uint64), np.zeros(largest // 64 + 1, np.int64)
    for entry in range(count):
        bits[cells[entry] >> 6] |= _1 << np.uint64(cells[entry] & 63)
    for word in range(1, len(bits)):
        lower[word] = lower[word - 1] + np.int64(bits_set(bits[word - 1]))
    ordered_cells, ordered_times = np.empty(count, np.int64), np.empty(count, np.int64)
    for entry in range(count):
        cell = cells[entry]
        below = bits[cell >> 6] & ((_1 << np.uint64(cell & 63)) - _1)
        place = lower[cell >> 6] + np.int64(bits_set(below))
        ordered_cells[place], ordered_times[place] = cell, times[entry]
    return ordered_cells, ordered_times


@njit(cache=True)
def count_few(slots: Any, since: int, arrays: np.uint64, counts: Any) -> int:
    """Count the cells of each level stamped at `since` or later; returns the number of levels reached.

    The loop has no branch on a slot's content, which a processor would mispredict every other time: a free slot has an
    arbitrary level and counts nothing. Half of all cells are in one level, so neighbouring slots count in separate
    lanes, instead of waiting for the number that was just written.
    """
    reached, share, last = np.int64(-1), (_1 << _56) // arrays + _1, np.uint64(LEVELS - 1)
    lanes = np.zeros((_LANES, LEVELS), np.int64)
    for first in range(0, len(slots), _LANES):
        for lane in range(_LANES):
            cell, time = slots[first + lane, 0], slots[first + lane, 1]
            # cell // arrays: this multiplication is exact for cells below 2^30
            level = np.int64(((np.uint64(cell) * share) >> _56) & last)
            lanes[lane, level] += time >= since
            reached = max(reached, level if time != TIME_MIN else np.int64(-1))
    for lane in range(_LANES):
        for place in range(LEVELS):
            counts[place] += lanes[lane, place]
    return int(reached) + 1
