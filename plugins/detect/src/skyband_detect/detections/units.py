"""Numbers as whole units, because subtraction undoes addition exactly for whole numbers but not for floats."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
from skyband.arrays import Array, Float64, Int64
from skyband.columns.numbers import as_float64_or_beyond

_MOST = 2.0**53
"""The most units of a row: float64 represents every whole number up to here."""


def to_units(column: pa.Array, unit: float) -> tuple[Int64, Array, Array]:
    """int64[n] units, bool[n] the rows with a number, and bool[n] those that are a whole number of units. O(n).

    A number is the nearest whole number of units if they differ only by the rounding of float64, one part in 2^50
    or a millionth of a unit.
    """
    numbers = as_float64_or_beyond(column).fill_null(np.nan).to_numpy(zero_copy_only=False)
    is_number = ~np.isnan(numbers)
    quotients = np.where(is_number, numbers, 0.0) / unit
    limit = 2.0**-50
    if pa.types.is_float32(column.type) or pa.types.is_float16(column.type):
        limit = 2.0**-22 if pa.types.is_float32(column.type) else 2.0**-9
    with np.errstate(invalid="ignore"):
        nearest = np.rint(quotients)
        fits = (np.abs(quotients) <= _MOST) & (np.abs(quotients - nearest) <= 1e-6 + np.abs(quotients) * limit)
    units: Int64 = np.where(fits, nearest, 0.0).astype(np.int64)
    return units, is_number, fits


def worth(units: Array, unit: float) -> Float64:
    """The worth of a number of units, float64[n]: 39 units of 0.1 are 3.9, and not 39 times 0.1. O(n)."""
    top, bottom = Fraction(repr(float(unit))).as_integer_ratio()
    if max(top, bottom) > _MOST:
        return np.multiply(units, unit, dtype=np.float64)
    return np.divide(np.multiply(units, float(top), dtype=np.float64), float(bottom))
