"""The values that keys had last, beside hashes and times, and how many are in a range. Loads no compiled code."""

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

import numpy as np
from skyband.arrays import Float64, Int64, UInt64
from skyband.config.value_ranges import ValueRange


class RangeSample(NamedTuple):
    """What a subsketch says of a range."""

    count: float  # type: ignore[assignment]  # a tuple's own `count` is nobody's need here
    """Keys in the range, estimated."""
    seen: int
    """Those among the hashes that it keeps: there are as many at least."""


def latest(times: Int64, hashes: UInt64, values: Float64) -> tuple[UInt64, Float64]:
    """The distinct hashes, ascending, each with its latest value, of several at that time the largest. O(n log n)."""
    order = np.lexsort((values, times, hashes))
    ordered = hashes[order]
    last = np.append(ordered[1:] != ordered[:-1], True) if len(ordered) else np.zeros(0, bool)
    return ordered[last], values[order][last]


def sampled(values: Float64, share: float, within: ValueRange) -> RangeSample:
    """From the latest values of the keys whose hashes are in the lowest `share`."""
    seen = int(np.count_nonzero(within.holds(values)))
    return RangeSample(seen / share, seen)


def told(samples: Sequence[RangeSample], keys: float, epsilon: float) -> tuple[float, float, float]:
    """(count, low, high) from the subsketches; `keys` are there in all, by their estimate.

    The count is off by epsilon times the keys there are at most, but for delta: of all keys it is their number, and of
    fewer it deviates less, by sqrt(part / k) instead of sqrt(1 / k).
    """
    seen = float(max(sample.seen for sample in samples))
    count = max(round(float(median(sample.count for sample in samples)), 3), seen)
    off = epsilon * keys / (1 - epsilon)
    return count, max(seen, count - off), count + off


def to_bits(values: Float64) -> Int64:
    """int64[n] in the same order as float64[n], which holds no NaN."""
    bits = values.view(np.int64)
    return bits ^ ((bits >> np.int64(63)) & np.int64(2**63 - 1))


def from_bits(bits: Int64) -> Float64:
    """The values that `to_bits` was given."""
    found: Float64 = (bits ^ ((bits >> np.int64(63)) & np.int64(2**63 - 1))).view(np.float64)
    return found
