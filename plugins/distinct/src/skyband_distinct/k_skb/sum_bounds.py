"""Estimates the sum of the values of all keys from those of a sample. Loads no compiled code.

The keys with the k − 1 smallest hashes are a uniform sample of all n, whatever their values, and the kth smallest hash
says how many keys there are. So a sum is the number of keys times their mean, each with its own interval:

- n times the kth smallest of n uniform hashes is beyond a, on its side of k, with a probability of at most
  exp(−(a − k + k ln(k / a))): Chernoff's bound of a Poisson number, which also bounds a binomial number.
- The mean of n values within [least, most] differs from that of m of them, drawn without replacement, by more than
  d sqrt(2 ln(1 / p) / m) + (7 / 3 + 3 / √2) (most − least) ln(1 / p) / m, on one side, with a probability of at most
  5 p; d is the deviation of the m values. Bardenet and Maillard 2015, theorem 4.3, without the factor that tightens it
  when the sample includes most keys.

Each subsketch has its own hash function: the median of their ends misses only if more than half of them do.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import median
from typing import NamedTuple

from skyband.arrays import Float64

_KAPPA = 7 / 3 + 3 / math.sqrt(2)


class ValueSample(NamedTuple):
    """The values of the keys that a subsketch keeps."""

    values: Float64
    share: float
    """The lowest share of all hashes, which the hashes of these keys are in; 1 if these are all keys."""


def sum_estimate(
    samples: Sequence[ValueSample], k: int, delta: float, least: float, most: float
) -> tuple[float, float, float]:
    """(sum, low, high) of values that all lie within [least, most], from k − 1 of them in each sample.

    The order of the values does not matter. O(samples · k).
    """
    miss = miss_of_one(delta, len(samples))
    sums, lows, highs = zip(*(_estimate_from(sample, k, miss, least, most) for sample in samples), strict=True)
    return float(median(sums)), float(median(lows)), float(median(highs))


def _estimate_from(sample: ValueSample, k: int, miss: float, least: float, most: float) -> tuple[float, float, float]:
    """(sum, low, high) from one sample; low and high are each wrong with a probability of at most `miss`."""
    total, count = math.fsum(sample.values.tolist()), k - 1
    mean = total / count
    deviation = math.sqrt(math.fsum(((sample.values - mean) ** 2).tolist()) / count)
    log = math.log(10 / miss)  # 5 p is half of `miss`
    off = deviation * math.sqrt(2 * log / count) + _KAPPA * (most - least) * log / count
    # If all values have one sign, each end of the sum depends on only one end of the number of keys.
    below, above = around_k(k, miss / (2 if least >= 0 or most <= 0 else 4))
    keys = max(float(k), below / sample.share), above / sample.share
    low = min(number * max(least, mean - off) for number in keys)
    high = max(number * min(most, mean + off) for number in keys)
    estimate = total / sample.share
    return estimate, min(low, estimate), max(high, estimate)


@lru_cache(maxsize=64)
def around_k(k: int, miss: float) -> tuple[float, float]:
    """The two ends that n times the kth smallest of n hashes is beyond with a probability of at most `miss` each."""
    log = math.log(1 / miss)
    return _end(k, log, 0.0), _end(k, log, 2 * k + 4 * log)


def _end(k: int, log: float, outside: float) -> float:
    """The number between k and `outside` at which Chernoff's exponent is `log`."""
    inside = float(k)
    for _ in range(100):
        middle = (inside + outside) / 2
        exponent = middle - k + k * math.log(k / middle)
        inside, outside = (inside, middle) if exponent > log else (middle, outside)
    return outside


@lru_cache(maxsize=64)
def miss_of_one(delta: float, count: int) -> float:
    """The most often that one sample's end may miss for the medians of `count` samples to miss a share delta."""
    low, high = 0.0, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if _most_miss(middle, count) > delta / 2 else (middle, high)
    return low


def _most_miss(miss: float, count: int) -> float:
    """The probability that more than half of `count` miss."""
    return sum(
        math.comb(count, many) * miss**many * (1 - miss) ** (count - many) for many in range(count // 2 + 1, count + 1)
    )
