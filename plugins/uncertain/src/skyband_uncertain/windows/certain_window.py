"""alpha = 1: the window holds `size` tuples that exist for certain; no distribution is needed."""

import skyband.kernels.numba_compiler_patches  # noqa: F401 - lets numba continue without a cache folder
from numba import njit
from skyband.arrays import Float64, Int64


@njit(cache=True, nogil=True)
def evict_certain(p: Float64, start: int, first: int, certain: int, size: int, starts: Int64) -> int:
    """starts[i] = the start after arrival first + i; `certain` counts the tuples after `start` with p = 1.

    Returns `certain` at the end. Positions count from the start of the array `p`.
    """
    for i in range(first, len(p)):
        if i > start and p[i] == 1.0:
            certain += 1
        while certain >= size:
            start += 1
            if p[start] == 1.0:
                certain -= 1
        starts[i - first] = start
    return certain
