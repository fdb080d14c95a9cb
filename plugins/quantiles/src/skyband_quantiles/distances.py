"""Distances between the values of two windows, with certain bounds, using numpy only.

A state knows of each window how many rows surely are, and how many may be, in each of some intervals of values. So the
window's distribution function F (the share of rows at or below x) lies between two steps, L(x) <= F(x) <= H(x), and all
distances between two functions that do lie between bounds computed from their steps. Where both states know all their
values, as quantile-sketch/exact does, L = F = H and the bounds are equal.

Kolmogorov-Smirnov on streams: Lall 2015. Population stability index: Siddiqi 2006.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from skyband.arrays import Float64, Int64

from skyband_quantiles.buckets.reading import Reading

Bounds = tuple[float, float, float]
"""A distance as it most likely is, at least and at most."""
_ROUNDING = 1e-9
"""Widens bounds that are sums of many rounded numbers."""
_OF_SHARES = 2.0**-51
"""The rounding of a difference of two shares."""
_LARGE = 4e307
"""Differences of larger numbers may be beyond float64."""


class Steps(NamedTuple):
    """The rows of a window by value: intervals in ascending order, and how many rows are in each."""

    least: Float64
    largest: Float64
    sure: Int64
    maybe: Int64
    """Rows that may be in the window or before it."""
    likely: Float64
    """The number of these that probably are in the window."""
    above: dict[float, tuple[int, int, float]]
    """By number, the rows above it, if they were counted: sure, maybe and likely ones."""

    @property
    def exact(self) -> bool:
        """Whether each value is known, and each row in the window."""
        return not self.maybe.any() and bool((self.least == self.largest).all())


class Below(NamedTuple):
    """The rows at or below each of some numbers: int64[n], except for the likely ones, float64[n].

    Surely below (whole intervals), perhaps below (every interval that begins there); both of the rows that surely are
    in the window, then of those that may be.
    """

    sure: Int64
    sure_at_most: Int64
    maybe: Int64
    maybe_at_most: Int64
    likely: Float64


def steps_of(rows: Reading, cuts: Sequence[float]) -> Steps:
    """The steps of what a state holds of a window. O(n) for n intervals."""
    if rows.sums is None:
        values, counts = np.unique(rows.raw, return_counts=True)
        return Steps(values, values, counts, np.zeros_like(counts), np.zeros(len(counts)), {})
    sums = rows.sums
    counts_above = {cut: above for cut, above in zip(cuts, rows.known_above, strict=True) if above is not None}
    return Steps(sums.least, sums.largest, np.diff(sums.sure), np.diff(sums.maybe), np.diff(sums.likely), counts_above)


def below(steps: Steps, numbers: Float64) -> Below:
    """The rows at or below each of ascending numbers. O(numbers · log intervals)."""
    whole, begun = (np.searchsorted(ends, numbers, side="right") for ends in (steps.largest, steps.least))
    sure, maybe = (np.append(0, np.cumsum(rows)) for rows in (steps.sure, steps.maybe))
    likely = np.append(0.0, np.cumsum(steps.sure + steps.likely))
    rows = Below(sure[whole], sure[begun], maybe[whole], maybe[begun], (likely[whole] + likely[begun]) / 2)
    for place in np.flatnonzero(np.isin(numbers, list(steps.above))).tolist():
        above, may, perhaps = steps.above[float(numbers[place])]
        rows.sure[place] = rows.sure_at_most[place] = sure[-1] - above
        rows.maybe[place] = rows.maybe_at_most[place] = maybe[-1] - may
        rows.likely[place] = likely[-1] - above - perhaps
    return rows


class _Shares(NamedTuple):
    """L and H below each interval and above the last, each as rows of rows, and what F probably is: [n + 1].

    The rows above numbers that were counted do not count here: of x between such a number and the end of its interval,
    they would bound F from one side only.
    """

    low: Int64
    low_of: Int64
    high: Int64
    high_of: Int64
    likely: Float64

    @classmethod
    def of(cls, steps: Steps) -> "_Shares":
        """Adding a row of those that may be in the window to others lowers the share of the rest, so L has all that are
        not below, and H only those that perhaps are."""
        sure, maybe = _sums(steps.sure), _sums(steps.maybe)
        likely = np.append(0.0, np.cumsum(steps.sure + steps.likely))
        low_of, high_of = sure[-1] + maybe[-1] - maybe, sure[-1] + maybe
        return cls(
            sure, np.maximum(low_of, 1), sure + maybe, np.maximum(high_of, 1), likely / max(float(likely[-1]), 1e-300)
        )

    def likely_at(self, ended: Int64, begun: Int64) -> Float64:
        """What F probably is after these numbers of intervals have ended and begun, with half of the rows between."""
        return (self.likely[ended] + self.likely[begun]) / 2

    def least_at(self, places: Int64) -> Float64:
        """L after these numbers of intervals have ended."""
        return self.low[places] / self.low_of[places]

    def most_at(self, places: Int64) -> Float64:
        """H after these numbers of intervals have begun."""
        return self.high[places] / self.high_of[places]


def _sums(rows: Int64) -> Int64:
    sums = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(rows, out=sums[1:])
    return sums


def kolmogorov_smirnov(steps: Steps, against: Steps) -> Bounds:
    """The largest difference of the distribution functions, as scipy.stats.ks_2samp's statistic.

    Low is reached where an interval ends, as L rises there, and high where one begins. O(n log n) for n intervals.
    """
    sides = (steps, _Shares.of(steps)), (against, _Shares.of(against))
    value, low, high = 0.0, 0.0, 0.0
    for (own, ours), (other, theirs) in (sides, sides[::-1]):
        begun = np.searchsorted(other.least, own.largest, side="right")
        ended = np.searchsorted(other.largest, own.least, side="right")
        low = max(low, _most(ours.low[1:], ours.low_of[1:], theirs.high[begun], theirs.high_of[begun]))
        high = max(high, _most(ours.high[1:], ours.high_of[1:], theirs.low[ended], theirs.low_of[ended]))
        last, following = np.maximum(begun - 1, 0), np.minimum(ended, len(other.least) - 1)
        at_largest = theirs.likely_at(begun - ((other.largest[last] > own.largest) & (begun > 0)), begun)
        at_least = theirs.likely_at(ended, ended + ((other.least[following] <= own.least) & (ended < len(other.least))))
        middles = np.where(own.least < own.largest, (ours.likely[:-1] + ours.likely[1:]) / 2, ours.likely[1:])
        value = max(value, float(np.abs(ours.likely[1:] - at_largest).max()), float(np.abs(middles - at_least).max()))
    if low < high:
        high = min(high + _OF_SHARES, 1.0)
    return _within(value, low, high)


def wasserstein(steps: Steps, against: Steps) -> Bounds | None:
    """The area between the distribution functions, in the unit of the values; None if any value is infinite."""
    sides = steps, against
    ends = np.sort(np.concatenate([ends for side in sides for ends in (side.least, side.largest)]))
    if not np.isfinite(ends[[0, -1]]).all():
        return None
    scale = 0.25 if np.abs(ends[[0, -1]]).max() > _LARGE else 1.0
    gaps, begins = np.diff(ends * scale), ends[:-1]
    least, most, likely = [], [], []
    for side in sides:
        shares = _Shares.of(side)
        ended, begun = (np.searchsorted(of, begins, side="right") for of in (side.largest, side.least))
        least.append(shares.least_at(ended))
        most.append(shares.most_at(begun))
        likely.append(shares.likely_at(ended, begun))
    lowest = np.maximum(np.maximum(least[0] - most[1], least[1] - most[0]), 0.0)
    low = math.fsum(gaps * lowest)
    high = math.fsum(gaps * np.maximum(most[0] - least[1], most[1] - least[0]))
    value = math.fsum(gaps * np.abs(likely[0] - likely[1]))
    if steps.exact and against.exact:
        low = value = high
    else:
        low, high = low * (1 - _ROUNDING), high * (1 + _ROUNDING)
    return _within(value / scale, low / scale, high / scale)


def population_stability(steps: Steps, against: Steps, ends: Float64) -> Bounds:
    """The population stability index over bins with these upper ends, float64[b] ascending, and one above the last.

    The sum of (p - q) ln(p / q) with p = (rows in the bin + 1/2) / (rows + bins / 2) of one window and q of the other.
    Each term is convex and 0 where p = q, so it is largest at a corner of what p and q may be.
    """
    low_p, high_p, likely_p = _bins(steps, ends)
    low_q, high_q, likely_q = _bins(against, ends)
    high = np.maximum(_term(low_p, high_q), _term(high_p, low_q))
    low = np.where(low_p > high_q, _term(low_p, high_q), np.where(low_q > high_p, _term(high_p, low_q), 0.0))
    total, most = math.fsum(low), math.fsum(high)
    if np.array_equal(low_p, high_p) and np.array_equal(low_q, high_q):
        return most, most, most
    return _within(math.fsum(_term(likely_p, likely_q)), total * (1 - _ROUNDING), most * (1 + _ROUNDING))


def _bins(steps: Steps, ends: Float64) -> tuple[Float64, Float64, Float64]:
    """float64[b + 1]: the least, the largest and the likely share of each bin."""
    bins, rows = len(ends) + 1, below(steps, ends)
    sure, maybe, likely = int(steps.sure.sum()), int(steps.maybe.sum()), float((steps.sure + steps.likely).sum())
    least = _between(rows.sure, rows.sure_at_most, sure)
    most = _between(rows.sure_at_most, rows.sure, sure)
    inside, touching = _between(rows.maybe, rows.maybe_at_most, maybe), _between(rows.maybe_at_most, rows.maybe, maybe)
    low = (least + 0.5) / (sure + maybe - inside + bins / 2)
    high = (most + touching + 0.5) / (sure + touching + bins / 2)
    probably = np.maximum(np.diff(rows.likely, prepend=0.0, append=likely), 0.0)
    return low, high, (probably + 0.5) / (likely + bins / 2)


def _between(upper: Int64, lower: Int64, rows: int) -> Int64:
    """int64[b + 1]: the rows in each bin, from those at or below its upper and its lower end, at least 0."""
    counts: Int64 = np.maximum(np.append(upper, rows) - np.append(0, lower), 0)
    return counts


def _term(p: Float64, q: Float64) -> Float64:
    terms: Float64 = (p - q) * np.log(p / q)
    return terms


def _most(above: Int64, above_of: Int64, beneath: Int64, beneath_of: Int64) -> float:
    """The largest above / above_of - beneath / beneath_of, rounded once."""
    at = int(np.argmax(above / above_of - beneath / beneath_of))
    return float(Fraction(int(above[at]), int(above_of[at])) - Fraction(int(beneath[at]), int(beneath_of[at])))


def _within(value: float, low: float, high: float) -> Bounds:
    return min(max(value, low), high), low, high
