# mypy: disable-error-code="untyped-decorator"
"""The maximum-likelihood count behind a table of filled cells.

A table of `arrays` x levels, where each key fills one cell: one of its array and, with probability
2^-(level + 1), of its level. Given how many cells of each level are filled, the likeliest number of keys n solves

    sum_j c_j q_j / (exp(n q_j) - 1)  =  sum_j (arrays - c_j) q_j,        q_j = 2^-(j + 1) / arrays

whose left side falls in n. The relative standard error is `DEVIATION` / sqrt(arrays) when n is large, less when
it is small: the Fisher information of log n is arrays * (pi^2 / 6) / ln 2, averaged over the phase of n.
"""

import math
from typing import Any

import numpy as np
from numba import njit

LEVELS = 32
"""The last level takes all that is left, so a table is good for about arrays * 2^31 keys."""

DEVIATION = math.sqrt(6 * math.log(2)) / math.pi


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


@njit(cache=True)
def likeliest(counts: Any, arrays: int) -> float:
    """The likeliest number of keys; counts: int64[levels <= LEVELS], cells filled in each level.

    Newton's method on log n, held inside a bracket that halves whenever a step would leave it: no input makes
    it run away. A full table gives the largest count it can tell.
    """
    filled = 0
    empty = 0.0
    for level in range(LEVELS):
        count = counts[level] if level < len(counts) else 0
        filled += count
        empty += (arrays - count) * _share(level)
    if filled == 0:
        return 0.0
    low, high = -1.0, math.log(2.0) * (LEVELS + 8)
    low -= math.log(arrays)
    at = _first_guess(counts, arrays)
    for _ in range(80):
        if not low < at < high:
            at = 0.5 * (low + high)
        value, slope = _excess(counts, empty, at)
        if value > 0:
            low = at
        else:
            high = at
        step = -value / slope if slope < 0 else 0.0
        if abs(step) < 1e-13 or high - low < 1e-13:
            at += step
            break
        at += step
    return math.exp(min(max(at, low), high)) * arrays


@njit(cache=True)
def _share(level: int) -> float:
    """The probability of a level."""
    return 2.0 ** -(min(level, LEVELS - 2) + 1)


@njit(cache=True)
def _excess(counts: Any, empty: float, at: float) -> tuple[float, float]:
    """Left minus right side, and its derivative, at log(n / arrays) = `at`."""
    load = math.exp(at)
    value, slope = -empty, 0.0
    for level in range(len(counts)):
        if counts[level]:
            share = _share(level)
            grown = math.expm1(min(load * share, 700.0))
            term = counts[level] * share / grown
            value += term
            slope -= term * (1.0 + 1.0 / grown) * load * share
    return value, slope


@njit(cache=True)
def _first_guess(counts: Any, arrays: int) -> float:
    """log(n / arrays) from the fullest level that is not nearly full: close enough for Newton."""
    for level in range(len(counts)):
        part = counts[level] / arrays
        if part < 0.9:
            return math.log(max(-math.log1p(-part), 0.1 / arrays) / _share(level))
    return math.log(2.0) * len(counts)
