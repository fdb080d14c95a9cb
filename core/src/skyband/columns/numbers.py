"""Columns of numbers of any type as float64, in which scores, values and samples are computed."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.arrays import Array, Int64
from skyband.errors import InputError


def is_number(kind: pa.DataType) -> bool:
    """Whether a column of this type holds numbers: integers, floats or decimals."""
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def as_float64(name: str, column: pa.Array) -> pa.Array:
    """The column as float64, with nulls; a decimal becomes the nearest float64, and -0 becomes 0.

    So numbers with equal rank print alike, whichever arrived first.

    Raises InputError, naming the row, if an integer beyond 2^53 would be changed.
    """
    if pa.types.is_decimal(column.type):  # Arrow's own cast is inexact: 0.3 would be 0.30000000000000004
        return column.cast(pa.string()).cast(pa.float64())
    converted = column.cast(pa.float64(), safe=False)
    if pa.types.is_floating(column.type):
        return pc.add(converted, 0.0)
    changed = _changed(column, converted)
    if len(changed):
        row = int(changed[0])
        message = "is not exact as float64: cast the column to double to round it"
        raise InputError(name, f"{column[row].as_py()} {message}", row, rows=changed, reason=message)
    return converted


def as_float64_or_beyond(column: pa.Array) -> pa.Array:
    """The column as float64, as `as_float64` does, for callers with their own limit of 2^53 units.

    An integer beyond 2^53 that float64 lacks is rounded away from 0, so that it stays beyond 2^53.
    """
    converted = column.cast(pa.float64(), safe=False) if pa.types.is_integer(column.type) else as_float64("", column)
    changed = _changed(column, converted)
    if not len(changed):
        return converted
    values = converted.to_numpy(zero_copy_only=False).copy()
    values[changed] = np.nextafter(values[changed], np.copysign(np.inf, values[changed]))
    return pa.array(values, mask=column.is_null().to_numpy(zero_copy_only=False))


def _changed(column: pa.Array, converted: pa.Array) -> Int64:
    """int64[c]: the rows whose integer changes as float64."""
    if not pa.types.is_integer(column.type) or column.type.bit_width < 64:
        return np.empty(0, np.int64)
    back = converted.cast(column.type, safe=False)
    return np.flatnonzero(_plain(back) != _plain(column))


def _plain(column: pa.Array) -> Array:
    values: Array = column.fill_null(0).to_numpy(zero_copy_only=False)
    return values
