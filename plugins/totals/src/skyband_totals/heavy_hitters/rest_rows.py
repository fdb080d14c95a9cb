"""Computes the row of all objects that are not in an answer. Loads no compiled code."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from skyband.arrays import Array, Float64, Int64

from skyband_totals.fixed_point import worth
from skyband_totals.top import UNKNOWN, Tops


class Rest(NamedTuple):
    """The totals of all other objects of each answer, float64[a] each, and their number, int64[a]."""

    totals: Float64
    low: Float64
    high: Float64
    objects: Int64


def rest_of(answers: Tops, unit: float) -> Rest:
    """The remainder of the grand totals.

    Whole units are subtracted, so that an exact remainder of 0 is 0. The low of the others is the low of the grand
    total minus the highs of the objects, and never below 0.
    """
    sizes = np.diff(answers.offsets)
    of = np.repeat(np.arange(len(answers)), sizes)

    def remainder(grand: Float64, parts: Float64) -> Float64:
        sums = np.bincount(of, in_units(parts, unit), len(answers))
        return np.maximum(in_units(grand, unit) - sums, 0.0)

    low = remainder(answers.grand_low, answers.high)
    high = remainder(answers.grand_high, answers.low)
    likely = np.clip(remainder(answers.grand, answers.totals), low, high)
    count = answers.objects_in_all
    others = np.where(count == UNKNOWN, UNKNOWN, count - sizes)
    return Rest(worth(likely, unit), worth(low, unit), worth(high, unit), others)


def in_units(totals: Float64, unit: float) -> Float64:
    """Totals in units, float64[n]: whole numbers for multiples, except for rounding; other estimates are unchanged."""
    units = totals / unit
    nearest = np.rint(units)
    return np.where(np.abs(units - nearest) <= units * 2.0**-50, nearest, units)


def with_rest(ranked: Array, values: Array, of_rest: Array) -> Array:
    """One column of the ranked rows (bool[n]) and the others, each in order."""
    column = np.empty(len(ranked), values.dtype)
    column[ranked], column[~ranked] = values, of_rest
    return column


def spread(ranked: Array, values: pa.Array) -> pa.Array:
    """One column with these values in ranked rows (bool[n]), and nulls elsewhere."""
    return values.take(pa.array(np.cumsum(ranked) - 1, mask=~ranked))


def shares(totals: Float64, grand: Float64) -> pa.Array:
    """The totals as parts of the grand totals, float64[n] each; null if the grand total is 0."""
    zero = grand == 0
    return pa.array(totals / np.where(zero, 1.0, grand), mask=zero)


def object_counts(counts: Int64) -> pa.Array:
    """The numbers of objects, null if unknown."""
    return pa.array(counts, mask=counts == UNKNOWN)
