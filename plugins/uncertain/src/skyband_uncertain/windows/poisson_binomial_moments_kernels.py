"""The approximate windows' loops: fixed-point moments, and the three distribution functions of section 4.4."""

import math

import numpy as np
from numba import njit
from skyband.arrays import Float64, Int64
from skyband.kernels.nested import nested_njit, shared_njit

POISSON, NORMAL, REFINED = range(3)
_ROOT_HALF = math.sqrt(0.5)
_ROOT_TWO_PI = math.sqrt(2.0 * math.pi)


@njit(cache=True, nogil=True)
def advance(
    p: Float64, start: int, first: int, sums: Int64, starts: Int64,
    kind: int, size: int, scale: float, limit: float, strict: bool, mean_limit: int,
) -> None:  # fmt: skip
    """starts[i − first] = the start after arrival i of p[first:]; `sums` are of the tuples after `start`.

    A Poisson count is monotone in its mean, so its test needs no distribution: the mean must reach `mean_limit`.
    """
    for i in range(first, len(p)):
        if i > start:
            _add(sums, p[i], scale, 1)
        while i - start >= size:
            if kind == POISSON:
                if sums[0] < mean_limit:
                    break
            else:
                below = fewer_than(kind, size, sums, scale)
                if below > limit or (strict and below == limit):
                    break
            start += 1
            if start <= i:
                _add(sums, p[start], scale, -1)
        starts[i - first] = start


@njit(cache=True, nogil=True)
def presence(p: Float64, positions: Int64, ends: Int64, kind: int, size: int, scale: float, out: Float64) -> None:
    """out[i] = P(fewer than size of the tuples after positions[i] and before ends[i] exist), approximately.

    Requests are ascending by end and, at one end, descending by position.
    """
    sums = np.zeros(3, np.int64)
    at = end = -1
    for request in range(len(positions)):
        if ends[request] != end:
            end = ends[request]
            at = end - 1
            sums[:] = 0
        while at > positions[request]:
            _add(sums, p[at], scale, 1)
            at -= 1
        enough = end - positions[request] - 1 >= size
        out[request] = fewer_than(kind, size, sums, scale) if enough else 1.0


@njit(cache=True, nogil=True)
def sums_of(p: Float64, scale: float) -> Int64:
    """The three sums of p: of p, of p(1 − p) and of p(1 − p)(1 − 2p), in steps of 1/scale."""
    sums = np.zeros(3, np.int64)
    for probability in p:
        _add(sums, probability, scale, 1)
    return sums


@nested_njit(nogil=True)
def _add(sums: Int64, p: float, scale: float, sign: int) -> None:
    variance = p * (1.0 - p)
    sums[0] += sign * np.int64(math.floor(p * scale + 0.5))
    sums[1] += sign * np.int64(math.floor(variance * scale + 0.5))
    sums[2] += sign * np.int64(math.floor(variance * (1.0 - 2.0 * p) * scale + 0.5))


@shared_njit(nogil=True)
def fewer_than(kind: int, size: int, sums: Int64, scale: float) -> float:
    """The approximate P(fewer than size exist), within [0, 1]."""
    mean, variance, third = sums[0] / scale, sums[1] / scale, sums[2] / scale
    if kind == POISSON:
        return poisson_below(size, mean)
    if variance <= 0.0:
        return 1.0 if mean < size - 0.5 else 0.0
    deviation = math.sqrt(variance)
    x = (size - 0.5 - mean) / deviation
    below = 0.5 * math.erfc(-x * _ROOT_HALF)
    if kind == REFINED:
        skewness = third / (variance * deviation)
        below += skewness * (1.0 - x * x) * math.exp(-0.5 * x * x) / (6.0 * _ROOT_TWO_PI)
    return min(max(below, 0.0), 1.0)


@shared_njit(nogil=True)
def poisson_below(size: int, mean: float) -> float:
    """P(Poisson(mean) < size), the intended eq. 14: the regularised incomplete gamma function Q(size, mean).

    Uses its series left of the mode and Lentz's continued fraction right of it, with O(sqrt(size)) terms each.
    """
    if mean <= 0.0:
        return 1.0
    front = math.exp(size * math.log(mean) - mean - math.lgamma(size + 1.0))
    if mean < size + 1.0:
        term = total = 1.0
        n = size
        while term > total * 1e-17:
            n += 1
            term *= mean / n
            total += term
        return max(1.0 - front * total, 0.0)
    b = mean + 1.0 - size
    c, d = 1e300, 1.0 / b
    h = d
    for i in range(1, 1_000_000):
        a = -i * (i - size)
        b += 2.0
        d = 1.0 / _away_from_zero(a * d + b)
        c = _away_from_zero(b + a / c)
        h *= d * c
        if abs(d * c - 1.0) < 1e-16:
            break
    return min(front * size * h, 1.0)


@nested_njit(nogil=True)
def _away_from_zero(x: float) -> float:
    return x if abs(x) > 1e-300 else 1e-300


@njit(cache=True, nogil=True)
def mean_for(size: int, limit: float, strict: bool, scale: float) -> int:
    """The smallest mean, in steps of 1/scale, at which a Poisson count is below size with probability `limit`."""
    low, high = 0, int((4 * size + 4096) * scale)
    while low < high:
        middle = (low + high) // 2
        below = poisson_below(size, middle / scale)
        if below < limit or (below == limit and not strict):
            high = middle
        else:
            low = middle + 1
    return low
