"""What a uniform sample says of all rows: quantiles, shares and counts, with bounds. In numpy alone."""

import numpy as np
from skyband.arrays import Array, Float64, Int64

from skyband_quantiles.ranks import rank
from skyband_quantiles.sample_bounds import count_around, ranks_around, share_around


def of_sample(
    scores: Array, values: Float64, size: int, delta: float, parts: Int64, limits: Float64
) -> tuple[tuple[float, float, float], Float64, Float64]:
    """What a sample says of all rows, of which those with the smallest scores are among these."""
    limit = None
    if len(scores) >= size:
        limit = int(np.partition(scores, size - 1)[size - 1])
        values = values[scores < np.uint64(limit)]
    rows = len(values)
    sample = np.sort(values) if len(parts) or len(limits) else values
    found, shares = np.full((len(parts), 3), np.nan), np.full((len(limits), 3), np.nan)
    for place, part in enumerate(parts.tolist() if rows else ()):
        value = float(sample[rank(part, rows) - 1])
        low, high = (value, value) if limit is None else _between(sample, *ranks_around(part, rows, delta))
        found[place] = value, low, high
    for place, above in enumerate(limits.tolist() if rows else ()):
        seen = rows - int(np.searchsorted(sample, above, side="right"))
        low, high = (seen / rows,) * 2 if limit is None else share_around(seen, rows, delta)
        shares[place] = seen / rows, low, high
    count = (float(rows),) * 3 if limit is None else count_around(size, limit, delta)
    return count, found, shares


def _between(sample: Float64, low: int, high: int) -> tuple[float, float]:
    """The values of two ranks of the sample; infinite where there is none."""
    rows = len(sample)
    return (float(sample[low - 1]) if low > 0 else -np.inf), (float(sample[high - 1]) if high <= rows else np.inf)
