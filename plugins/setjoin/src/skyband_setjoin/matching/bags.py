"""A small hash table of one set's tokens, to look up many others in, in compiled code.

Slots carry the stamp of their set, so nothing is ever cleared.
"""

from typing import Any, NamedTuple

import numpy as np
from skyband.kernels.nested import nested_njit

from skyband_setjoin.sets import mixed


class Bag(NamedTuple):
    """Room for sets up to some size; each set uses as much as it needs.

    tokens: int64[power of two], open addressing, at most half of it used
    stamps: int64[…]: the number of the set that a slot was last used for
    """

    tokens: Any
    stamps: Any


@nested_njit
def bag_for(longest):
    """A bag for sets of at most `longest` tokens, repeats counted."""
    room = 16
    while room < 2 * longest:
        room *= 2
    return Bag(np.empty(room, np.int64), np.full(room, -1, np.int64))


@nested_njit
def mask_for(length):
    """The mask of the slots that a set of `length` tokens, repeats counted, uses."""
    room = 16
    while room < 2 * length:
        room *= 2
    return room - 1


@nested_njit
def fill(bag, mask, stamp, tokens, start, stop, words):
    """Put tokens[start:stop] into the bag and the distinct ones into `words`; returns their number and signature.

    The signature is that of `sets.normalise`.
    """
    slots, stamps = bag.tokens, bag.stamps
    size = 0
    signature = np.uint64(0)
    for i in range(start, stop):
        token = tokens[i]
        mix = mixed(token)
        place = np.int64(mix >> np.uint64(20)) & mask
        while stamps[place] == stamp and slots[place] != token:
            place = (place + 1) & mask
        if stamps[place] != stamp:
            stamps[place], slots[place] = stamp, token
            words[size] = token
            size += 1
            signature ^= np.uint64(1) << (mix >> np.uint64(58))
    return size, signature


@nested_njit
def in_common(slots, stamps, mask, stamp, ring, start, size, misses):
    """How many of the `size` tokens from `start` of a ring are in the bag; −1 if more than `misses` are not."""
    common = 0
    for i in range(size):
        token = ring[(start + i) & (len(ring) - 1)]
        place = np.int64(mixed(token) >> np.uint64(20)) & mask
        while stamps[place] == stamp and slots[place] != token:
            place = (place + 1) & mask
        if stamps[place] == stamp:
            common += 1
        elif i - common == misses:
            return -1
    return common
