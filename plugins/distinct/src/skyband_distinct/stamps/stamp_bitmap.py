"""A stamp table's cells as a bitmap, which counts a few thousand keys without the table."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from skyband.arrays import Float64, Int64, UInt64, read_only
from skyband.kernels.mixing import mix
from skyband.kernels.nested import kernel_njit
from skyband.roles import KeyBitmap

from skyband_distinct.stamps.likelihood import LEVELS, likeliest
from skyband_distinct.stamps.stamping import LAST_LEVEL, bits_set, zeros_below

_32, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


class StampBitmap(KeyBitmap):
    """One row for each level, with a cell for each array, padded with empty cells to whole words."""

    rows = LEVELS

    def __init__(self, arrays: int, salt: Any, bounded: Callable[[Float64], Float64]) -> None:
        """bounded: turns the likeliest counts into estimates with bounds."""
        self.width = -(-arrays // 64) * 64
        self._arrays, self._salt, self._bounded = arrays, salt, bounded

    def cells(self, keys: UInt64) -> npt.NDArray[np.int32]:
        cells: npt.NDArray[np.int32] = cells_of(read_only(keys), np.uint64(self._arrays), self._salt, self.width)
        return cells

    def estimates(self, filled: Int64) -> Float64:
        return self._bounded(likeliest_of_each(read_only(filled), self._arrays))


@kernel_njit
def cells_of(keys: Any, arrays: np.uint64, salt: np.uint64, width: int) -> Any:
    """The cell of each key, as `stamping.stamp_one` stamps it. O(n)."""
    cells = np.empty(len(keys), np.int32)
    arrays, wide = arrays & _LOW, np.uint64(width)
    for row in range(len(keys)):
        word = mix(keys[row] ^ salt)
        cells[row] = np.int32(bits_set(zeros_below(word | LAST_LEVEL)) * wide + (((word >> _32) * arrays) >> _32))
    return cells


@kernel_njit
def likeliest_of_each(filled: Any, arrays: int) -> Any:
    """The likeliest number of keys for each row of filled cells."""
    counts = np.empty(len(filled))
    for place in range(len(filled)):
        reached = filled.shape[1]
        while reached > 0 and filled[place, reached - 1] == 0:
            reached -= 1
        counts[place] = likeliest(filled[place, :reached], arrays)
    return counts
