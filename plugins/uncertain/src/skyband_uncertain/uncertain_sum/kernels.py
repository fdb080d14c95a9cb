"""Sums over windows of uncertain tuples after each arrival of a batch."""

import numpy as np
from numba import njit
from skyband.arrays import Float64, Int64
from skyband.kernels.nested import nested_njit


@nested_njit(nogil=True)
def sum_of(values: Float64, at: int, stop: int) -> float:
    """The sum of values[at:stop], as four partial sums in a fixed order, so that it depends only on the window."""
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
    return (a + b) + (c + d)


@njit(cache=True, nogil=True)
def window_sums(values: Float64, starts: Int64, first: int) -> Float64:
    """float64[n]: the sum of values[starts[i]] to values[first + i], computed afresh each time, so nothing drifts.

    O(window) per arrival.
    """
    out = np.empty(len(starts))
    for i in range(len(starts)):
        out[i] = sum_of(values, starts[i], first + i + 1)
    return out


@nested_njit(nogil=True)
def take_in(ranks: Float64, spare: Float64, used: int, p: float, mean: float) -> float:
    """Add a tuple that exists with probability p; returns the new expected sum of `used` ranks, including it.

    ranks[k] is the expected contribution of the tuples with k younger existing ones. An arrival moves a share p of each
    rank to the next, as in eq. 10, and enters at rank 0. Past the last rank, tuples are outside the window.
    """
    q = 1.0 - p
    spare[0] = q * ranks[0] + mean
    for k in range(1, used):
        spare[k] = q * ranks[k] + p * ranks[k - 1]
    total = 0.0
    for k in range(used):
        ranks[k] = spare[k]
        total += spare[k]
    return total


@njit(cache=True, nogil=True)
def expected_sums(ranks: Float64, used: int, existence: Float64, means: Float64) -> Float64:
    """float64[n]: the expected sum of the `len(ranks)` youngest existing tuples after each arrival.

    `used` of the ranks, which change in place, are in use at first, the others are 0. O(ranks) per arrival.
    """
    out = np.empty(len(means))
    spare = np.empty(len(ranks))
    for i in range(len(means)):
        used = min(used + 1, len(ranks))
        out[i] = take_in(ranks, spare, used, existence[i], means[i])
    return out
