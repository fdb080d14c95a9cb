"""Compiled tables of keys with one time each: int64[slots, 2], a key's bits and its time.

Free slots have the time TIME_MIN. The number of slots is a power of two, and at most five in eight are taken.
"""

from typing import Any

import numpy as np
from skyband.arrays import TIME_MIN, Array, Int64, UInt64
from skyband.kernels.mixing import mix
from skyband.kernels.nested import kernel_njit, nested_njit

_1 = np.uint64(1)


@nested_njit
def slot_of(table: Int64, key: Any) -> Any:
    """The slot of a key (uint64), or the free slot where it belongs."""
    mask, bits = np.uint64(len(table) - 1), np.int64(key)
    slot = mix(key) & mask
    while table[slot, 1] != TIME_MIN and table[slot, 0] != bits:
        slot = (slot + _1) & mask
    return slot


@kernel_njit
def enter_unseen(
    table: Int64, count: int, times: Int64, keys: UInt64, start: int, windows: Int64, crossings: Int64, crossed: int
) -> tuple[int, int, int]:
    """Enter rows in order of time, from row `start` on, and write those whose key was unseen for each window.

    crossings: int64[m, 2], a row and a window each, with `crossed` of them there. Returns the first row without room
    in the table or for its crossings, or the number of rows; the number of keys; and that of crossings.
    """
    for row in range(start, len(times)):
        if crossed + len(windows) > len(crossings):
            return row, count, crossed
        time = times[row]
        slot = slot_of(table, keys[row])
        before = table[slot, 1]
        if before == time:
            continue
        if before == TIME_MIN:
            if 8 * (count + 1) > 5 * len(table):
                return row, count, crossed
            count += 1
            table[slot, 0] = np.int64(keys[row])
        table[slot, 1] = time
        for window in range(len(windows)):
            if before == TIME_MIN or before < time - windows[window]:
                crossings[crossed, 0], crossings[crossed, 1] = row, window
                crossed += 1
    return len(times), count, crossed


@kernel_njit
def enter_spaced(
    table: Int64, count: int, times: Int64, keys: UInt64, start: int, apart: int, spaced: Array
) -> tuple[int, int]:
    """Enter rows in order of time that are at least `apart` after the last one entered of their key.

    spaced: bool[n], set for these rows. Returns as `enter_unseen` does.
    """
    for row in range(start, len(times)):
        slot = slot_of(table, keys[row])
        before = table[slot, 1]
        if before != TIME_MIN and before > times[row] - apart:
            continue
        if before == TIME_MIN:
            if 8 * (count + 1) > 5 * len(table):
                return row, count
            count += 1
            table[slot, 0] = np.int64(keys[row])
        table[slot, 1] = times[row]
        spaced[row] = True
    return len(times), count


@kernel_njit
def move(table: Int64, into: Int64, since: int) -> int:
    """Copy the keys with a time from `since` on into an empty table; returns their number."""
    count = 0
    for old in range(len(table)):
        if table[old, 1] != TIME_MIN and table[old, 1] >= since:
            slot = slot_of(into, np.uint64(table[old, 0]))
            into[slot, 0], into[slot, 1] = table[old, 0], table[old, 1]
            count += 1
    return count
