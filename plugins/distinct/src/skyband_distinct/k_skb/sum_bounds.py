"""What the values of a sample of the keys say of the sum over all keys. Loads no compiled code.

The keys whose k − 1 hashes are smallest are a uniform sample of all n, whatever their values, and the kth smallest
hash tells how many there are. So a sum is the number of keys times their mean, each with an interval of its own:

- Of n uniform hashes the kth smallest, times n, is below a or above it with a probability of at most
  exp(−(a − k + k ln(k / a))), on its side of k: Chernoff's bound of a binomial number by that of a Poisson number.
- The mean of n values within [least, most] is further from that of m of them, drawn without replacement, than
  d sqrt(2 ln(1 / p) / m) + (7 / 3 + 3 / √2) (most − least) ln(1 / p) / m with a probability of at most 5 p, on one
  side; d is the deviation of the m. Bardenet and Maillard 2015, theorem 4.3, without the factor that makes it nearer
  where the sample is most of all keys.

Subsketches have hashes of their own: the median of their ends misses where more than half of them do.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import median
from typing import NamedTuple

from skyband.arrays import Float64

_KAPPA = 7 / 3 + 3 / math.sqrt(2)


class ValueSample(NamedTuple):
    """Values of keys that a subsketch keeps."""

    values: Float64
    share: float
    """They are of the keys whose hashes are in the lowest share, 1 of all."""


def sum_estimate(
    samples: Sequence[ValueSample], k: int, delta: float, least: float, most: float
) -> tuple[float, float, float]:
    """(sum, low, high) of values that all lie within [least, most], from k − 1 of them in each sample.

    The same in whatever order the values are. O(samples · k).
    """
    miss = miss_of_one(delta, len(samples))
    sums, lows, highs = zip(*(_one(sample, k, miss, least, most) for sample in samples), strict=True)
    return float(median(sums)), float(median(lows)), float(median(highs))


def _one(sample: ValueSample, k: int, miss: float, least: float, most: float) -> tuple[float, float, float]:
    """The same from one sample; low, and high, are wrong with a probability of at most `miss`."""
    total, count = math.fsum(sample.values.tolist()), k - 1
    mean = total / count
    deviation = math.sqrt(math.fsum(((sample.values - mean) ** 2).tolist()) / count)
    log = math.log(10 / miss)  # 5 p is half of `miss`
    off = deviation * math.sqrt(2 * log / count) + _KAPPA * (most - least) * log / count
    # Where values have one sign only one end of the number of keys bears on an end of the sum.
    below, above = around_k(k, miss / (2 if least >= 0 or most <= 0 else 4))
    keys = max(float(k), below / sample.share), above / sample.share
    low = min(number * max(least, mean - off) for number in keys)
    high = max(number * min(most, mean + off) for number in keys)
    estimate = total / sample.share
    return estimate, min(low, estimate), max(high, estimate)


@lru_cache(maxsize=64)
def around_k(k: int, miss: float) -> tuple[float, float]:
    """What n times the kth smallest of n hashes is below, and above, with a probability of `miss` each at most."""
    log = math.log(1 / miss)
    return _end(k, log, 0.0), _end(k, log, 2 * k + 4 * log)


def _end(k: int, log: float, outside: float) -> float:
    """Between k and a number beyond it the one at which Chernoff's exponent is `log`."""
    inside = float(k)
    for _ in range(100):
        middle = (inside + outside) / 2
        exponent = middle - k + k * math.log(k / middle)
        inside, outside = (inside, middle) if exponent > log else (middle, outside)
    return outside


@lru_cache(maxsize=64)
def miss_of_one(delta: float, count: int) -> float:
    """How often an end of one of `count` samples may miss, so that the medians of both do for a share delta at most."""
    low, high = 0.0, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if _most_miss(middle, count) > delta / 2 else (middle, high)
    return low


def _most_miss(one: float, count: int) -> float:
    """The probability that more than half of `count` miss."""
    return sum(
        math.comb(count, many) * one**many * (1 - one) ** (count - many) for many in range(count // 2 + 1, count + 1)
    )
