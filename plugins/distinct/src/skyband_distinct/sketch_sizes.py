"""Computes the size of a sketch from its epsilon and delta."""

import math
from functools import lru_cache
from statistics import NormalDist

from skyband_distinct.stamps.likelihood_formula import DEVIATION

_MARGIN = 1.1
_SKYBAND_MARGIN = 1.05
_FEWEST = 64


def quantile(delta: float) -> float:
    """The number of standard deviations that a normal value exceeds with probability `delta`, on either side."""
    return -NormalDist().inv_cdf(delta / 2)


@lru_cache(maxsize=64)
def likelihood_arrays(epsilon: float, delta: float) -> int:
    """The arrays that keep the likelihood estimate within epsilon except for a share delta, with a tenth to spare.

    Its logarithm is close to normal, so all deviations must fit into log(1 + epsilon), the nearer end.
    """
    return max(_FEWEST, math.ceil((_MARGIN * DEVIATION * quantile(delta) / math.log1p(epsilon)) ** 2))


def fm_arrays(epsilon: float, delta: float) -> int:
    """The paper's l = (2 / epsilon^2) ln(1 / delta), in whole words of 64: 15,040 at epsilon 0.02, delta 0.05.

    An array's first gap deviates by 1.12 levels, the mean of l by a relative 0.78 / sqrt(l): with this l, at most
    0.55 epsilon / sqrt(ln(1 / delta)), well within delta.
    """
    return 64 * math.ceil(2 * math.log(1 / delta) / epsilon**2 / 64)


def fm_recent(epsilon: float) -> int:
    """The paper's L = 1 / epsilon: with fewer keys, an error of epsilon is less than one key."""
    return math.ceil(1 / epsilon)


def likelihood_recent(epsilon: float) -> int:
    """The number of recent keys, below which counts need no likelihood estimate.

    With fewer than 1 / epsilon keys, a single shared cell exceeds epsilon, and that is likelier than delta: at epsilon
    0.02, delta 0.05 and 45 keys it happens in 6 % of the tables. From 8 / epsilon keys on, there are enough shared
    cells to correct for them, and 3.4 standard deviations fit into epsilon.
    """
    return math.ceil(8 / epsilon)


def pcsa_recent(epsilon: float, arrays: int, zeta: int) -> int:
    """The number of recent keys, below which SE-PCSA's estimate is biased: fewer than 8 keys an array."""
    return max(fm_recent(epsilon), math.ceil(8 * arrays / zeta))


def subsketches(delta: float) -> int:
    """The paper's l = ln(1 / delta), rounded to an odd number, so that the median is one of them."""
    return math.ceil(math.log(1 / delta)) // 2 * 2 + 1


@lru_cache(maxsize=64)
def skyband_size(epsilon: float, delta: float, count: int) -> int:
    """The paper's k = 2 / epsilon^2, or more if the median of `count` subsketches needs it for this delta.

    The median is off if more than half of them are off to one side. An estimate deviates by a relative 1 / sqrt(k),
    close to normal from a few dozen hashes on.
    """
    low, high = 0.0, 40.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if 2 * _most_beyond(middle, count) > delta else (low, middle)
    return max(_FEWEST, math.ceil(max(2.0, (_SKYBAND_MARGIN * high) ** 2) / epsilon**2))


@lru_cache(maxsize=64)
def theta_size(epsilon: float, delta: float) -> int:
    """The fewest hashes k with which a single sketch is off by more than epsilon with probability at most delta.

    With n keys, many, n / estimate is distributed as a gamma value of shape k over k - 1. Its tails follow Wilson and
    Hilferty's cube root (1931), with a tenth of delta to spare.
    """
    low, high = _FEWEST - 1, _FEWEST
    while _misses(high, epsilon) > delta / _MARGIN:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _misses(middle, epsilon) > delta / _MARGIN else (low, middle)
    return high


def _misses(k: int, epsilon: float) -> float:
    ends = (((k - 1) / ((1 + side * epsilon) * k)) ** (1 / 3) for side in (1, -1))
    above, below = (3 * math.sqrt(k) * (end - 1 + 1 / (9 * k)) for end in ends)
    return NormalDist().cdf(above) + NormalDist().cdf(-below)


def skyband_shape(epsilon: float, delta: float, theta: bool) -> tuple[int, int]:
    """The number of subsketches and the k of each. A theta sketch has one hash function, so it is a single one."""
    if theta:
        return 1, theta_size(epsilon, delta)
    count = subsketches(delta)
    return count, skyband_size(epsilon, delta, count)


def _most_beyond(deviations: float, count: int) -> float:
    """The probability that more than half of `count` normal values exceed this many standard deviations."""
    beyond = NormalDist().cdf(-deviations)
    numbers = range(count // 2 + 1, count + 1)
    return sum(math.comb(count, many) * beyond**many * (1 - beyond) ** (count - many) for many in numbers)
