"""The Poisson-binomial distribution of the number of existing tuples, in floating point."""

import numpy as np
import skyband.kernels.numba_compiler_patches  # noqa: F401 - lets numba continue without a cache folder
from numba import njit
from skyband.arrays import Float64, Int64

from skyband_uncertain.existing_tuples import multiply_tail, trim


def pmf(probabilities: Float64) -> Float64:
    """float64[n + 1]: P(exactly k exist), by eq. 10 on the band above 1e-25; O(n·sqrt(n)) for n tuples."""
    out = np.zeros(len(probabilities) + 1)
    _pmf(np.ascontiguousarray(probabilities, np.float64), out)
    return out


def cdf(probabilities: Float64) -> Float64:
    """float64[n + 1]: P(at most k exist)."""
    return np.minimum(np.cumsum(pmf(probabilities)), 1.0)


def presence(probabilities: Float64, positions: Int64, ends: Int64, size: int) -> Float64:
    """float64[r]: P(fewer than `size` of the tuples after positions[i] and before ends[i] exist).

    One chain of eq. 10 for each distinct end, O(sqrt(size)) per step.
    """
    out = np.empty(len(positions))
    order = np.lexsort((-positions, ends))
    presences = np.empty(len(positions))
    _tails(probabilities, positions[order], ends[order], size, presences)
    out[order] = presences
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def _pmf(p: Float64, out: Float64) -> None:
    """Computed as out[n − k], so that one ascending loop works in place, and then reversed."""
    n = len(p)
    out[n] = 1.0
    low, high = n, n + 1
    for j in range(n):
        hit, miss = p[j], 1.0 - p[j]
        low -= 1
        for r in range(low, high - 1):
            out[r] = miss * out[r] + hit * out[r + 1]
        out[high - 1] *= miss
        low, high = trim(out, low, high)
    for r in range((n + 1) // 2):
        out[r], out[n - r] = out[n - r], out[r]


@njit(cache=True, nogil=True, error_model="numpy")
def _tails(p: Float64, positions: Int64, ends: Int64, size: int, out: Float64) -> None:
    """out[i] = P(fewer than size of the tuples after positions[i] and before ends[i] exist).

    Requests are ascending by end and, at one end, descending by position: so each end takes one chain of eq. 10.
    """
    pmf = np.zeros(min(size, len(p)) + 1)
    low, high, at, end = 0, 1, -1, -1
    for request in range(len(positions)):
        if ends[request] - positions[request] - 1 < size:
            out[request] = 1.0
            continue
        if ends[request] != end:
            end = ends[request]
            at = end - 1
            pmf[:] = 0.0
            pmf[size - 1] = 1.0
            low, high = size - 1, size
        while at > positions[request]:
            low, high = multiply_tail(pmf, p[at], low, high)
            at -= 1
        total = 0.0
        for r in range(low, high):
            total += pmf[r]
        out[request] = min(total, 1.0)
