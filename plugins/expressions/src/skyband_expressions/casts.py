"""Casts in Spark's ANSI mode: a value that the other type does not have is an error, or null for `try_cast`."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve

from skyband_expressions.bound import ONE_ROW, Bound, EvaluationError, Rows
from skyband_expressions.spark_types import (
    INSTANT,
    INTEGERS,
    is_decimal,
    is_float,
    is_integer,
    is_number,
    is_time,
    name_of,
)
from skyband_expressions.syntax import UnknownExpressionError

Kernel = Callable[[pa.Array], tuple[pa.Array, pa.Array | None]]
"""Returns the values of the other type, and bool[n], which of them are valid, if any are not."""

_SECOND = 1_000_000
_DAY = 86_400 * _SECOND
_FAR = 106_751_991
"""Days from 1970 to the last whole day within 64 bits of microseconds."""


def cast_to(argument: Bound, kind: pa.DataType, safe: bool = False) -> Bound:
    """Cast a value to another type. Raises UnknownExpressionError if that cast is not supported."""
    if argument.type == kind:
        return argument
    kernel = _kernel(argument.type, kind)
    if kernel is None:
        raise UnknownExpressionError(f"a cast of {name_of(argument.type)} to {name_of(kind)} is not supported")
    of_text = argument.type == pa.string() and is_time(kind)
    always = _never_fails(argument.type, kind) or (safe and not of_text)

    def evaluate(rows: Rows) -> pa.Array:
        return _checked(kernel, argument.evaluate(rows), kind, safe)

    cast = Bound(kind, evaluate, argument.can_fail or not always, same_in_all=argument.same_in_all)
    if not argument.is_literal:
        return cast
    try:
        scalar = evaluate(ONE_ROW)[0]
    except EvaluationError as error:  # in every row
        raise UnknownExpressionError(str(error)) from error
    return evolve(cast, evaluate=lambda rows: pa.repeat(scalar, rows.length), can_fail=False, literal=argument.literal)


def _checked(kernel: Kernel, column: pa.Array, kind: pa.DataType, safe: bool) -> pa.Array:
    values, right = kernel(column)
    if right is None:
        return values
    wrong = pc.and_(pc.invert(pc.fill_null(right, False)), pc.is_valid(column))
    if not pc.any(wrong).as_py():
        return values
    if not safe:
        first = column[pc.index(wrong, True).as_py()]
        value_text = first.cast(pa.string()).as_py() if is_time(first.type) else first.as_py()
        raise EvaluationError(f"{value_text!r} is not a valid {name_of(kind)}")
    return pc.if_else(wrong, pa.scalar(None, kind), values)


def _never_fails(source: pa.DataType, kind: pa.DataType) -> bool:
    if is_integer(source) and is_integer(kind):
        return INTEGERS.index(source) <= INTEGERS.index(kind)
    if is_integer(source) and is_decimal(kind):
        return False
    from_number = is_number(source) or source in (pa.bool_(), pa.null())
    return source == pa.null() or (from_number and (is_float(kind) or kind in (pa.bool_(), pa.string())))


def _kernel(source: pa.DataType, kind: pa.DataType) -> Kernel | None:
    if source == pa.null():
        return lambda column: (pa.nulls(len(column), kind), None)
    if source == pa.string():
        from skyband_expressions.text_casts import from_text

        return from_text(kind)
    if kind == pa.string():
        return _to_text(source)
    if kind == pa.bool_() and is_number(source):
        zero = pa.scalar(0, pa.int8()).cast(source)
        return lambda column: (pc.not_equal(column, zero), None)
    if is_integer(kind):
        return _to_integer(source, kind)
    if is_float(kind):
        return _to_float(source, kind)
    if is_decimal(kind):
        return _to_decimal(source, kind)
    return _to_time(source, kind) if is_time(kind) else None


def _plain(kind: pa.DataType) -> Kernel:
    return lambda column: (column.cast(kind), None)


def _to_text(source: pa.DataType) -> Kernel | None:
    if is_integer(source) or source == pa.bool_() or (is_decimal(source) and source.scale <= 6):
        return _plain(pa.string())
    if is_time(source):
        from skyband_expressions.text_casts import time_to_text

        return lambda column: (time_to_text(column), None)
    return None


def _to_integer(source: pa.DataType, kind: pa.DataType) -> Kernel | None:
    if source == pa.bool_():
        return _plain(kind)
    if is_integer(source):
        return lambda column: _narrowed(column, kind)
    if is_float(source):
        return lambda column: _truncated(column, kind)
    if is_decimal(source):
        return lambda column: _narrowed(_whole_part(column), kind)
    if pa.types.is_timestamp(source) and source.tz is not None:
        return lambda column: _narrowed(_floor_divided(column.cast(pa.int64()), _SECOND), kind)
    return None


def _whole_part(column: pa.Array) -> pa.Array:
    return pc.trunc(column).cast(pa.decimal128(38, 0))


def _narrowed(column: pa.Array, kind: pa.DataType) -> tuple[pa.Array, pa.Array | None]:
    """Whole numbers in fewer bits."""
    if column.type == kind:
        return column, None
    if is_integer(column.type) and INTEGERS.index(column.type) <= INTEGERS.index(kind):
        return column.cast(kind), None
    info = np.iinfo(kind.to_pandas_dtype())
    low, high = (pa.scalar(int(end), pa.int64()).cast(column.type) for end in (info.min, info.max))
    right = pc.and_kleene(pc.greater_equal(column, low), pc.less_equal(column, high))
    inside = pc.if_else(pc.fill_null(right, True), column, pa.scalar(0, pa.int8()).cast(column.type))
    return inside.cast(kind), right


def _truncated(column: pa.Array, kind: pa.DataType) -> tuple[pa.Array, pa.Array | None]:
    """Numbers without their fractions; 2^63 becomes the largest 64-bit number, as in Java."""
    info = np.iinfo(kind.to_pandas_dtype())
    values = pc.fill_null(column.cast(pa.float64()), 0.0).to_numpy()
    right = (np.floor(values) <= float(info.max)) & (np.ceil(values) >= float(info.min))
    inside = np.where(right, np.trunc(values), 0.0)
    whole = np.full(len(values), info.max, np.int64)
    fits = inside < float(info.max) + (info.max < 1 << 53)
    whole[fits] = inside[fits].astype(np.int64)
    nulls = pc.is_null(column).to_numpy(zero_copy_only=False)
    return pa.array(whole.astype(kind.to_pandas_dtype()), mask=nulls), pa.array(right)


def _floor_divided(column: pa.Array, by: int) -> pa.Array:
    values = pc.fill_null(column, 0).to_numpy() // by
    return pa.array(values, mask=pc.is_null(column).to_numpy(zero_copy_only=False))


def _to_float(source: pa.DataType, kind: pa.DataType) -> Kernel | None:
    if source == pa.bool_():
        return lambda column: (column.cast(pa.int8()).cast(kind), None)
    if is_integer(source) or is_float(source):
        return lambda column: (column.cast(kind, safe=False), None)
    if is_decimal(source) and kind == pa.float64():
        return lambda column: (column.cast(pa.string()).cast(pa.float64()), None)
    if pa.types.is_timestamp(source) and source.tz is not None and kind == pa.float64():
        million = pa.scalar(float(_SECOND))
        return lambda column: (pc.divide(column.cast(pa.int64()).cast(pa.float64(), safe=False), million), None)
    return None


def _to_decimal(source: pa.DataType, kind: pa.DataType) -> Kernel | None:
    if not is_decimal(source) and not is_integer(source):
        return None

    def kernel(column: pa.Array) -> tuple[pa.Array, pa.Array | None]:
        wide = column if is_decimal(source) else column.cast(pa.decimal128(20, 0))
        wide = wide.cast(pa.decimal256(76, wide.type.scale))
        if wide.type.scale > kind.scale:
            wide = pc.round(wide, kind.scale, "half_towards_infinity")
        most = pa.scalar(10**kind.precision, pa.decimal256(76, 0))
        whole = wide.cast(pa.decimal256(76, max(kind.scale, wide.type.scale)))
        limit = pa.scalar(10 ** (kind.precision - kind.scale), most.type).cast(whole.type)
        right = pc.less(pc.abs(whole), limit)
        inside = pc.if_else(pc.fill_null(right, True), whole, pa.scalar(0, pa.int8()).cast(whole.type))
        return inside.cast(kind), right

    return kernel


def _to_time(source: pa.DataType, kind: pa.DataType) -> Kernel | None:
    if kind == pa.date32() and pa.types.is_timestamp(source):
        return lambda column: (_floor_divided(column.cast(pa.int64()), _DAY).cast(pa.int32()).cast(kind), None)
    if pa.types.is_timestamp(kind) and pa.types.is_timestamp(source):
        return lambda column: (column.cast(pa.int64()).cast(kind), None)
    if pa.types.is_timestamp(kind) and pa.types.is_date32(source):
        return lambda column: _multiplied(column.cast(pa.int32()).cast(pa.int64()), _DAY, _FAR, kind)
    if kind == INSTANT and is_integer(source):
        return lambda column: _saturated(column.cast(pa.int64()), kind)
    return None


def _multiplied(column: pa.Array, by: int, most: int, kind: pa.DataType) -> tuple[pa.Array, pa.Array]:
    right = pc.less_equal(pc.abs(column), most)
    inside = pc.if_else(pc.fill_null(right, True), column, 0)
    return pc.multiply(inside, pa.scalar(by, pa.int64())).cast(kind), right


def _saturated(column: pa.Array, kind: pa.DataType) -> tuple[pa.Array, pa.Array | None]:
    """Seconds as times, clamped to the first and last 64-bit time, as in Spark's cast."""
    low, high = -(2**63) // _SECOND, (2**63 - 1) // _SECOND
    inside = pc.multiply(pc.min_element_wise(pc.max_element_wise(column, low + 1, skip_nulls=False), high,
                                             skip_nulls=False), pa.scalar(_SECOND, pa.int64()))  # fmt: skip
    above = pc.if_else(pc.greater(column, high), pa.scalar(2**63 - 1, pa.int64()), inside)
    return pc.if_else(pc.less(column, low + 1), pa.scalar(-(2**63), pa.int64()), above).cast(kind), None
