"""The estimate of Flajolet and Martin: 2 to the mean first gap."""

from typing import Any

import numpy as np
import skyband.kernels.numba_compiler_patches  # noqa: F401 - lets numba compile without a writable cache
from numba import njit

PHI = 0.7735162909
"""2^E[first gap] / n, Flajolet and Martin 1985, section 3. The sliding-window paper's 0.775351 has a bias of 0.24 %."""


def power_of_mean(gaps: int, arrays: int) -> float:
    """The estimated number of keys in each of `arrays` arrays whose first gaps sum to `gaps`."""
    return float(2.0 ** (gaps / arrays) / PHI)


@njit(cache=True)
def first_gaps(stamps: Any, since: int) -> int:
    """The sum over all arrays of the first level not stamped at `since` or later, from which FM and PCSA estimate."""
    levels, arrays = stamps.shape
    unbroken = np.ones(arrays, np.int64)
    total = 0
    for level in range(levels):
        row = stamps[level]
        count = 0
        for array in range(arrays):
            unbroken[array] &= row[array] >= since
            count += unbroken[array]
        total += count
        if count == 0:
            break
    return total
