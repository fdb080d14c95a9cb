"""The minimum and maximum of a column in one compiled pass; numpy's `min` and `max` read it twice."""

from typing import Any

from numba import njit

import skyband.kernels.numba_compiler_patches  # noqa: F401 - makes numba renew its cache
from skyband.arrays import Int64, read_only


def minmax(values: Int64) -> tuple[int, int]:
    """The minimum and maximum of one or more values. O(n)."""
    low, high = _minmax(read_only(values))
    return int(low), int(high)


@njit(cache=True)
def _minmax(values: Any) -> Any:
    low = high = values[0]
    for row in range(1, len(values)):
        low = min(low, values[row])
        high = max(high, values[row])
    return low, high
