"""How large a sketch must be for its epsilon and delta."""

import math
from functools import lru_cache
from statistics import NormalDist

from skyband_distinct.stamps.likelihood_formula import DEVIATION

_MARGIN = 1.1
_SKYBAND_MARGIN = 1.05
_FEWEST = 64


def quantile(delta: float) -> float:
    """How many standard deviations a normal value stays within, but for a share `delta`."""
    return -NormalDist().inv_cdf(delta / 2)


@lru_cache(maxsize=64)
def likelihood_arrays(epsilon: float, delta: float) -> int:
    """Arrays that bring the likelihood estimate within epsilon, a tenth to spare, but for a share delta.

    Its logarithm is close to normal, so it is log(1 + epsilon), the nearer end, that must hold all deviations.
    """
    return max(_FEWEST, math.ceil((_MARGIN * DEVIATION * quantile(delta) / math.log1p(epsilon)) ** 2))


def fm_arrays(epsilon: float, delta: float) -> int:
    """The paper's l = (2 / epsilon^2) ln(1 / delta), in whole words of 64: 15,040 at epsilon 0.02, delta 0.05.

    An array's first gap deviates by 1.12 levels, the mean of l by a relative 0.78 / sqrt(l): with this l, at most
    0.55 epsilon / sqrt(ln(1 / delta)), which leaves delta ample room.
    """
    return 64 * math.ceil(2 * math.log(1 / delta) / epsilon**2 / 64)


def fm_recent(epsilon: float) -> int:
    """The paper's L = 1 / epsilon: below it, an error of epsilon is less than one key."""
    return math.ceil(1 / epsilon)


def likelihood_recent(epsilon: float) -> int:
    """Recent keys below which the likelihood estimate is not needed.

    With fewer than 1 / epsilon keys, two that share a cell are one error too many, and that is likelier than delta:
    at epsilon 0.02, delta 0.05 and 45 keys it happens to 6 % of the tables. From 8 / epsilon keys on, shared cells
    are many enough to be corrected for, and 3.4 standard deviations fit into epsilon.
    """
    return math.ceil(8 / epsilon)


def pcsa_recent(epsilon: float, arrays: int, zeta: int) -> int:
    """Recent keys below which SE-PCSA's estimate is useless: with fewer than 8 keys an array, it is biased."""
    return max(fm_recent(epsilon), math.ceil(8 * arrays / zeta))


def subsketches(delta: float) -> int:
    """The paper's l = ln(1 / delta), as an odd number, so that a median is one of them."""
    return math.ceil(math.log(1 / delta)) // 2 * 2 + 1


@lru_cache(maxsize=64)
def skyband_size(epsilon: float, delta: float, count: int) -> int:
    """The paper's k = 2 / epsilon^2, or more where the median of `count` needs it for this delta.

    The median is off if more than half are, to one side; an estimate deviates by a relative 1 / sqrt(k), close to
    normal from a few dozen hashes on.
    """
    low, high = 0.0, 40.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if 2 * _most_beyond(middle, count) > delta else (low, middle)
    return max(_FEWEST, math.ceil(max(2.0, (_SKYBAND_MARGIN * high) ** 2) / epsilon**2))


@lru_cache(maxsize=64)
def theta_size(epsilon: float, delta: float) -> int:
    """The fewest hashes k with which one sketch, without a median, is off by more than epsilon with delta at most.

    With many keys, (k - 1) / estimate is to their number as a gamma value of shape k is to k - 1. Its tails are those
    of Wilson and Hilferty's cube root (1931), with a tenth of delta to spare.
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
    """How many subsketches there are, and the k of each. A theta sketch has one hash, so it is one."""
    if theta:
        return 1, theta_size(epsilon, delta)
    count = subsketches(delta)
    return count, skyband_size(epsilon, delta, count)


def _most_beyond(deviations: float, count: int) -> float:
    """The probability that more than half of `count` normal values exceed so many standard deviations."""
    one = NormalDist().cdf(-deviations)
    return sum(
        math.comb(count, many) * one**many * (1 - one) ** (count - many) for many in range(count // 2 + 1, count + 1)
    )
