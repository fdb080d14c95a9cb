"""A compiled pass over the bits of rows: the rows of each counter."""

import numpy as np
from skyband.arrays import Int64, UInt64
from skyband.kernels.nested import kernel_njit

_0, _1, _58 = np.uint64(0), np.uint64(1), np.uint64(58)
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_PLACES = np.zeros(64, np.int64)
for _bit in range(64):
    _PLACES[((1 << _bit) * int(_DE_BRUIJN) & (1 << 64) - 1) >> 58] = _bit


@kernel_njit
def rows_by_counter(bits: UInt64, counters: int) -> tuple[Int64, Int64]:
    """The rows of each of the first `counters` bits: int64[counters + 1], where each begins, and int64[m], the rows.

    bits: uint64[words, n], 64 counters to a word. O(words · n + m).
    """
    words, count = bits.shape
    begins = np.zeros(counters + 2, np.int64)
    for word in range(words):
        for row in range(count):
            rest = bits[word, row]
            while rest != _0:
                lowest = rest & (~rest + _1)
                begins[word * 64 + _PLACES[(lowest * _DE_BRUIJN) >> _58] + 2] += 1
                rest ^= lowest
    for counter in range(2, counters + 2):
        begins[counter] += begins[counter - 1]
    rows = np.empty(begins[counters + 1], np.int64)
    for word in range(words):
        for row in range(count):
            rest = bits[word, row]
            while rest != _0:
                lowest = rest & (~rest + _1)
                counter = word * 64 + _PLACES[(lowest * _DE_BRUIJN) >> _58] + 1
                rows[begins[counter]] = row
                begins[counter] += 1
                rest ^= lowest
    return begins[: counters + 1], rows
