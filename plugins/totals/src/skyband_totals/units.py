"""Converts weights to whole units, because subtraction undoes addition exactly for whole numbers but not for floats.

A weight counts as the nearest whole number of units if it equals that multiple of the unit except for the rounding of
float64, one part in 2^50 or a millionth of a unit. Any other weight is refused. For narrower floats see
`narrow_floats`.
"""

from typing import Any

import numpy as np
import skyband.kernels.numba_compiler_patches  # noqa: F401 - lets numba compile without a writable cache
from numba import njit
from skyband.arrays import Array, Float64, Int64, read_only

from skyband_totals.fixed_point import MOST, worth

VALID, NEGATIVE, NOT_FINITE, TOO_LARGE, NOT_A_MULTIPLE = range(5)
REASONS = {
    NEGATIVE: "must not be negative",
    NOT_FINITE: "must be a finite number",
    TOO_LARGE: "must be at most 2**53 units: use a larger `unit`",
    NOT_A_MULTIPLE: "must be a multiple of `unit`: use a smaller unit, or round the weights",
}
"""The problem with a weight, by code."""
_STEPS = 4
"""Steps to the next float64 until a weight counts as intended: there are three roundings."""


def to_units(weights: Float64, unit: float) -> tuple[Int64, Array]:
    """(int64[n] units, int8[n] the code of each weight, VALID or a problem). O(n)."""
    units, codes = np.empty(len(weights), np.int64), np.empty(len(weights), np.int8)
    _convert(read_only(weights), unit, units, codes)
    return units, codes


def weights_of(units: Int64, unit: float) -> Float64:
    """Weights, float64[n], that count as these units, int64[n]: the nearest ones, except for rounding above 2^50 units.

    There always is one for up to MOST_TOGETHER units.
    """
    weights: Float64 = worth(units, unit)
    for _ in range(_STEPS):
        counted, _codes = to_units(weights, unit)
        weights = np.where(counted == units, weights, np.nextafter(weights, np.where(counted < units, np.inf, 0.0)))
    return weights


@njit(cache=True)
def _convert(weights: Any, unit: float, units: Any, codes: Any) -> None:
    for row in range(len(weights)):
        quotient = weights[row] / unit
        code = VALID
        nearest = 0.0
        if not np.isfinite(quotient):
            code = NOT_FINITE
        elif quotient < 0:
            code = NEGATIVE
        elif quotient > MOST:
            code = TOO_LARGE
        else:
            nearest = np.rint(quotient)
            if abs(quotient - nearest) > 1e-6 + quotient * 2.0**-50:
                code = NOT_A_MULTIPLE
        codes[row] = code
        units[row] = np.int64(nearest) if code == VALID else 0
