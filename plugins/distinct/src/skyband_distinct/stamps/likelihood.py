"""Compiled code that counts the filled cells of each level, and computes the likeliest number of keys."""

from typing import Any

import numpy as np
from numba import njit
from skyband.kernels.nested import shared_njit

from skyband_distinct.stamps import likelihood_formula
from skyband_distinct.stamps.likelihood_formula import DEVIATION, LEVELS

__all__ = ["DEVIATION", "LEVELS", "filled_since", "likeliest"]

likeliest: Any = shared_njit(likelihood_formula.likeliest)


@njit(cache=True)
def filled_since(stamps: Any, since: int) -> Any:
    """int64[levels]: the number of cells of each level stamped at `since` or later."""
    counts = np.zeros(stamps.shape[0], np.int64)
    for level in range(stamps.shape[0]):
        row = stamps[level]
        count = 0
        for array in range(len(row)):
            count += row[array] >= since
        counts[level] = count
    return counts
