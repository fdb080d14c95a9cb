"""Converts columns to the types that a query was checked with; pandas, polars and engines use others.

Arrow's kernels do not support all views, run ends, dictionaries in lists and extensions. A batch may also be narrower,
wider or all null where the first was not.
"""

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.columns.keyed_frames import plain_type
from skyband.errors import InputError

_DIGITS = 38
"""The digits of a 128-bit decimal."""


@cache
def usual(kind: pa.DataType) -> pa.DataType:
    """The type for the same values without views, run ends and extensions; a UUID becomes its 16 bytes.

    Decimals have 128 bits if they fit, and no negative scale.
    """
    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return usual(kind.storage_type)
    if types.is_run_end_encoded(kind):
        return usual(kind.value_type)
    if types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, usual(kind.value_type), kind.ordered)
    if types.is_string_view(kind):
        return pa.string()
    if types.is_binary_view(kind):
        return pa.binary()
    if types.is_large_list_view(kind) or types.is_large_list(kind):
        return pa.large_list(_within_a_list(kind))
    if types.is_fixed_size_list(kind) and _within_a_list(kind) == kind.value_type:
        return kind
    if types.is_list_view(kind) or types.is_list(kind) or types.is_fixed_size_list(kind):
        return pa.list_(_within_a_list(kind))
    return _usual_decimal(kind) if types.is_decimal(kind) else kind


def _within_a_list(kind: pa.DataType) -> pa.DataType:
    return plain_type(usual(kind.value_type))


def _usual_decimal(kind: pa.DataType) -> pa.DataType:
    precision, scale = kind.precision + max(-kind.scale, 0), max(kind.scale, 0)
    if precision > _DIGITS:
        return kind if kind.scale >= 0 or precision > 2 * _DIGITS else pa.decimal256(precision, scale)
    return kind if pa.types.is_decimal256(kind) and kind.scale >= 0 else pa.decimal128(precision, scale)


def usual_schema(schema: pa.Schema) -> pa.Schema:
    """The schema in usual types."""
    return pa.schema([field.with_type(usual(field.type)) for field in schema], schema.metadata)


def no_rows(schema: pa.Schema) -> pa.RecordBatch:
    """A batch without rows for any schema: `pa.array([], kind)` supports no unions and not every dictionary."""
    return pa.RecordBatch.from_arrays([pa.nulls(0, kind) for kind in schema.types], schema=schema)


def usual_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch in usual types; the batch itself if it already is."""
    return columns_as(batch, batch.schema.names, usual_schema(batch.schema))


def columns_as(
    batch: pa.RecordBatch, names: Sequence[str], schema: pa.Schema, hashed: Sequence[str] = ()
) -> pa.RecordBatch:
    """These columns of a batch, converted to a usual schema; the batch itself if nothing changes.

    hashed: columns whose text may stay a dictionary, so that each distinct value is hashed only once.

    Raises InputError, naming the column and both types, if one is missing or holds a value that its type cannot.
    """
    fields = pa.schema([schema.field(name) for name in names])
    by_name = dict(zip(batch.schema.names, batch.columns, strict=True))
    columns = [_column(by_name, field, field.name in hashed) for field in fields]
    unchanged = all(column is by_name[field.name] for column, field in zip(columns, fields, strict=True))
    if unchanged and batch.schema.names == fields.names:
        return batch
    return pa.RecordBatch.from_arrays(columns, names=fields.names)


def _column(columns: Mapping[str, pa.Array], field: pa.Field, is_hashed: bool) -> pa.Array:
    if field.name not in columns:
        raise InputError(field.name, "is missing in this batch, but is in the first batch")
    column = columns[field.name]
    if column.type == field.type and not pa.types.is_dictionary(field.type):
        return column
    try:
        if is_hashed and pa.types.is_dictionary(column.type) and pa.types.is_string(field.type):
            values = usual(column.type.value_type)
            if values == field.type:
                return _dictionary_as(column, pa.dictionary(column.type.index_type, values))
        return _as(column, field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        detail = " ".join(str(error).split())
        message = f"is {column.type} in this batch and cannot be read as {field.type}, its type in the first batch"
        raise InputError(field.name, f"{message}: {detail}") from error


def _as(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """The column, converted to a usual type."""
    own_kind = column.type
    if isinstance(own_kind, pa.BaseExtensionType):
        return _as(column.storage, kind)
    if pa.types.is_run_end_encoded(own_kind):
        return _as(column.values, kind).take(_runs(column))
    if pa.types.is_dictionary(own_kind):
        return _dictionary_as(column, kind)
    if (
        pa.types.is_nested(own_kind)
        and pa.types.is_nested(kind)
        and own_kind != kind
        and hasattr(own_kind, "value_type")
    ):
        return _list_as(column, kind)
    if own_kind == kind:
        return column
    if pa.types.is_decimal(own_kind) and own_kind.scale < 0:  # a decimal of negative scale has an exponent as text
        column = column.cast(_usual_decimal(own_kind))
    return _of_type(column, kind)


def _of_type(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """A column converted to another type of the same kind of values, if every value fits it."""
    if not pa.types.is_null(column.type) and _kind_of_values(column.type) != _kind_of_values(kind):
        raise pa.ArrowInvalid("another kind of values")
    if pa.types.is_dictionary(kind):
        return column.cast(kind.value_type).dictionary_encode().cast(kind)
    return column.cast(kind)


@cache
def _kind_of_values(kind: pa.DataType) -> str:
    kind, types = plain_type(kind), pa.types
    if types.is_timestamp(kind):
        return f"timestamp {'without' if kind.tz is None else 'with'} zone"
    tests = {
        "number": lambda each: types.is_integer(each) or types.is_floating(each) or types.is_decimal(each),
        "text": lambda each: types.is_string(each) or types.is_large_string(each) or types.is_string_view(each),
        "bytes": lambda each: (
            types.is_binary(each)
            or types.is_large_binary(each)
            or types.is_fixed_size_binary(each)
            or types.is_binary_view(each)
        ),
        "date": types.is_date,
        "time": types.is_time,
        "duration": types.is_duration,
        "nested": types.is_nested,
    }
    return next((name for name, test in tests.items() if test(kind)), str(kind))


def _runs(column: pa.Array) -> pa.Array:
    """The run of each row, for a run-end encoded column."""
    ends = column.run_ends.to_numpy()
    return pa.array(np.searchsorted(ends, np.arange(column.offset, column.offset + len(column)), side="right"))


def _dictionary_as(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """The column with this type; rows that refer to a null in its dictionary become null."""
    if not pa.types.is_dictionary(kind):
        return _as(column.dictionary, kind).take(column.indices)
    values, indices = _as(column.dictionary, kind.value_type), column.indices
    if values.null_count:
        indices = pc.if_else(values.is_valid().take(indices), indices, pa.scalar(None, indices.type))
    elif values is column.dictionary and column.type == kind:
        return column
    return pa.DictionaryArray.from_arrays(indices.cast(kind.index_type), values, ordered=kind.ordered)


def _list_as(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Lists converted by their lengths, because Arrow casts a slice of list views wrongly."""
    lengths = pc.list_value_length(column).fill_null(0).to_numpy()
    if pa.types.is_fixed_size_list(column.type):  # the length of a null is the list size
        lengths = np.where(column.is_null().to_numpy(zero_copy_only=False), 0, lengths)
    offsets = np.append(0, np.cumsum(lengths))
    values = _as(pc.list_flatten(column), kind.value_type)
    mask = column.is_null() if column.null_count else None
    return pa.LargeListArray.from_arrays(pa.array(offsets), values, mask=mask).cast(kind)


def check_whole(batch: pa.RecordBatch, names: Sequence[str]) -> None:
    """Raise InputError if a column's buffers do not fit together, as in a damaged Arrow file.

    Code that follows bad offsets would read other memory, or crash the process. O(1) for a column of numbers, 5 ns for
    each row of text.
    """
    for place, field in enumerate(batch.schema):
        if field.name in names:
            try:
                batch.column(place).validate(full=True)
            except pa.ArrowInvalid as error:
                message = " ".join(str(error).split())
                raise InputError(field.name, f"is damaged ({message}): write the data again") from error
