# mypy: disable-error-code="untyped-decorator"
"""Hot loops over a table of time stamps, [level][array]: each key stamps one cell with its time."""

from typing import Any

import numpy as np
from numba import njit

from skyband_distinct.likelihood import LEVELS
from skyband_distinct.mixing import mix

NEVER = np.iinfo(np.int64).min
_32 = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_LAST = np.uint64(1 << (LEVELS - 1))
_ONE = np.uint64(1)


@njit(inline="always")
def _trailing_zeros(word: np.uint64) -> Any:
    """Of a word that is not 0; compiles to one instruction."""
    return _bit_count((word & (~word + _ONE)) - _ONE)


@njit(inline="always")
def _bit_count(word: np.uint64) -> Any:
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(cache=True)
def stamp(stamps: Any, times: Any, keys: Any, salt: np.uint64, start: int) -> int:
    """Stamp the rows from `start`; returns the first row whose level the table does not have yet, or the end.

    stamps: int64[levels, arrays], NEVER where no key came. O(1) a row.
    """
    levels, arrays = stamps.shape
    width = np.uint64(arrays)
    for row in range(start, len(keys)):
        word = mix(keys[row] ^ salt)
        level = _trailing_zeros((word & _LOW) | _LAST)
        if level >= levels:
            return row
        array = np.int64(((word >> _32) * width) >> _32)
        stamps[level, array] = max(stamps[level, array], times[row])
    return len(keys)


@njit(cache=True)
def filled_since(stamps: Any, since: int) -> Any:
    """Cells of each level stamped at `since` or later: int64[levels]."""
    counts = np.zeros(stamps.shape[0], np.int64)
    for level in range(stamps.shape[0]):
        row = stamps[level]
        count = 0
        for array in range(len(row)):
            count += row[array] >= since
        counts[level] = count
    return counts
