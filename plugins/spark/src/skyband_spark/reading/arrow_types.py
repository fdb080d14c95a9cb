"""The types in which Spark has the same values as Arrow."""

import pyarrow as pa


def as_spark(kind: pa.DataType) -> pa.DataType | None:
    """The type in which Spark has the same values; None where its values differ, or it has none."""
    types = pa.types
    if types.is_dictionary(kind):
        return as_spark(kind.value_type)
    if types.is_large_string(kind) or types.is_string_view(kind):
        return pa.string()
    if types.is_large_binary(kind) or types.is_binary_view(kind):
        return pa.binary()
    if types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz) if kind.unit != "ns" else None
    if types.is_list(kind) or types.is_large_list(kind):
        within = as_spark(kind.value_type)
        return None if within is None else pa.list_(within)
    same = types.is_boolean, types.is_signed_integer, types.is_string, types.is_binary, types.is_date32
    floats = types.is_float32(kind) or types.is_float64(kind)
    return kind if floats or _is_decimal(kind) or any(test(kind) for test in same) else None


def _is_decimal(kind: pa.DataType) -> bool:
    return pa.types.is_decimal128(kind) and kind.scale >= 0
