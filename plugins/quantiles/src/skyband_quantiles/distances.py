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
    """L and H at some numbers, each as rows of rows, and what F probably is."""

    low: Int64
    low_of: Int64
    high: Int64
    high_of: Int64
    likely: Float64

    @classmethod
    def of(cls, steps: Steps, numbers: Float64) -> "_Shares":
        """Adding a row of those that may be in the window to others lowers the share of the rest, so L has all that are
        not below, and H only those that perhaps are."""
        rows, sure = below(steps, numbers), int(steps.sure.sum())
        low_of = sure + int(steps.maybe.sum()) - rows.maybe
        high, high_of = rows.sure_at_most + rows.maybe_at_most, sure + rows.maybe_at_most
        likely = rows.likely / max(sure + float(steps.likely.sum()), 1e-300)
        return cls(rows.sure, np.maximum(low_of, 1), high, np.maximum(high_of, 1), likely)


def kolmogorov_smirnov(steps: Steps, against: Steps) -> Bounds:
    """The largest difference of the distribution functions, as scipy.stats.ks_2samp's statistic.

    Both bounds are reached where an interval ends. O(n log n) for n intervals.
    """
    ends = _ends(steps, against)
    one, other = _Shares.of(steps, ends), _Shares.of(against, ends)
    low = max(0.0, *(_most(a.low, a.low_of, b.high, b.high_of) for a, b in ((one, other), (other, one))))
    high = max(_most(a.high, a.high_of, b.low, b.low_of) for a, b in ((one, other), (other, one)))
    if low < high:
        high = min(high + _OF_SHARES, 1.0)
    return _within(float(np.abs(one.likely - other.likely).max()), low, high)


def wasserstein(steps: Steps, against: Steps) -> Bounds | None:
    """The area between the distribution functions, in the unit of the values; None if any value is infinite."""
    ends = _ends(steps, against)
    if not np.isfinite(ends[[0, -1]]).all():
        return None
    one, other = _Shares.of(steps, ends), _Shares.of(against, ends)
    scale = 0.25 if np.abs(ends[[0, -1]]).max() > _LARGE else 1.0
    gaps = np.diff(ends * scale)
    lows, highs = (a.low / a.low_of - b.high / b.high_of for a, b in ((one, other), (other, one)))
    low = math.fsum(gaps * np.maximum(np.maximum(lows, highs), 0.0)[:-1])
    lows, highs = (a.high / a.high_of - b.low / b.low_of for a, b in ((one, other), (other, one)))
    high = math.fsum(gaps * np.maximum(lows, highs)[:-1])
    likely = math.fsum(gaps * np.abs(one.likely - other.likely)[:-1])
    if steps.exact and against.exact:
        low = likely = high
    else:
        low, high = low * (1 - _ROUNDING), high * (1 + _ROUNDING)
    return _within(likely / scale, low / scale, high / scale)


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


def _ends(*windows: Steps) -> Float64:
    ends: Float64 = np.unique(np.concatenate([ends for steps in windows for ends in (steps.least, steps.largest)]))
    return ends


def _most(above: Int64, above_of: Int64, beneath: Int64, beneath_of: Int64) -> float:
    """The largest above / above_of - beneath / beneath_of, rounded once."""
    at = int(np.argmax(above / above_of - beneath / beneath_of))
    return float(Fraction(int(above[at]), int(above_of[at])) - Fraction(int(beneath[at]), int(beneath_of[at])))


def _within(value: float, low: float, high: float) -> Bounds:
    return min(max(value, low), high), low, high
