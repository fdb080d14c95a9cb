"""Floats of 32 and 16 bits as the multiples of a unit that they stand for: 0.1 is 0.10000000149 there."""

from typing import Any

import numpy as np
import pyarrow as pa
from skyband.arrays import Float64

from skyband_totals.fixed_point import worth

REMEDY = "; of prices in a column of FLOAT, which has seven digits, take DOUBLE or DECIMAL"
"""How a warning about values between the units ends."""


def as_multiples(values: Float64, kind: pa.DataType, unit: float) -> Float64:
    """Values of a column of type `kind`, float64[n], a narrow float as the multiple of the unit that it is nearest to.

    Where several multiples have one float, as cents above 131,072 have in 32 bits, they stay as they are. O(n).
    """
    if not (pa.types.is_float32(kind) or pa.types.is_float16(kind)):
        return values
    dtype: Any = kind.to_pandas_dtype()
    with np.errstate(invalid="ignore", over="ignore"):
        floats = values.astype(dtype)
        multiples = np.copysign(worth(np.rint(np.abs(values) / unit), unit), values)
        is_meant = (np.spacing(np.abs(floats)) < unit) & (multiples.astype(dtype) == floats)
    return np.where(is_meant, multiples, values)
