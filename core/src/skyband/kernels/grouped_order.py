"""Sorts entries of many groups by group and key, in a tenth of the time of `numpy.lexsort`."""

from typing import Any

import numpy as np

from skyband.arrays import Int64, UInt64, read_only
from skyband.kernels.nested import kernel_njit, nested_njit

_FEW = 48
"""Groups of at most this many entries are sorted by insertion."""
_NOT_WORTH = 1 << 13
"""Fewer entries than this are sorted faster by numpy than compiled code is loaded."""
_8, _255 = np.uint64(8), np.uint64(255)


def order_by_group(sizes: Int64, keys: UInt64) -> Int64:
    """The order of entries by group, then by key. O(n).

    sizes: int64[g], the number of entries of each group, which are consecutive; keys: uint64[n]. Equal keys of a
    group keep their order.
    """
    if len(keys) < _NOT_WORTH:
        return np.lexsort([keys, np.repeat(np.arange(len(sizes)), sizes)])
    order: Int64 = _order_by_group(read_only(sizes), read_only(keys))
    return order


@kernel_njit
def _order_by_group(sizes: Any, keys: Any) -> Any:
    order = np.arange(len(keys))
    most = 0
    for size in sizes:
        most = max(most, size)
    own, spare = np.empty(most, np.uint64), np.empty(most, np.uint64)
    places, spare_places = np.empty(most, np.int64), np.empty(most, np.int64)
    first = 0
    for size in sizes:
        if size <= _FEW:
            _insert(keys, order, first, first + size)
        else:
            for entry in range(size):
                own[entry], places[entry] = keys[first + entry], first + entry
            _sort_by_bytes(own, places, spare, spare_places, size)
            order[first : first + size] = places[:size]
        first += size
    return order


@nested_njit
def _insert(keys: Any, order: Any, first: int, stop: int) -> None:
    for entry in range(first + 1, stop):
        moving = order[entry]
        key, place = keys[moving], entry
        while place > first and keys[order[place - 1]] > key:
            order[place] = order[place - 1]
            place -= 1
        order[place] = moving


@nested_njit
def _sort_by_bytes(keys: Any, places: Any, spare: Any, spare_places: Any, size: int) -> None:
    """Sort keys and their places by each byte of the keys, from the lowest: radix sort."""
    ends = np.empty((8, 257), np.int64)
    ends[:] = 0
    for entry in range(size):
        word = keys[entry]
        for byte in range(8):
            ends[byte, np.int64(word & _255) + 1] += 1
            word >>= _8
    for byte in range(8):
        shift, from_here = np.uint64(8 * byte), ends[byte]
        for value in range(256):
            from_here[value + 1] += from_here[value]
        for entry in range(size):
            digit = np.int64((keys[entry] >> shift) & _255)
            place = from_here[digit]
            from_here[digit] = place + 1
            spare[place], spare_places[place] = keys[entry], places[entry]
        keys, spare, places, spare_places = spare, keys, spare_places, places
