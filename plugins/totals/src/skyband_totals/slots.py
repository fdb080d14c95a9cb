"""A hash table of objects: a slot holds all data of an object, in one cache line for up to five windows.


hot: int64[slots, columns], aligned to 64 bytes. A slot's columns:

    KEY     the object
    CURRENT what the running pane adds to it
    FLAGS   bit w: it is a candidate of window w; bit TAKEN: the slot is in use (so any int64 can be an object)
    TOTAL…  its total over the closed panes of window 0, 1, …


Linear probing, at most half full. A slot never moves; it is freed by `sweep`, or when the table is rebuilt.
"""

from typing import Any

import numpy as np
from numba import njit
from skyband.kernels.nested import nested_njit

KEY, CURRENT, FLAGS, TOTAL = range(4)
TAKEN = 62
_TAKEN = np.int64(1 << TAKEN)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_32 = np.uint64(32)
_BITS, _NEAR = np.uint64(3), np.uint64(7)
"""Numbers that only differ in this many last bits are in adjacent slots."""
FEWEST = 16
_LINE = 64
_WORDS = 8


def columns_for(windows: int) -> int:
    """The int64 columns of a slot: half a cache line, or whole lines."""
    needed = TOTAL + windows
    return 4 if needed <= _WORDS // 2 else -(-needed // _WORDS) * _WORDS


def new(slots: int, columns: int) -> Any:
    """A table without objects, with slots aligned to cache lines."""
    flat = np.zeros(slots * columns + _WORDS, np.int64)
    skip = np.int64((_LINE - np.int64(flat.ctypes.data) % _LINE) % _LINE // 8)
    return flat[skip : skip + slots * columns].reshape(slots, columns)


empty = nested_njit(new)
"""`new`, in kernels. A large table from numpy may have huge pages of the system; one from numba has not."""


@njit(inline="always")
def place(key: int, mask: int) -> Any:
    """The slot where the search for an object begins.

    Objects are often numbered consecutively, so that neighbours come and go together: eight of them share four cache
    lines. Other numbers are spread evenly.
    """
    word = np.uint64(key)
    block = word >> _BITS
    return np.int64((((block ^ (block >> _32)) * _GOLDEN) >> _32) ^ (word & _NEAR)) & mask


@nested_njit
def find(hot: Any, key: int) -> Any:
    """The object's slot, or the free slot where it belongs."""
    mask = len(hot) - 1
    slot = place(key, mask)
    while hot[slot, FLAGS] != 0 and hot[slot, KEY] != key:
        slot = (slot + 1) & mask
    return slot


@nested_njit
def take(hot: Any, slot: int, key: int) -> None:
    """Give a free slot to an object."""
    hot[slot, KEY] = key
    hot[slot, FLAGS] = _TAKEN


@nested_njit
def sweep(hot: Any, longest: int) -> int:
    """Free slots that are empty, no candidate and not on the way to another object; returns the slots still in use.

    `longest` is the column of the longest window. O(slots), in order, and without allocations.
    """
    used = 0
    after = hot[0, FLAGS]
    for slot in range(len(hot) - 1, -1, -1):
        flags = hot[slot, FLAGS]
        needed = after | (flags ^ _TAKEN) | hot[slot, CURRENT] | hot[slot, longest]  # branch-free
        after = flags if needed != 0 else np.int64(0)
        hot[slot, FLAGS] = after
        used += after != 0
    return used


@nested_njit
def slots_for_alive(hot: Any, longest: int) -> Any:
    """The size of a table of the objects in the running pane or the longest window, four to eight times as many."""
    alive = np.int64(0)
    for slot in range(len(hot)):
        alive += hot[slot, CURRENT] != 0 or hot[slot, longest] != 0
    slots = np.int64(FEWEST)
    while slots < 4 * alive:
        slots *= 2
    return slots


@nested_njit
def move_alive(hot: Any, table: Any, longest: int) -> Any:
    """Move objects that are alive to an empty table, or within one; returns the new slots (−1: dropped) and a count.

    A table of the right size is kept: allocating memory costs as much again as everything else.
    """
    moved, alive = np.full(len(hot), -1, np.int32), np.int64(0)
    start, mask = 0, len(hot) - 1
    while hot[start, FLAGS] != 0:
        start += 1
    for number in range(len(hot)):  # from a free slot on, so that none passes one that is yet to move
        slot = (start + number) & mask
        flags = hot[slot, FLAGS]
        hot[slot, FLAGS] = 0
        if hot[slot, CURRENT] != 0 or hot[slot, longest] != 0:
            target = find(table, hot[slot, KEY])
            for column in range(hot.shape[1] if slot != target or len(table) != len(hot) else 0):
                table[target, column] = hot[slot, column]
                hot[slot, column] = 0
            table[target, FLAGS] = flags
            moved[slot] = target
            alive += 1
    return moved, alive
