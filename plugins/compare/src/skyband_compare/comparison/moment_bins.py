"""Shortens long series for charts by merging neighbouring moments."""

import numpy as np
from skyband.arrays import Array, Float64, Int64


def grid(at: Int64, most: int) -> Int64:
    """int64[g], g <= most: the last moments of groups of neighbours, of about equal size, ascending."""
    distinct = np.unique(at)
    if len(distinct) <= most:
        return distinct
    return distinct[np.linspace(0, len(distinct), most + 1).astype(np.int64)[1:] - 1]


def on_grid(at: Int64, values: Array, ends: Int64) -> Float64:
    """float64[g]: the mean of the values of each group of moments, NaN if it has none."""
    place = np.searchsorted(ends, at)
    inside = place < len(ends)
    counts = np.bincount(place[inside], minlength=len(ends))
    sums = np.bincount(place[inside], values[inside], len(ends))
    return np.divide(sums, counts, out=np.full(len(ends), np.nan), where=counts > 0)
