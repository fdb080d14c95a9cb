"""Compiled search for keys whose rows fall below a bound, as time passes without rows.

A key that has reached the bound falls when its b-th newest time is one window old, unless another row comes before. So
a heap holds one such moment for each key that has reached it: int64[m, 2], a moment and a key's bits. The moment of a
key with later rows is too early; it is corrected when it comes up.
"""

import numpy as np
from skyband.arrays import Int64
from skyband.kernels.nested import kernel_njit, nested_njit

from skyband_detect.newest.newest_kernels import KEY, NEVER, Rings, fall_of, remaining_after, slot_of


@nested_njit
def add(heap: Int64, size: int, moment: int, bits: int) -> int:
    """Add an entry to a heap of this size with room for it; returns the new size."""
    child = size
    while child:
        parent = (child - 1) >> 1
        if heap[parent, 0] <= moment:
            break
        heap[child, 0], heap[child, 1] = heap[parent, 0], heap[parent, 1]
        child = parent
    heap[child, 0], heap[child, 1] = moment, bits
    return size + 1


@nested_njit
def remove_first(heap: Int64, size: int) -> int:
    """Remove the entry with the earliest moment; returns the new size."""
    size -= 1
    moment, bits, parent = heap[size, 0], heap[size, 1], 0
    while 2 * parent + 1 < size:
        child = 2 * parent + 1
        if child + 1 < size and heap[child + 1, 0] < heap[child, 0]:
            child += 1
        if heap[child, 0] >= moment:
            break
        heap[parent, 0], heap[parent, 1] = heap[child, 0], heap[child, 1]
        parent = child
    heap[parent, 0], heap[parent, 1] = moment, bits
    return size


@kernel_njit
def begin_heap(rings: Rings, window: int, bound: int, now: int, heap: Int64) -> int:
    """Fill a heap with all keys that fall after `now`; there is room for them. Returns its size."""
    size = 0
    for slot in range(len(rings.table)):
        moment = fall_of(rings, slot, window, bound)
        if moment > now:
            size = add(heap, size, moment, rings.table[slot, KEY])
    return size


@kernel_njit
def take_due(heap: Int64, size: int, until: int, bits: Int64) -> int:
    """Remove the entries up to `until` and write the bits of their keys, in any order; returns the new size."""
    start = size
    while size and heap[0, 0] <= until:
        bits[start - size] = heap[0, 1]
        size = remove_first(heap, size)
    return size


@kernel_njit
def settle(
    rings: Rings,
    bits: Int64,
    window: int,
    bound: int,
    now: int,
    until: int,
    heap: Int64,
    size: int,
    falls: Int64,
    keeps: bool,
) -> tuple[int, int]:
    """Enter these keys, none of them in the heap, by the moment at which they fall, if that is after `until`.

    Writes those that fall after `now` and up to `until`: the place in `bits`, the moment, and the rows that remain.
    With `keeps` these are entered too, as they may be asked again. Returns the size of the heap, and how many fell.
    """
    fallen = 0
    for number in range(len(bits)):
        slot = slot_of(rings.table, np.uint64(bits[number]))
        moment = fall_of(rings, slot, window, bound)
        if moment <= now:
            continue
        if moment > until or keeps:
            size = add(heap, size, moment, bits[number])
        if moment <= until:
            falls[fallen, 0], falls[fallen, 1] = number, moment
            falls[fallen, 2] = remaining_after(rings, slot, bound, moment - window)
            fallen += 1
    return size, fallen


@kernel_njit
def first_fall(rings: Rings, window: int, bound: int, now: int, heap: Int64, size: int) -> tuple[int, int]:
    """The earliest moment after `now` at which a key falls, else NEVER; and the size of the heap, then corrected."""
    while size:
        slot = slot_of(rings.table, np.uint64(heap[0, 1]))
        moment, bits = fall_of(rings, slot, window, bound), heap[0, 1]
        if moment > now and moment == heap[0, 0]:
            return moment, size
        size = remove_first(heap, size)
        if moment > now:
            size = add(heap, size, moment, bits)
    return NEVER, 0
