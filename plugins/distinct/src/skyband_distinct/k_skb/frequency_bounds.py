"""Estimates how many keys were seen how often, from samples. Loads no compiled code.

The keys with the k − 1 smallest hashes are a uniform sample of all keys, however often they were seen. The samples of
several hash functions together bound the share of a class (`binomial_bounds`), and the kth smallest hashes bound the
number of all keys (`sum_bounds`): low and high are their products. Each of the four is missed at most by delta / 4.
"""

import math
from collections.abc import Sequence
from statistics import median

import numpy as np
from skyband.arrays import Float64, Int64

from skyband_distinct.binomial_bounds import LeastShare, share_bounds
from skyband_distinct.k_skb.sum_bounds import around_k, miss_of_one
from skyband_distinct.sightings import in_classes


def frequency_estimate(
    numbers: Sequence[Int64], limits: Sequence[float], keys: float, k: int, delta: float, classes: Sequence[int],
    least: LeastShare,
) -> Float64:  # fmt: skip
    """(count, low, high) of each class: float64[n, 3].

    numbers: for each sample the keys seen once, twice and so on. limits: the share of all hashes that is below the kth
    smallest, 1 if the sample is all keys. keys: the estimate of the number of all. least: `least_share` of
    `binomial_bounds`, compiled or not.
    """
    whole = next((own for own, limit in zip(numbers, limits, strict=True) if limit == 1.0), None)
    if whole is not None:
        return np.repeat(in_classes(whole, classes).astype(np.float64)[:, None], 3, axis=1)
    parts = np.array([in_classes(own, classes) for own in numbers])
    total = sum(int(own.sum()) for own in numbers)
    below, above = around_k(k, miss_of_one(delta / 2, len(numbers)))
    fewest = max(float(k), median(below / limit for limit in limits))
    most = median(above / limit for limit in limits)
    estimates = np.empty((len(classes), 3))
    for place, (part, sure) in enumerate(zip(parts.sum(axis=0).tolist(), parts.max(axis=0).tolist(), strict=True)):
        low, high = share_bounds(part, total, delta / 4, least)
        count = round(part / total * keys, 3)
        # Outwards to three digits, so that compiled code and Python give the same numbers.
        lowest, highest = (math.floor(low * fewest * 1000) / 1000, math.ceil(high * most * 1000) / 1000)
        estimates[place] = count, min(max(float(sure), lowest), count), max(highest, count)
    return estimates
