"""Numbers the groups of rows and gathers each group's rows, in a fifth of the time of a stable sort by group.

The first call on a machine compiles for a second; the first call of a process loads the result in milliseconds.
"""

from typing import Any

import numpy as np

from skyband.arrays import Array, Int64, UInt64, read_only
from skyband.kernels.nested import kernel_njit, nested_njit

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_BITS = 10
"""The number of bits of a group table's initial size; it always has at least twice as many places as groups."""
NO_ROWS = np.empty(0, np.int64)


def number_groups(groups: UInt64) -> tuple[Array, UInt64, Int64]:
    """The groups of rows by number: int32[n], each row's group; uint64[g], the groups in order of first appearance;
    int64[g], the number of rows of each. O(n).

    groups: uint64[n].
    """
    numbers, distinct, counts = _number_groups(read_only(groups))
    return numbers, distinct, counts


def place_rows(numbers: Array, firsts: Int64, rows: Int64 = NO_ROWS) -> Int64:
    """The order that gathers each group's rows, from the group's first place on. O(n).

    numbers: int32[n], each row's group; firsts: int64[g], the first place of each group; rows: int64[n], the order of
    rows within groups, or empty for their own order.
    """
    order: Int64 = _place_rows(read_only(numbers), read_only(firsts), read_only(rows))
    return order


@kernel_njit
def _number_groups(groups: Any) -> Any:
    bits, count, row = _BITS, 0, 0
    distinct, counts = np.empty(1 << bits >> 1, np.uint64), np.zeros(1 << bits >> 1, np.int64)
    numbers = np.empty(len(groups), np.int32)
    while True:
        slots = np.full(1 << bits, -1, np.int32)
        for number in range(count):
            slots[_slot_of(slots, bits, distinct, distinct[number])] = number
        row, count = _number_rows(groups, row, numbers, slots, bits, distinct, counts, count)
        if row == len(groups):
            return numbers, distinct[:count].copy(), counts[:count].copy()
        bits += 1
        distinct = np.append(distinct, np.empty(count, np.uint64))
        counts = np.append(counts, np.zeros(count, np.int64))


@nested_njit
def _number_rows(
    groups: Any, row: int, numbers: Any, slots: Any, bits: int, distinct: Any, counts: Any, count: int
) -> Any:
    """Number rows from `row` until a new group finds no place; returns that row, and the number of groups."""
    last: Any = 0
    while row < len(groups):
        group = groups[row]
        if row == 0 or group != distinct[last]:  # consecutive rows often share a group
            slot = _slot_of(slots, bits, distinct, group)
            if slots[slot] < 0:
                if count == len(distinct):
                    return row, count
                slots[slot], distinct[count] = count, group
                count += 1
            last = np.int64(slots[slot])
        numbers[row] = last
        counts[last] += 1
        row += 1
    return row, count


@nested_njit
def _slot_of(slots: Any, bits: int, distinct: Any, group: Any) -> Any:
    """The slot of a group, or the first free one after the slot of its hash."""
    slot, mask = np.int64((group * _GOLDEN) >> np.uint64(64 - bits)), len(slots) - 1
    while slots[slot] >= 0 and distinct[slots[slot]] != group:
        slot = (slot + 1) & mask
    return slot


@kernel_njit
def _place_rows(numbers: Any, firsts: Any, rows: Any) -> Any:
    order, following = np.empty(len(numbers), np.int64), firsts.copy()
    for entry in range(len(numbers)):
        row = entry if len(rows) == 0 else rows[entry]
        place = following[numbers[row]]
        order[place] = row
        following[numbers[row]] = place + 1
    return order
