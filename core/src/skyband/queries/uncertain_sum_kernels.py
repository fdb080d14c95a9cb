"""Sums over uncertain windows, after each arrival of a batch."""
# mypy: disable-error-code="untyped-decorator"

import numpy as np
from numba import njit

from skyband.arrays import Float64, Int64


@njit(cache=True, nogil=True)
def window_sums(values: Float64, starts: Int64, first: int) -> Float64:
    """float64[n]: the sum of values[starts[i]] to values[first + i], added anew each time, so that nothing drifts.

    Four partial sums each, in a fixed order, so that the result depends on the window alone. O(window) an arrival.
    """
    out = np.empty(len(starts))
    for i in range(len(starts)):
        at, stop = starts[i], first + i + 1
        a = b = c = d = 0.0
        while at + 4 <= stop:
            a += values[at]
            b += values[at + 1]
            c += values[at + 2]
            d += values[at + 3]
            at += 4
        while at < stop:
            a += values[at]
            at += 1
        out[i] = (a + b) + (c + d)
    return out


@njit(cache=True, nogil=True)
def expected_sums(ranks: Float64, used: int, existence: Float64, means: Float64) -> Float64:
    """float64[n]: after each arrival, the expected sum of the `len(ranks)` youngest tuples that exist.

    ranks[k] is what the tuples with k younger existing ones are expected to add: each arrival moves the share that
    it exists on by one rank, as in eq. 10, and enters at rank 0. Past the last rank, tuples are outside the window.
    `used` of the ranks, which change in place, are in use before. O(ranks) an arrival.
    """
    out = np.empty(len(means))
    spare = np.empty(len(ranks))
    for i in range(len(means)):
        p, q = existence[i], 1.0 - existence[i]
        used = min(used + 1, len(ranks))
        spare[0] = q * ranks[0] + means[i]
        for k in range(1, used):
            spare[k] = q * ranks[k] + p * ranks[k - 1]
        total = 0.0
        for k in range(used):
            ranks[k] = spare[k]
            total += spare[k]
        out[i] = total
    return out
