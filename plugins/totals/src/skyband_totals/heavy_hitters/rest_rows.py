"""Everything else as one row: what the objects that are in no answer have together. Loads no compiled code."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from skyband.arrays import Array, Float64, Int64

from skyband_totals.fixed_point import worth
from skyband_totals.top import UNKNOWN, Tops


class Rest(NamedTuple):
    """Of each answer what its objects leave to the others, float64[a] each, and how many these are: int64[a]."""

    totals: Float64
    low: Float64
    high: Float64
    objects: Int64


def rest_of(answers: Tops, unit: float) -> Rest:
    """What is left of the grand totals.

    Whole units are subtracted, so that nothing is left where nothing is. The others have at least the least that all
    may have without the most that the objects may have, and never less than 0.
    """
    sizes = np.diff(answers.offsets)
    of = np.repeat(np.arange(len(answers)), sizes)

    def remainder(grand: Float64, parts: Float64) -> Float64:
        together = np.bincount(of, in_units(parts, unit), len(answers))
        return np.maximum(in_units(grand, unit) - together, 0.0)

    low = remainder(answers.grand_low, answers.high)
    high = remainder(answers.grand_high, answers.low)
    likely = np.clip(remainder(answers.grand, answers.totals), low, high)
    count = answers.objects_in_all
    others = np.where(count == UNKNOWN, UNKNOWN, count - sizes)
    return Rest(worth(likely, unit), worth(low, unit), worth(high, unit), others)


def in_units(totals: Float64, unit: float) -> Float64:
    """Totals in units, float64[n]: whole numbers where they are multiples but for the rounding; estimates unchanged."""
    units = totals / unit
    nearest = np.rint(units)
    return np.where(np.abs(units - nearest) <= units * 2.0**-50, nearest, units)


def with_rest(ranked: Array, values: Array, of_rest: Array) -> Array:
    """One column of the rows that are ranked (bool[n]) and of the others, each in order."""
    column = np.empty(len(ranked), values.dtype)
    column[ranked], column[~ranked] = values, of_rest
    return column


def spread(ranked: Array, values: pa.Array) -> pa.Array:
    """One column of these values where a row is ranked (bool[n]), and null elsewhere."""
    return values.take(pa.array(np.cumsum(ranked) - 1, mask=~ranked))


def shares(totals: Float64, grand: Float64) -> pa.Array:
    """The totals as parts of the grand totals, float64[n] each; null where there is nothing."""
    none = grand == 0
    return pa.array(totals / np.where(none, 1.0, grand), mask=none)


def object_counts(counts: Int64) -> pa.Array:
    """How many objects rows are about, null where it is not known."""
    return pa.array(counts, mask=counts == UNKNOWN)
