"""The values that keys had last, beside hashes and times, and how many are in a range. Loads no compiled code."""

import math
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

import numpy as np
from skyband.arrays import Float64, Int64, UInt64
from skyband.config.half_open_ranges import ValueRange

LARGEST = 2.0**960
"""The largest value, and the smallest with its sign changed, that is added up: no sum of such leaves float64."""


class RangeSample(NamedTuple):
    """What a subsketch says of a range."""

    seen: int
    """Keys in the range among those it keeps: there are as many at least."""
    share: float
    """It keeps the keys whose hashes are in the lowest share, 1 of all."""

    @property
    def estimate(self) -> float:
        """Keys in the range."""
        return self.seen / self.share


def latest(times: Int64, hashes: UInt64, values: Float64) -> tuple[UInt64, Float64]:
    """The distinct hashes, ascending, each with its latest value, of several at that time the largest. O(n log n)."""
    order = np.lexsort((values, times, hashes))
    ordered = hashes[order]
    last = np.append(ordered[1:] != ordered[:-1], True) if len(ordered) else np.zeros(0, bool)
    return ordered[last], values[order][last]


def sample_of(values: Float64, share: float, within: ValueRange) -> RangeSample:
    """From the latest values of the keys whose hashes are in the lowest `share`."""
    return RangeSample(int(np.count_nonzero(within.holds(values))), share)


def range_estimate(samples: Sequence[RangeSample], keys: float, epsilon: float, k: int) -> tuple[float, float, float]:
    """(count, low, high) from the subsketches; `keys` are there in all, by their estimate.

    The count is off by epsilon times the keys there are at most, but for delta: of all keys it is their number, and of
    a part p of them it deviates less, by sqrt(p / k) of them instead of sqrt(1 / k). So low and high are the ends of a
    Poisson number's interval, as many deviations away (medians of the subsketches'), where these are nearer.
    """
    total = float(max(sample.seen for sample in samples))
    count = max(round(float(median(sample.estimate for sample in samples)), 3), total)
    off, deviations = epsilon * keys / (1 - epsilon), epsilon * math.sqrt(k) / (1 - epsilon)
    lows, highs = zip(*(around(sample, deviations) for sample in samples), strict=True)
    return count, max(total, count - off, min(median(lows), count)), min(count + off, max(median(highs), count))


def around(sample: RangeSample, deviations: float) -> tuple[float, float]:
    """Garwood's interval of a Poisson number, by Wilson and Hilferty's cube root (1931)."""
    low, high = (
        number * max(0.0, 1 - 1 / (9 * number) + side * deviations / (3 * math.sqrt(number))) ** 3 if number else 0.0
        for number, side in ((sample.seen, -1), (sample.seen + 1, 1))
    )
    return low / sample.share, high / sample.share


def to_bits(values: Float64) -> Int64:
    """int64[n] in the same order as float64[n], which holds no NaN."""
    bits = values.view(np.int64)
    return bits ^ ((bits >> np.int64(63)) & np.int64(2**63 - 1))


def from_bits(bits: Int64) -> Float64:
    """The values that `to_bits` was given."""
    values: Float64 = (bits ^ ((bits >> np.int64(63)) & np.int64(2**63 - 1))).view(np.float64)
    return values
