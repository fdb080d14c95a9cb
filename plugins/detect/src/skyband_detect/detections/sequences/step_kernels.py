"""Compiled tables of keys with a time for each step of a sequence.

int64[slots, 2 + n]: a key's bits, its newest time, and n times. In order, the i-th is the latest first step of any
match of the steps 1 to i: the latest start dominates all others, so n times a key are enough. In any order, it is the
newest time of step i. A slot whose newest time is NEVER is free; at most five slots in eight are taken.
"""

from typing import Any, NamedTuple

import numpy as np
from skyband.arrays import TIME_MIN, Array, Int64, UInt64
from skyband.kernels.mixing import mix
from skyband.kernels.nested import kernel_njit, nested_njit

NEVER = TIME_MIN
KEY, NEWEST, FIRST = range(3)
"""The columns of the table: a key's bits, its newest time, and the time of the first step."""
_1 = np.uint64(1)


class StepAsks(NamedTuple):
    """int64[a] windows, and bool[a], whether each time at which a sequence is complete counts."""

    windows: Int64
    each: Array


@nested_njit
def slot_of(table: Int64, key: Any) -> Any:
    """The slot of a key (uint64), or the free slot where it belongs."""
    mask, bits = np.uint64(len(table) - 1), np.int64(key)
    slot = mix(key) & mask
    while table[slot, NEWEST] != NEVER and table[slot, KEY] != bits:
        slot = (slot + _1) & mask
    return slot


@nested_njit
def write(completed: Int64, count: int, row: int, ask: int, length: int) -> int:
    """Write that a row completes a sequence, and how long this took; returns how many there are."""
    completed[count, 0], completed[count, 1], completed[count, 2] = row, ask, length
    return count + 1


@kernel_njit
def push_in_order(  # noqa: C901 - a numeric kernel is one loop
    table: Int64, count: int, times: Int64, keys: UInt64, steps: Int64, start: int, asks: StepAsks, completed: Int64,
    hits: int,
) -> tuple[int, int, int]:  # fmt: skip
    """Enter that rows are a step, by time, and those of one time by key, from entry `start` on.

    Writes the rows that complete a sequence, `hits` of them there already. Returns the first entry without room, or
    the number of entries; the number of keys; and that of rows written. O(steps + asks) for each key and time.
    """
    last, stop = table.shape[1] - 1, start
    while stop < len(times):
        begin, time, key, mask, final = stop, times[stop], keys[stop], 0, -1
        while stop < len(times) and times[stop] == time and keys[stop] == key:
            mask |= 1 << steps[stop]
            if steps[stop] == last - FIRST and final < 0:
                final = stop
            stop += 1
        slot = slot_of(table, key)
        if hits + len(asks.windows) > len(completed):
            return begin, count, hits
        if table[slot, NEWEST] == NEVER:
            if not mask & 1:
                continue
            if 8 * (count + 1) > 5 * len(table):
                return begin, count, hits
            count += 1
            table[slot, KEY] = np.int64(key)
        if final >= 0:
            began, before = table[slot, last - 1], table[slot, last]
            for ask in range(len(asks.windows)):
                old = time - asks.windows[ask]
                if began > old and (asks.each[ask] or before <= old):
                    hits = write(completed, hits, final, ask, time - began)
        for place in range(last, FIRST, -1):
            if mask >> (place - FIRST) & 1:
                table[slot, place] = table[slot, place - 1]
        if mask & 1:
            table[slot, FIRST] = table[slot, NEWEST] = time
    return stop, count, hits


@nested_njit
def oldest_of(table: Int64, slot: Any, time: int, mask: int) -> int:
    """The oldest time of a key's steps, when those of `mask` have happened at `time`."""
    oldest = time
    for place in range(FIRST, table.shape[1]):
        if not mask >> (place - FIRST) & 1 and table[slot, place] < oldest:
            oldest = table[slot, place]
    return oldest


@kernel_njit
def push_in_any_order(  # noqa: C901 - a numeric kernel is one loop
    table: Int64, count: int, times: Int64, keys: UInt64, steps: Int64, start: int, asks: StepAsks, completed: Int64,
    hits: int,
) -> tuple[int, int, int]:  # fmt: skip
    """As `push_in_order`; a sequence is complete when all steps have happened in the window."""
    stop = start
    while stop < len(times):
        begin, time, key = stop, times[stop], keys[stop]
        slot = slot_of(table, key)
        if hits + len(asks.windows) > len(completed):
            return begin, count, hits
        if table[slot, NEWEST] == NEVER:
            if 8 * (count + 1) > 5 * len(table):
                return begin, count, hits
            count += 1
            table[slot, KEY] = np.int64(key)
        first, mask = hits, 0
        for ask in range(len(asks.windows)):
            if asks.each[ask] and oldest_of(table, slot, time, 0) > time - asks.windows[ask]:
                hits = write(completed, hits, begin, ask, 0)
        while stop < len(times) and times[stop] == time and keys[stop] == key:
            more = mask | 1 << steps[stop]
            for ask in range(len(asks.windows)):
                old = time - asks.windows[ask]
                if oldest_of(table, slot, time, mask) <= old < oldest_of(table, slot, time, more):
                    hits = write(completed, hits, stop, ask, 0)
            mask = more
            stop += 1
        for entry in range(first, hits):
            completed[entry, 2] = time - oldest_of(table, slot, time, mask)
        for place in range(FIRST, table.shape[1]):
            if mask >> (place - FIRST) & 1:
                table[slot, place] = time
        table[slot, NEWEST] = time
    return stop, count, hits


@kernel_njit
def move(table: Int64, into: Int64, since: int) -> int:
    """Copy the keys with a time from `since` on into an empty table; returns their number."""
    count = 0
    for old in range(len(table)):
        if table[old, NEWEST] != NEVER and table[old, NEWEST] >= since:
            slot = slot_of(into, np.uint64(table[old, KEY]))
            for place in range(table.shape[1]):
                into[slot, place] = table[old, place]
            count += 1
    return count
