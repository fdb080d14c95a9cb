"""A hash table of (object, value) pairs: int64[slots, 3], the hash of a pair, its last pane, the slot of its object.

Linear probing, at most half full. Slots are freed only when the table is rebuilt.
"""

from typing import Any

import numpy as np
from numba import njit
from skyband.kernels.mixing import GAMMA, mix
from skyband.kernels.nested import nested_njit, shared_njit

from skyband_totals import slots

HASH, LAST, OBJECT = range(3)
NEVER = np.int64(-(2**63))
"""The last pane of a free slot, whatever its hash."""
UNKNOWN = np.int64(-1)
"""The slot of an object that was dropped because its pairs had left all windows."""


@shared_njit
def no_pairs(size: int) -> Any:
    """A table of free slots."""
    pairs = np.empty((size, 3), np.int64)
    for slot in range(size):
        pairs[slot, LAST] = NEVER
    return pairs


@njit(inline="always")
def hash_pair(key: Any, value: Any) -> Any:
    """A 64-bit hash of a pair: pairs that share the object or the value never collide."""
    return np.int64(mix(value ^ mix(np.uint64(key) + GAMMA)))


@nested_njit
def find_pair(pairs: Any, word: int) -> Any:
    """The pair's slot, or the free slot where it belongs."""
    mask = len(pairs) - 1
    slot = word & mask
    while pairs[slot, LAST] != NEVER and pairs[slot, HASH] != word:
        slot = (slot + 1) & mask
    return slot


@nested_njit
def renewed_pairs(pairs: Any, bound: int) -> Any:
    """A table of the pairs whose last pane is `bound` or later, the new slots (−1: dropped), and their number."""
    alive = 0
    for slot in range(len(pairs)):
        alive += pairs[slot, LAST] >= bound
    size = slots.FEWEST
    while 3 * size < 8 * alive:
        size *= 2
    new = no_pairs(size)
    moved = np.full(len(pairs), -1, np.int32)
    for slot in range(len(pairs)):
        if pairs[slot, LAST] >= bound:
            target = find_pair(new, pairs[slot, HASH])
            for column in range(3):
                new[target, column] = pairs[slot, column]
            moved[slot] = target
    return new, moved, alive


@njit(cache=True)
def entries_since(pairs: Any, hot: Any, bound: int) -> Any:
    """The pairs whose last pane is `bound` or later: int64[n] last panes, objects and hashes."""
    size = 0
    for slot in range(len(pairs)):
        size += pairs[slot, LAST] >= bound
    panes, objects, hashes = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    size = 0
    for slot in range(len(pairs)):
        if pairs[slot, LAST] >= bound:
            panes[size], hashes[size] = pairs[slot, LAST], pairs[slot, HASH]
            objects[size] = hot[pairs[slot, OBJECT], slots.KEY]
            size += 1
    return panes, objects, hashes
