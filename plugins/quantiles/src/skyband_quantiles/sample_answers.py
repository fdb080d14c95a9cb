"""Estimates of quantiles, shares and counts of all rows from a uniform sample, with bounds, using numpy only."""

import numpy as np
from skyband.arrays import Float64, Int64, UInt64

from skyband_quantiles.ranks import rank
from skyband_quantiles.sample_bounds import count_around, ranks_around, share_around

_STEP = 16
Count = tuple[float, float, float]


def smallest(scores: UInt64, values: Float64, size: int) -> tuple[UInt64, Float64]:
    """Reduce many random numbers, with their values, to the `size` smallest and a few more.

    A sixteenth of the numbers gives the limit, which takes a tenth of the time of partitioning all.
    """
    if len(scores) <= 3 * size:
        return scores, values
    subset = np.sort(scores[::_STEP])
    place = size // _STEP * 5 // 4 + 8
    few = np.flatnonzero(scores < subset[place]) if place < len(subset) else np.empty(0, np.int64)
    return (scores[few], values[few]) if len(few) >= size else (scores, values)


def of_sample(
    scores: UInt64, values: Float64, size: int, delta: float, parts: Int64, limits: Float64
) -> tuple[Count, Float64, Float64]:
    """Estimates for all rows from their sample; the rows with the smallest scores must be among these."""
    limit, values = kth_and_below(scores, values, size)
    count = (float(len(values)),) * 3 if limit is None else count_around(size, limit, delta)
    return count, *of_values(values, limit is None, delta, parts, limits)


def kth_and_below(scores: UInt64, values: Float64, size: int) -> tuple[int | None, Float64]:
    """The `size`-th smallest number and the values of those below it; None and all values if there are fewer."""
    if len(scores) < size:
        return None, values
    scores, values = smallest(scores, values, size)
    limit = int(np.partition(scores, size - 1)[size - 1])
    return limit, values[scores < np.uint64(limit)]


def of_values(values: Float64, are_all: bool, delta: float, parts: Int64, limits: Float64) -> tuple[Float64, Float64]:
    """Quantiles and shares of these values, or, unless `are_all`, of the rows that they were sampled from."""
    rows = len(values)
    quantiles, shares = np.full((len(parts), 3), np.nan), np.full((len(limits), 3), np.nan)
    ranks = [_ranks(part, rows, are_all, delta) for part in parts.tolist()] if rows else []
    inside = sorted({number - 1 for three in ranks for number in three if 0 < number <= rows})
    ordered = np.partition(values, inside) if inside else values
    for place, three in enumerate(ranks):
        quantiles[place] = [_value_of(ordered, number) for number in three]
    for place, above in enumerate(limits.tolist() if rows else ()):
        count = int(np.count_nonzero(values > above))
        low, high = (count / rows,) * 2 if are_all else share_around(count, rows, delta)
        shares[place] = count / rows, low, high
    return quantiles, shares


def _ranks(part: int, rows: int, are_all: bool, delta: float) -> tuple[int, int, int]:
    """The rank of a quantile among `rows` values, and its bounds."""
    middle = rank(part, rows)
    return (middle, middle, middle) if are_all else (middle, *ranks_around(part, rows, delta))


def _value_of(ordered: Float64, number: int) -> float:
    """The value of a rank of the sample; infinite if there is none."""
    if 0 < number <= len(ordered):
        return float(ordered[number - 1])
    return np.inf if number else -np.inf
