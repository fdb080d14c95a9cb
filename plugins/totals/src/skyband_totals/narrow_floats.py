"""Converts 32- and 16-bit floats to the multiples of a unit that they stand for: 0.1 is stored as 0.10000000149."""

from typing import Any

import numpy as np
import pyarrow as pa
from skyband.arrays import Float64

from skyband_totals.fixed_point import worth

REMEDY = "; for prices, use DOUBLE or DECIMAL instead of FLOAT, which has seven digits"
"""The end of a warning about values between the units."""


def as_multiples(values: Float64, kind: pa.DataType, unit: float) -> Float64:
    """The values of a column of type `kind`, float64[n]; narrow floats become the nearest multiple of the unit.

    If several multiples share a float, as cents above 131,072 do in 32 bits, values are left unchanged. O(n).
    """
    if not (pa.types.is_float32(kind) or pa.types.is_float16(kind)):
        return values
    dtype: Any = kind.to_pandas_dtype()
    with np.errstate(invalid="ignore", over="ignore"):
        floats = values.astype(dtype)
        multiples = np.copysign(worth(np.rint(np.abs(values) / unit), unit), values)
        is_meant = (np.spacing(np.abs(floats)) < unit) & (multiples.astype(dtype) == floats)
    return np.where(is_meant, multiples, values)
