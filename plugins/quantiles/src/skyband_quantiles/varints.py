"""Whole numbers in as many bytes as they need, seven bits each (LEB128), using numpy only."""

import numpy as np
from skyband.arrays import Array, Int64, UInt64
from skyband.errors import SnapshotError

_BITS = 7
_MOST = 9
"""The most bytes of a number below 2^63."""


def to_bytes(numbers: Array) -> Array:
    """uint8[]: whole numbers from 0 to 2^63 - 1, the low seven bits first, the last byte of each below 128."""
    unsigned: UInt64 = np.asarray(numbers).astype(np.uint64)
    sizes = np.ones(len(unsigned), np.int64)
    for byte in range(1, _MOST):
        more = unsigned >> np.uint64(_BITS * byte) > 0
        if not more.any():
            break
        sizes += more
    starts = np.cumsum(sizes) - sizes
    encoded = np.empty(int(sizes.sum()), np.uint8)
    for byte in range(int(sizes.max(initial=0))):
        has = sizes > byte
        bits = unsigned[has] >> np.uint64(_BITS * byte) & np.uint64(127)
        encoded[starts[has] + byte] = bits | np.where(sizes[has] > byte + 1, np.uint64(128), np.uint64(0))
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
    for byte in range(1, int(sizes.max(initial=1))):
        has = sizes > byte
        numbers[has] |= (encoded[starts[has] + byte].astype(np.int64) & 127) << (_BITS * byte)
    return numbers
