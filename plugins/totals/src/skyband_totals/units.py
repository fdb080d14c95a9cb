"""Weights in whole units: sums of whole numbers can be taken apart again, those of floats cannot.

The rule: a weight counts as the whole number of units nearest to it, if it is that multiple of the unit but for the
rounding of float64, one part in 2^50 or a millionth of a unit. Any other weight is refused. For floats of fewer bits
see `narrow_floats`.
"""

from typing import Any

import numpy as np
import skyband.kernels.numba_compiler_patches  # noqa: F401 - has numba go on where it can keep nothing
from numba import njit
from skyband.arrays import Array, Float64, Int64, read_only

from skyband_totals.fixed_point import MOST, worth

FINE, NEGATIVE, NO_NUMBER, TOO_LARGE, NO_MULTIPLE = range(5)
REASONS = {
    NEGATIVE: "must not be negative",
    NO_NUMBER: "must be a finite number",
    TOO_LARGE: "must be at most 2**53 units: take a larger `unit`",
    NO_MULTIPLE: "must be a multiple of `unit`: take a smaller unit, or round the weights",
}
"""What is wrong with a weight, by code."""
_STEPS = 4
"""To the next float64, after which a weight counts as it should: three roundings lie between."""


def to_units(weights: Float64, unit: float) -> tuple[Int64, Array]:
    """(int64[n] units, int8[n] code of what is wrong with each weight, FINE where nothing is). O(n)."""
    units, codes = np.empty(len(weights), np.int64), np.empty(len(weights), np.int8)
    _convert(read_only(weights), unit, units, codes)
    return units, codes


def weights_of(units: Int64, unit: float) -> Float64:
    """Weights, float64[n], that count as so many units, int64[n]: the nearest ones, but for rounding above 2^50 units.

    Up to MOST_TOGETHER units there always is one.
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
        code = FINE
        nearest = 0.0
        if not np.isfinite(quotient):
            code = NO_NUMBER
        elif quotient < 0:
            code = NEGATIVE
        elif quotient > MOST:
            code = TOO_LARGE
        else:
            nearest = np.rint(quotient)
            if abs(quotient - nearest) > 1e-6 + quotient * 2.0**-50:
                code = NO_MULTIPLE
        codes[row] = code
        units[row] = np.int64(nearest) if code == FINE else 0
