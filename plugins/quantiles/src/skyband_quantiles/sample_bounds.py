"""Bounds of quantiles, shares and counts of all rows, from a uniform sample without replacement; no compiled code.

The number of the r smallest rows in a sample of n is hypergeometric, with tails below those of the binomial
distribution (Uhlmann 1966). So the value of rank r lies between two ranks of the sample that do not depend on the
number of rows. Only sums and products are used, in a fixed order, so that all machines agree.
"""

import math
from functools import lru_cache

import numpy as np
from skyband.arrays import Float64

from skyband_quantiles.ranks import BILLION

_STEPS = 60
_MOST_ROWS = 2**62


def sample_size(epsilon: float, delta: float) -> int:
    """The least k for which a sample rank is off by at most epsilon, except in a share delta of cases (Hoeffding)."""
    return 1 + math.ceil(math.log(2 / delta) / (2 * epsilon**2))


@lru_cache(maxsize=1024)
def ranks_around(part: int, rows: int, delta: float) -> tuple[int, int]:
    """Ranks (from 1) in a sample of `rows` rows that bound the quantile of `part` billionths.

    It is below the first with probability at most delta / 2, and likewise above the second. 0 and rows + 1: unbounded.
    """
    if part <= 0:  # the least row is at most any other quantile
        return 0, ranks_around(1, rows, delta)[1]
    if part >= BILLION:
        return ranks_around(BILLION - 1, rows, delta)[0], rows + 1
    below = np.cumsum(_chances(part, rows))
    total = below[-1]
    at_most = below / total  # P(at most i in the sample are among the smallest)
    low = int(np.searchsorted(at_most, delta / 2, side="right"))  # the largest L with P(fewer than L) <= delta / 2
    above = np.cumsum(_chances(part, rows)[::-1])[::-1] / total
    reached = np.flatnonzero(above <= delta / 2)
    return low, int(reached[0]) if len(reached) else rows + 1


def _chances(part: int, rows: int) -> Float64:
    """float64[rows + 1]: the probability of each number of successes, relative to the likeliest."""
    odds = part / (BILLION - part)
    mode = min(rows, (rows + 1) * part // BILLION)
    steps = np.arange(mode, rows, dtype=np.float64)
    up = np.cumprod((rows - steps) / (steps + 1) * odds)
    steps = np.arange(mode, 0, -1, dtype=np.float64)
    down = np.cumprod(steps / (rows - steps + 1) / odds)
    return np.concatenate([down[::-1], [1.0], up])


@lru_cache(maxsize=4096)
def share_around(count: int, rows: int, delta: float) -> tuple[float, float]:
    """Chernoff bounds of a share with `count` of `rows` in the sample, false with probability delta together."""
    goal = math.log(2 / delta) / rows
    share = count / rows
    low = _edge(share, goal, 0.0, share) if count else 0.0
    return low, (_edge(share, goal, 1.0, share) if count < rows else 1.0)


def _edge(share: float, goal: float, outer: float, inner: float) -> float:
    """The share nearest to `outer` whose divergence from the observed one is at most the goal, rounded outwards."""
    for _ in range(_STEPS):
        middle = (outer + inner) / 2
        if not 0 < middle < 1 or _divergence(share, middle) > goal:
            outer = middle
        else:
            inner = middle
    return outer


def _divergence(share: float, true: float) -> float:
    divergence = 0.0
    if share > 0:
        divergence += share * math.log(share / true)
    if share < 1:
        divergence += (1 - share) * math.log((1 - share) / (1 - true))
    return divergence


def count_around(k: int, limit: int, delta: float) -> tuple[float, float, float]:
    """(rows, low, high): the number of rows, if the k-th smallest of their random numbers is `limit` of 2^64."""
    part = _part_below(limit)
    goal = math.log(2 / delta)
    rows = (k - 1) / part
    low, high = float(k) * 1e-9, float(k)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if middle - k + k * math.log(k / middle) > goal else (low, middle)
    least = low / part
    low, high = float(k - 1), 3.0 * k + 4 * goal
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if middle - (k - 1) + (k - 1) * math.log((k - 1) / middle) > goal else (middle, high)
    estimates = likely_count(k, limit), math.floor(max(least, k)), math.ceil(max(high / part, rows))
    count, fewest, most = (float(min(number, _MOST_ROWS)) for number in estimates)
    return count, fewest, most


def likely_count(k: int, limit: int) -> int:
    """The likely number of rows, if the k-th smallest of their random numbers is `limit` of 2^64."""
    return min(max(round((k - 1) / _part_below(limit)), k), _MOST_ROWS)


def _part_below(limit: int) -> float:
    return (limit + 1) / 2.0**64
