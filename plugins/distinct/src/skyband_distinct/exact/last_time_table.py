"""A compiled hash table from key to last time: int64[slots, 2], with a key's bits and its last time.

If keys have values it is int64[slots, 3], with the bits of a key's latest value (`latest_values.to_bits`). If the last
f sightings of keys are kept it is int64[slots, 1 + f], with a key's earlier times, descending, then TIME_MIN.

Free slots have the time TIME_MIN. The number of slots is a power of two, and at most five in eight are filled.
"""

from typing import Any

import numpy as np
import skyband.kernels.numba_compiler_patches  # noqa: F401 - lets numba compile without a writable cache
from numba import njit
from skyband.arrays import TIME_MIN, Int64
from skyband.kernels.mixing import mix

_FEWEST_SLOTS = 16
_1 = np.uint64(1)


def free_table(keys: int, columns: int = 2) -> Int64:
    """An empty table with room for `keys` keys, and for at most twice as many."""
    slots = _FEWEST_SLOTS
    while 5 * slots < 8 * keys:
        slots *= 2
    table = np.zeros((slots, columns), np.int64)
    table[:, 1] = TIME_MIN
    return table


@njit(inline="always")
def _slot_of(table: Any, key: Any) -> Any:
    """The slot of a key, or the free slot where it belongs."""
    mask = np.uint64(len(table) - 1)
    slot = mix(np.uint64(key)) & mask
    while table[slot, 1] != TIME_MIN and table[slot, 0] != key:
        slot = (slot + _1) & mask
    return slot


@njit(cache=True)
def enter_last(
    table: Any, count: int, log: Any, logged: int, times: Any, keys: Any, floor: int, start: int
) -> tuple[int, int, int]:
    """Raise the last times of the rows' keys, from row `start` on, skipping rows older than `floor`.

    log: int64[most, 2], receives each change: the previous last time (TIME_MIN for a new key) and the new one.
    Returns the first row without room in the table, or the number of rows; the number of keys; and the length that
    the log has or would need. O(1) expected a row.
    """
    for row in range(start, len(keys)):
        time = times[row]
        if time < floor:
            continue
        key = np.int64(keys[row])
        slot = _slot_of(table, key)
        before = table[slot, 1]
        if before >= time:
            continue
        if before == TIME_MIN:
            if 8 * (count + 1) > 5 * len(table):
                return row, count, logged
            count += 1
            table[slot, 0] = key
        table[slot, 1] = time
        if logged < len(log):
            log[logged, 0], log[logged, 1] = before, time
        logged += 1
    return len(keys), count, logged


@njit(cache=True)
def enter_latest(
    table: Any, count: int, log: Any, logged: int, times: Any, keys: Any, values: Any, floor: int, start: int
) -> tuple[int, int, int]:
    """Like `enter_last`, with values (int64[n]): a key keeps its last row's, the largest if times are equal."""
    for row in range(start, len(keys)):
        time = times[row]
        if time < floor:
            continue
        key = np.int64(keys[row])
        slot = _slot_of(table, key)
        before = table[slot, 1]
        if before > time:
            continue
        if before == time:
            table[slot, 2] = max(table[slot, 2], values[row])
            continue
        if before == TIME_MIN:
            if 8 * (count + 1) > 5 * len(table):
                return row, count, logged
            count += 1
            table[slot, 0] = key
        table[slot, 1], table[slot, 2] = time, values[row]
        if logged < len(log):
            log[logged, 0], log[logged, 1] = before, time
        logged += 1
    return len(keys), count, logged


@njit(cache=True)
def enter_sightings(
    table: Any, count: int, log: Any, logged: int, times: Any, keys: Any, floor: int, start: int
) -> tuple[int, int, int]:
    """Like `enter_last`; a key keeps as many of its last times as there are columns for. O(columns) expected a row."""
    for row in range(start, len(keys)):
        time = times[row]
        if time < floor:
            continue
        key = np.int64(keys[row])
        slot = _slot_of(table, key)
        before = table[slot, 1]
        if before == TIME_MIN:
            if 8 * (count + 1) > 5 * len(table):
                return row, count, logged
            count += 1
            table[slot, 0] = key
            for column in range(1, table.shape[1]):
                table[slot, column] = TIME_MIN
        if time > before:
            if logged < len(log):
                log[logged, 0], log[logged, 1] = before, time
            logged += 1
        for column in range(1, table.shape[1]):
            if time > table[slot, column]:
                time, table[slot, column] = table[slot, column], time
    return len(keys), count, logged


@njit(cache=True)
def numbers_since(table: Any, since: int) -> Any:
    """int64[f]: how many keys have one time >= `since`, two and so on, and in the last place all f columns of them."""
    numbers = np.zeros(table.shape[1], np.int64)
    for slot in range(len(table)):
        number = 0
        while number < len(numbers) - 1 and table[slot, number + 1] >= since:
            number += 1
        numbers[number] += 1
    return numbers[1:]


@njit(cache=True)
def entries_since(table: Any, floor: int, count: int) -> Any:
    """int64[columns, n]: the entries of `count` keys whose last time is >= `floor`, in table order. O(slots)."""
    entries, entry = np.empty((table.shape[1], count + 1), np.int64), 0
    for slot in range(len(table)):  # branch-free: a processor would mispredict every other time
        for column in range(table.shape[1]):
            entries[column, entry] = table[slot, column]
        entry += table[slot, 1] >= floor
    return entries[:, :entry]


@njit(cache=True)
def move(table: Any, into: Any, floor: int) -> int:
    """Copy the keys whose last time is >= `floor` into an empty table; returns their number."""
    count = 0
    for old in range(len(table)):
        if table[old, 1] != TIME_MIN and table[old, 1] >= floor:
            slot = _slot_of(into, table[old, 0])
            for column in range(table.shape[1]):
                into[slot, column] = table[old, column]
            count += 1
    return count
