"""The maximum-likelihood number of keys that filled a table's cells, in plain Python; `likelihood` compiles it.

In a table of `arrays` x levels, each key fills one cell: in a uniformly random array and, with probability
2^-(level + 1), in this level. Given the number of filled cells in each level, the likeliest number of keys n solves

    sum_j c_j q_j / (exp(n q_j) - 1)  =  sum_j (arrays - c_j) q_j,        q_j = 2^-(j + 1) / arrays

whose left side decreases in n. The relative standard error is `DEVIATION` / sqrt(arrays) for large n, and less for
small n: the Fisher information of log n is arrays * (pi^2 / 6) / ln 2, averaged over the phase of n.
"""

import math
from typing import Any

LEVELS = 32
"""The last level takes all remaining keys, so a table can count about arrays * 2^31 keys."""

DEVIATION = math.sqrt(6 * math.log(2)) / math.pi


def likeliest(counts: Any, arrays: int) -> float:
    """The likeliest number of keys; counts: int64[levels <= LEVELS] or a list, the filled cells of each level.

    Newton's method on log n, inside a bracket that is halved whenever a step would leave it, so that it always
    converges. A full table yields the largest possible count. It is one function so that numba can compile it.
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
    # Newton's method starts at log(n / arrays) from the fullest level that is not nearly full.
    at = math.log(2.0) * levels
    for level in range(levels):
        part = counts[level] / arrays
        if part < 0.9:
            at = math.log(max(-math.log1p(-part), 0.1 / arrays) / 2.0 ** -(min(level, LEVELS - 2) + 1))
            break
    for _ in range(80):
        if not low < at < high:
            at = 0.5 * (low + high)
        # The left minus the right side, and its derivative, at log(n / arrays) = `at`.
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
