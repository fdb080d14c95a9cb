# mypy: disable-error-code="untyped-decorator"
"""A hash table of objects: one slot holds all that is known of one, in one line of the cache for up to five windows.

hot: int64[slots, columns], aligned to 64 bytes. A slot's columns:

    KEY     the object
    CURRENT what the running pane adds to it
    FLAGS   bit w: it is a candidate of window w; bit TAKEN: the slot is in use (so any int64 can be an object)
    TOTAL…  its total over the closed panes of window 0, 1, …

Linear probing, at most half full. Slots go only when the table is made anew.
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
FEWEST = 16
_LINE = 64
_WORDS = 8


def columns_for(windows: int) -> int:
    """int64 columns a slot: half a line of the cache, a line, or whole lines."""
    needed = TOTAL + windows
    return 4 if needed <= _WORDS // 2 else -(-needed // _WORDS) * _WORDS


@njit(cache=True)
def empty(slots: int, columns: int) -> Any:
    """A table without objects, its slots aligned to the lines of the cache."""
    flat = np.zeros(slots * columns + _WORDS, np.int64)
    skip = np.int64((_LINE - np.int64(flat.ctypes.data) % _LINE) % _LINE // 8)
    return flat[skip : skip + slots * columns].reshape(slots, columns)


@njit(inline="always")
def place(key: int, mask: int) -> Any:
    """The slot where the search for an object begins."""
    word = np.uint64(key)
    return np.int64(((word ^ (word >> _32)) * _GOLDEN) >> _32) & mask


@nested_njit
def find(hot: Any, key: int) -> Any:
    """The object's slot, or the free one where it would go."""
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
def renewed(hot: Any, longest: int) -> Any:
    """A table of what is alive, four to eight times as large; returns it, where each slot went (−1: gone), how many.

    Alive is what the running pane or the longest window holds. `longest` is that window's column.
    """
    alive = 0
    for slot in range(len(hot)):
        alive += hot[slot, CURRENT] != 0 or hot[slot, longest] != 0
    slots = FEWEST
    while slots < 4 * alive:
        slots *= 2
    new = empty(slots, hot.shape[1])
    moved = np.full(len(hot), -1, np.int32)
    for slot in range(len(hot)):
        if hot[slot, CURRENT] != 0 or hot[slot, longest] != 0:
            target = find(new, hot[slot, KEY])
            for column in range(hot.shape[1]):
                new[target, column] = hot[slot, column]
            moved[slot] = target
    return new, moved, alive
