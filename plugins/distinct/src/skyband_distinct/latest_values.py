"""Finds the latest values of keys, and estimates how many are in a range. Loads no compiled code."""

import math
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

import numpy as np
from skyband.arrays import Float64, Int64, UInt64
from skyband.config.half_open_ranges import ValueRange


class RangeSample(NamedTuple):
    """A subsketch's sample of the keys in a range."""

    keys: int
    """The sampled keys in the range: a lower bound of the number of all."""
    share: float
    """The lowest share of all hashes, which sampled keys have; 1 if all keys are sampled."""

    @property
    def estimate(self) -> float:
        """The number of keys in the range."""
        return self.keys / self.share


def latest(times: Int64, hashes: UInt64, values: Float64) -> tuple[UInt64, Float64]:
    """The distinct hashes, ascending, and their latest values: the largest if several are at that time. O(n log n)."""
    order = np.lexsort((values, times, hashes))
    ordered = hashes[order]
    last = np.append(ordered[1:] != ordered[:-1], True) if len(ordered) else np.zeros(0, bool)
    return ordered[last], values[order][last]


def sample_of(values: Float64, share: float, within: ValueRange) -> RangeSample:
    """The sample of a range, from the latest values of the keys whose hashes are in the lowest `share`."""
    return RangeSample(int(np.count_nonzero(within.holds(values))), share)


def range_estimate(samples: Sequence[RangeSample], keys: float, epsilon: float, k: int) -> tuple[float, float, float]:
    """(count, low, high) from the subsketches; `keys` is the estimate of the number of all keys.

    With probability 1 − delta, the count is off by at most epsilon times all keys. A part p of the keys deviates less,
    by sqrt(p / k) of all keys instead of sqrt(1 / k). So low and high are the ends of a Poisson number's interval of as
    many deviations (medians over the subsketches), if these are closer.
    """
    total = float(max(sample.keys for sample in samples))
    count = max(round(float(median(sample.estimate for sample in samples)), 3), total)
    off, deviations = epsilon * keys / (1 - epsilon), epsilon * math.sqrt(k) / (1 - epsilon)
    lows, highs = zip(*(around(sample, deviations) for sample in samples), strict=True)
    return count, max(total, count - off, min(median(lows), count)), min(count + off, max(median(highs), count))


def around(sample: RangeSample, deviations: float) -> tuple[float, float]:
    """Garwood's interval for a Poisson number, by Wilson and Hilferty's cube root (1931)."""
    low, high = (
        number * max(0.0, 1 - 1 / (9 * number) + side * deviations / (3 * math.sqrt(number))) ** 3 if number else 0.0
        for number, side in ((sample.keys, -1), (sample.keys + 1, 1))
    )
    return low / sample.share, high / sample.share


def to_bits(values: Float64) -> Int64:
    """int64[n] that compare as float64[n] do; there must be no NaN."""
    bits = values.view(np.int64)
    return bits ^ ((bits >> np.int64(63)) & np.int64(2**63 - 1))


def from_bits(bits: Int64) -> Float64:
    """The inverse of `to_bits`."""
    values: Float64 = (bits ^ ((bits >> np.int64(63)) & np.int64(2**63 - 1))).view(np.float64)
    return values
