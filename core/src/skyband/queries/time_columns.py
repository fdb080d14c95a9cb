"""Converts time columns of a source for queries, and moments of answers back."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.arrays import TIME_MAX, Array, Int64
from skyband.config.durations import MOST
from skyband.errors import InputError
from skyband.queries.query import Query

_DAY = 86_400_000_000
_UNITS = {"s": 1_000_000, "ms": 1_000, "us": 1}


def microseconds(name: str, column: pa.Array) -> Int64:
    """int64[n]: microseconds since the epoch (floored), days as their midnight, integers unchanged, null as 0.

    Raises InputError if a time is more than 73,000 years from the epoch: windows around it would exceed 64 bits.
    """
    kind = column.type
    values = _integers(name, column)
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return values // 1_000
    unit, most = 1, TIME_MAX - 1
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        unit = _DAY if pa.types.is_date(kind) else _UNITS[kind.unit]
        most = MOST // unit
    if len(values) and (values.max() > most or values.min() < -most):
        outside = (values > most) | (values < -most)
        row = int(outside.argmax())
        message = f"is out of range ({-most} to {most} of {kind}): correct such rows or filter them"
        raise InputError(name, f"{int(values[row])} {message}", row, rows=np.flatnonzero(outside), reason=message)
    return values if unit == 1 else values * unit


def _integers(name: str, column: pa.Array) -> Int64:
    """int64[n]: the values of an Arrow column of times, null as 0."""
    if pa.types.is_date(column.type):
        column = column.cast(pa.date32()).cast(pa.int32())
    if pa.types.is_uint64(column.type):
        _check_signed(name, column)
    column = column.cast(pa.int64())
    values: Int64 = (column.fill_null(0) if column.null_count else column).to_numpy(zero_copy_only=False)
    return values


def _check_signed(name: str, column: pa.Array) -> None:
    beyond = pc.greater(column, pa.scalar(2**63 - 1, pa.uint64())).fill_null(False).to_numpy(zero_copy_only=False)
    if beyond.any():
        row = int(beyond.argmax())
        message = "must fit a signed 64-bit integer"
        raise InputError(
            name, f"{message} (got {column[row].as_py()})", row, rows=np.flatnonzero(beyond), reason=message
        )


def is_null(column: pa.Array) -> Array:
    """bool[n]: where the column is null."""
    return column.is_null().to_numpy(zero_copy_only=False)


def at_field(query: Query, schema: pa.Schema) -> pa.Field:
    """The result's `at` column: a moment in the type of the source's time, or a row count."""
    kind = schema.field(query.time).type
    if query.rows:
        return pa.field("at", pa.int64())
    return pa.field("at", pa.timestamp("us", kind.tz if pa.types.is_timestamp(kind) else None))


def moments(at: Int64, kind: pa.DataType) -> pa.Array:
    """Microseconds (or row counts) as the type of the `at` column."""
    return pa.array(at, pa.int64()).cast(kind)
