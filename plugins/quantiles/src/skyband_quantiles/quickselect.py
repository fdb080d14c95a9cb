"""Compiled selection of the k-th smallest number within its bin."""

from math import isfinite
from typing import Any

import numpy as np
from skyband.kernels.nested import nested_njit
from skyband.kernels.selection import kth

BINS = 256


@nested_njit
def count_by_bin(values: Any, least: float, largest: float, counts: Any) -> float:
    """Count the values in BINS bins of equal width; returns the bins per unit, 0 if that does not work."""
    scale = BINS / (largest - least) if largest > least else 0.0
    if not isfinite(scale) or not isfinite(largest - least) or len(values) < BINS // 4:
        return 0.0
    for place in range(BINS):
        counts[place] = 0
    for row in range(len(values)):
        counts[bin_of(values[row], least, scale)] += 1
    return scale


@nested_njit
def bin_of(value: float, least: float, scale: float) -> Any:
    """The bin of a value, which never decreases with the value, because no rounded operation does."""
    return min(np.int64((value - least) * scale), BINS - 1)


@nested_njit
def kth_by_bin(values: Any, k: int, least: float, scale: float, counts: Any) -> Any:
    """The k-th smallest (from 0), selected within its bin, given the counts of `count_by_bin`. O(n)."""
    if scale == 0.0:
        return kth(values, 0, len(values), k)
    below, bin_ = 0, 0
    while below + counts[bin_] <= k:
        below += counts[bin_]
        bin_ += 1
    few, size = np.empty(counts[bin_]), 0
    for row in range(len(values)):
        if bin_of(values[row], least, scale) == bin_:
            few[size] = values[row]
            size += 1
    return kth(few, 0, size, k - below)
