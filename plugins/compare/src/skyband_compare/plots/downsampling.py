"""Shortens long series for charts without losing their extremes."""

import numpy as np
from attrs import frozen
from skyband.arrays import Float64, Int64


@frozen(eq=False)
class Series:
    """A value at each moment, with its lower and upper bound; all of length p, in order of time."""

    at: Int64
    value: Float64
    low: Float64
    high: Float64


def shortened(series: Series, most: int) -> tuple[Series, float]:
    """A series of at most `most` moments, and how many of the old ones each represents.

    Groups of neighbouring moments, of about equal size, become one: their mean, the least `low` and the largest `high`,
    at the last of them. Values that are not finite are ignored.
    """
    count = len(series.at)
    if count <= most:
        return series, 1.0
    starts = np.linspace(0, count, most + 1).astype(np.int64)[:-1]
    ends = np.append(starts[1:], count) - 1
    finite = np.isfinite(series.value)
    sums = np.add.reduceat(np.where(finite, series.value, 0.0), starts)
    counts = np.add.reduceat(finite.astype(np.int64), starts)
    mean = np.divide(sums, counts, out=np.full(most, np.nan), where=counts > 0)
    low = np.minimum.reduceat(np.where(np.isfinite(series.low), series.low, np.inf), starts)
    high = np.maximum.reduceat(np.where(np.isfinite(series.high), series.high, -np.inf), starts)
    return Series(series.at[ends], mean, low, high), count / most
