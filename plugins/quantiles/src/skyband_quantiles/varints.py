"""Whole numbers in as many bytes as they need, seven bits each (LEB128), using numpy only."""

import numpy as np
from skyband.arrays import Array, Int64, UInt64
from skyband.errors import SnapshotError

_BITS = 7
_MOST = 9
"""The most bytes of a number below 2^63."""
_LEAST_OF_SIZES = np.array([0, *(1 << _BITS * size for size in range(1, _MOST))], np.uint64)
"""The least number of one byte, of two and so on."""


def to_bytes(numbers: Array) -> Array:
    """uint8[]: whole numbers from 0 to 2^63 - 1, the low seven bits first, the last byte of each below 128."""
    rest: UInt64 = np.asarray(numbers).astype(np.uint64)
    sizes = np.searchsorted(_LEAST_OF_SIZES, rest, side="right")
    ends = np.cumsum(sizes)
    encoded, place = np.empty(int(ends[-1]) if len(ends) else 0, np.uint8), ends - sizes
    while len(rest):
        following = rest >> np.uint64(_BITS)
        more = following > 0
        encoded[place] = rest & np.uint64(127) | more.astype(np.uint64) << np.uint64(_BITS)
        rest, place = following[more], place[more] + 1
    return encoded


def from_bytes(name: str, encoded: Array, count: int | None = None) -> Int64:
    """int64[count]: the decoded numbers. Raises SnapshotError with the array's name if they are not `count`."""
    ends = np.flatnonzero(encoded < 128)
    whole = len(ends) == 0 if not len(encoded) else len(ends) > 0 and ends[-1] == len(encoded) - 1
    sizes = np.diff(ends, prepend=-1)
    if not whole or (count is not None and len(ends) != count) or (sizes > _MOST).any():
        raise SnapshotError(f"contradicts itself: {name}: must be {'whole' if count is None else count} numbers")
    starts = ends - sizes + 1
    numbers = encoded[starts].astype(np.int64) & 127
    longer, byte = np.flatnonzero(sizes > 1), 1
    while len(longer):
        numbers[longer] |= (encoded[starts[longer] + byte].astype(np.int64) & 127) << (_BITS * byte)
        byte += 1
        longer = longer[sizes[longer] > byte]
    return numbers
