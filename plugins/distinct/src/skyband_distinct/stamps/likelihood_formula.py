"""The maximum-likelihood count behind a table of filled cells, in plain Python; `likelihood` compiles it.

A table of `arrays` x levels, where each key fills one cell: one of its array and, with probability
2^-(level + 1), of its level. Given how many cells of each level are filled, the likeliest number of keys n solves

    sum_j c_j q_j / (exp(n q_j) - 1)  =  sum_j (arrays - c_j) q_j,        q_j = 2^-(j + 1) / arrays

whose left side falls in n. The relative standard error is `DEVIATION` / sqrt(arrays) when n is large, less when
it is small: the Fisher information of log n is arrays * (pi^2 / 6) / ln 2, averaged over the phase of n.
"""

import math
from typing import Any

LEVELS = 32
"""The last level takes all that is left, so a table is good for about arrays * 2^31 keys."""

DEVIATION = math.sqrt(6 * math.log(2)) / math.pi


def likeliest(counts: Any, arrays: int) -> float:
    """The likeliest number of keys; counts: int64[levels <= LEVELS] or a list, cells filled in each level.

    Newton's method on log n, held inside a bracket that halves whenever a step would leave it: no input makes
    it run away. A full table gives the largest count it can tell. One function, so that it compiles as it is.
    """
    levels = len(counts)
    filled = 0
    empty = 0.0
    for level in range(LEVELS):
        count = counts[level] if level < levels else 0
        filled += count
        empty += (arrays - count) * 2.0 ** -(min(level, LEVELS - 2) + 1)
    if filled == 0:
        return 0.0
    low, high = -1.0, math.log(2.0) * (LEVELS + 8)
    low -= math.log(arrays)
    # log(n / arrays) from the fullest level that is not nearly full: close enough for Newton.
    at = math.log(2.0) * levels
    for level in range(levels):
        part = counts[level] / arrays
        if part < 0.9:
            at = math.log(max(-math.log1p(-part), 0.1 / arrays) / 2.0 ** -(min(level, LEVELS - 2) + 1))
            break
    for _ in range(80):
        if not low < at < high:
            at = 0.5 * (low + high)
        # Left minus right side, and its derivative, at log(n / arrays) = `at`.
        load = math.exp(at)
        value, slope = -empty, 0.0
        for level in range(levels):
            if counts[level]:
                share = 2.0 ** -(min(level, LEVELS - 2) + 1)
                growth = math.expm1(min(load * share, 700.0))
                term = counts[level] * share / growth
                value += term
                slope -= term * (1.0 + 1.0 / growth) * load * share
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
