"""Bounds of a share from a sample (Clopper and Pearson 1934).

A sample without replacement has smaller tails than one with it (Hoeffding 1956), so they hold for both.
"""

import math
from collections.abc import Callable

LeastShare = Callable[[int, int, float], float]


def least_share(part: int, total: int, miss: float) -> float:
    """The largest share at which a sample of `total` has `part` or more with a probability of at most `miss`.

    part: at least 1. miss: at most 1/4. Rounded down by a billionth, as sums of floats are rounded. O(sqrt(total)).
    The probability is an incomplete beta function, here by its continued fraction (Lentz's method). Its logarithm is
    almost a straight line over that of the share, so that false position finds the share in a few steps. It is one
    function so that numba can compile it.
    """
    if part == total:
        return math.exp(math.log(miss) / total) * (1.0 - 1e-9)
    a, b = float(part), float(total - part + 1)
    constant = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) - math.log(a) - math.log(miss)
    point = math.log(part / total)
    above, over, below, under = point, 0.0, point, 0.0
    width, bracketed = 1.0 / math.sqrt(part), False
    for _ in range(200):
        share = math.exp(point)
        lower = 1.0 / (1.0 - (a + b) * share / (a + 1.0))
        fraction, upper = lower, 1.0
        for step in range(1, 2000):
            twice = a + 2.0 * step
            even = step * (b - step) * share / ((twice - 1.0) * twice)
            lower, upper = 1.0 / (1.0 + even * lower), 1.0 + even / upper
            fraction *= lower * upper
            odd = -(a + step) * (a + b + step) * share / (twice * (twice + 1.0))
            lower, upper = 1.0 / (1.0 + odd * lower), 1.0 + odd / upper
            fraction *= lower * upper
            if abs(lower * upper - 1.0) < 1e-12:
                break
        value = constant + a * point + b * math.log1p(-share) + math.log(fraction)
        if value > 0.0:
            above, over = point, value
            under /= 2.0
            if not bracketed:
                point -= width
                width *= 2.0
                continue
        else:
            below, under, bracketed = point, value, True
            over /= 2.0
        if above - below <= 1e-12 * abs(below) or under > -1e-12:
            break
        point = below - under * (above - below) / (over - under)
        if not below < point < above:
            point = (below + above) / 2.0
    return math.exp(below) * (1.0 - 1e-9)


def share_bounds(part: int, total: int, miss: float, least: LeastShare = least_share) -> tuple[float, float]:
    """(low, high) of a share, `part` of a sample of `total`; each is missed with probability `miss` at most."""
    low = least(part, total, miss) if part else 0.0
    return low, 1.0 - least(total - part, total, miss) if part < total else 1.0
