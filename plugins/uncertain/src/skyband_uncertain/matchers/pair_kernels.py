"""The probability of one match, and growing arrays to write matches to."""

from typing import Any

import numpy as np
from numba import njit
from skyband.arrays import Float64, Int64
from skyband.kernels.nested import nested_njit

Found = tuple[Int64, Int64, Float64]
"""Matches: the probe, the position of the tuple it matches, and the probability of eq. 21."""


@nested_njit(nogil=True)
def every_pair(
    u: Float64, pu: Float64, first: int, last: int, v: Float64, pv: Float64, begin: int, end: int, epsilon: float
) -> float:
    """Sum of pu[a]·pv[b] over a in [first, last) and b in [begin, end) with |u[a] − v[b]| <= epsilon (eq. 21)."""
    total = 0.0
    for a in range(first, last):
        for b in range(begin, end):
            if abs(u[a] - v[b]) <= epsilon:
                total += pu[a] * pv[b]
    return total


@nested_njit(nogil=True)
def sorted_pair(
    u: Float64, pu: Float64, first: int, last: int, v: Float64, pv: Float64, begin: int, end: int, epsilon: float
) -> float:
    """`every_pair` for samples in ascending order, equal term by term.

    Rounded subtraction is monotone, so the partners of each sample are contiguous, and move up with it.
    """
    total = 0.0
    for a in range(first, last):
        value, weight = u[a], pu[a]
        while begin < end and value - v[begin] > epsilon:
            begin += 1
        b = begin
        while b < end and v[b] - value <= epsilon:
            total += weight * pv[b]
            b += 1
    return total


@nested_njit(nogil=True)
def nothing() -> tuple[Found, Any]:
    """Empty arrays, and 0 matches; a literal 0 would compile `room` twice."""
    return (np.empty(16, np.int64), np.empty(16, np.int64), np.empty(16)), np.int64(0)


@nested_njit(nogil=True)
def room(found: Found, count: int, more: int) -> Found:
    """The three arrays, with room for `more` matches after `count`."""
    if count + more <= len(found[0]):
        return found
    return _resized(found, count, 2 * (count + more))


@nested_njit(nogil=True)
def first_of(found: Found, count: int) -> Found:
    """The first `count` matches."""
    return _resized(found, count, count)


@nested_njit(nogil=True)
def _resized(found: Found, count: int, length: int) -> Found:
    resized = np.empty(length, np.int64), np.empty(length, np.int64), np.empty(length)
    for i in range(count):  # a loop, as assigning a slice takes seconds to compile
        resized[0][i], resized[1][i], resized[2][i] = found[0][i], found[1][i], found[2][i]
    return resized


def sort_each(cuts: Int64, values: Float64, probabilities: Float64) -> tuple[Float64, Float64]:
    """Copies of the samples, ascending by (value, probability) in each tuple; insertion sort, for few samples."""
    v, p = values.copy(), probabilities.copy()
    _sort_each(np.array(cuts), v, p)
    return v, p


@njit(cache=True, nogil=True)
def _sort_each(cuts: Int64, v: Float64, p: Float64) -> None:
    for t in range(len(cuts) - 1):
        for i in range(cuts[t] + 1, cuts[t + 1]):
            value, share, at = v[i], p[i], i
            while at > cuts[t] and (v[at - 1] > value or (v[at - 1] == value and p[at - 1] > share)):
                v[at], p[at] = v[at - 1], p[at - 1]
                at -= 1
            v[at], p[at] = value, share
