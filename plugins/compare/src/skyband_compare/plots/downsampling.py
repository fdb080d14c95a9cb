"""Long series made short enough to look at, without losing how far they reached."""

import numpy as np
from attrs import frozen
from skyband.arrays import Float64, Int64


@frozen(eq=False)
class Series:
    """A value at each moment, with the least and the most it may be; all of length p, in the order of time."""

    at: Int64
    value: Float64
    low: Float64
    high: Float64


def shortened(series: Series, most: int) -> tuple[Series, float]:
    """A series of at most `most` moments, and how many of the old ones each stands for.

    Neighbouring moments are put together, about equally many: their mean, the least `low`, the largest `high`, at the
    last of them. Values that are not finite count for nothing.
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
