"""Spark's types as Arrow types, and the common type of several, as in Spark's ANSI mode."""

from collections.abc import Sequence

import pyarrow as pa
from skyband.columns.keyed_frames import plain_type

from skyband_expressions.syntax import UnknownExpressionError

INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
INSTANT = pa.timestamp("us", "UTC")
"""Spark's TIMESTAMP."""
WALL_CLOCK = pa.timestamp("us")
"""Spark's TIMESTAMP_NTZ."""
MOST_DIGITS = 38
DIGITS = {pa.int8(): 3, pa.int16(): 5, pa.int32(): 10, pa.int64(): 20}
"""Digits of the decimal that holds every value of a type."""


def spark_type(kind: pa.DataType) -> pa.DataType | None:
    """Spark's type for an Arrow column; None if it has none, or stores other values."""
    kind = plain_type(kind)
    wider = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.large_string(): pa.string()}
    if kind in wider:
        return wider[kind]
    if pa.types.is_timestamp(kind):
        return None if kind.unit == "ns" else WALL_CLOCK if kind.tz is None else INSTANT
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        inner = spark_type(kind.value_type)
        return None if inner is None else pa.list_(inner)
    if pa.types.is_struct(kind):
        fields = [(field.name, spark_type(field.type)) for field in kind]
        return None if any(inner is None for _, inner in fields) else pa.struct(fields)
    if pa.types.is_map(kind):
        key, item = spark_type(kind.key_type), spark_type(kind.item_type)
        return None if key is None or item is None else pa.map_(key, item)
    plain = (pa.bool_(), *INTEGERS, pa.float32(), pa.float64(), pa.string(), pa.date32(), pa.null())
    return kind if kind in plain or is_decimal(kind) else None


def is_decimal(kind: pa.DataType) -> bool:
    """Whether it is DECIMAL."""
    return bool(pa.types.is_decimal128(kind) and kind.scale >= 0)


def is_integer(kind: pa.DataType) -> bool:
    """Whether it is an integer type."""
    return kind in INTEGERS


def is_float(kind: pa.DataType) -> bool:
    """Whether it is FLOAT or DOUBLE."""
    return bool(pa.types.is_floating(kind))


def is_number(kind: pa.DataType) -> bool:
    """Whether it is a numeric type."""
    return is_integer(kind) or is_float(kind) or is_decimal(kind)


def is_time(kind: pa.DataType) -> bool:
    """Whether it is DATE, TIMESTAMP or TIMESTAMP_NTZ."""
    return bool(pa.types.is_date32(kind) or pa.types.is_timestamp(kind))


def decimal(precision: int, scale: int) -> pa.DataType:
    """DECIMAL(precision, scale). Raises UnknownExpressionError if Spark would round it to fit."""
    if precision > MOST_DIGITS:
        raise UnknownExpressionError(f"decimals of more than {MOST_DIGITS} digits are not supported")
    return pa.decimal128(precision, scale)


def as_decimal(kind: pa.DataType) -> pa.DataType:
    """The DECIMAL that holds every value of an integer type; a DECIMAL stays the same."""
    return kind if is_decimal(kind) else pa.decimal128(DIGITS[kind], 0)


def name_of(kind: pa.DataType) -> str:
    """Spark's name of a type."""
    names = {
        pa.int8(): "tinyint", pa.int16(): "smallint", pa.int32(): "int", pa.int64(): "bigint", pa.float32(): "float",
        pa.float64(): "double", pa.bool_(): "boolean", pa.string(): "string", pa.date32(): "date", INSTANT: "timestamp",
        WALL_CLOCK: "timestamp_ntz", pa.null(): "null",
    }  # fmt: skip
    if is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    return names.get(kind, str(kind))


def common_type(kinds: Sequence[pa.DataType], what: str) -> pa.DataType:
    """The common type in which values of several types are compared or combined.

    Raises UnknownExpressionError if there is none; `what` names the expression.
    """
    common = kinds[0]
    for kind in kinds[1:]:
        wider = _wider(common, kind)
        if wider is None:
            message = f"{what} takes values of one type, not {name_of(common)} and {name_of(kind)}: cast one"
            raise UnknownExpressionError(message)
        common = wider
    return common


def _wider(first: pa.DataType, second: pa.DataType) -> pa.DataType | None:
    if first == second or second == pa.null():
        return first
    if first == pa.null():
        return second
    if is_number(first) and is_number(second):
        return _wider_number(first, second)
    if is_time(first) and is_time(second):
        return INSTANT if INSTANT in (first, second) else WALL_CLOCK
    for text, kind in ((first, second), (second, first)):
        if text == pa.string():
            number = pa.int64() if is_integer(kind) else pa.float64() if is_number(kind) else None
            return number or (kind if is_time(kind) or kind == pa.bool_() else None)
    return None


def _wider_number(first: pa.DataType, second: pa.DataType) -> pa.DataType:
    if is_float(first) or is_float(second):
        return pa.float64()
    if is_integer(first) and is_integer(second):
        return max(first, second, key=INTEGERS.index)
    first, second = as_decimal(first), as_decimal(second)
    scale = max(first.scale, second.scale)
    return decimal(max(first.precision - first.scale, second.precision - second.scale) + scale, scale)
