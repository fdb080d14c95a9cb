"""Converts text to values of a column: instants and days in common notations; finds rows that cannot be converted."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from skyband.errors import InputError
from skyband_expressions.bound import EvaluationError
from skyband_expressions.failing_rows import failing_values
from skyband_expressions.spark_types import INSTANT, is_float
from skyband_expressions.text_casts import floats, from_text
from skyband_expressions.time_formats import formatted

from skyband_jobs.files.value_formats import PLAIN, ValueFormats


def typed(batch: pa.RecordBatch, columns: pa.Schema, formats: ValueFormats = PLAIN) -> pa.RecordBatch:
    """The columns with the types of `columns`. Raises InputError with the first row that has another value."""
    return pa.RecordBatch.from_arrays(
        [_cast(batch.column(field.name), field, formats) for field in columns], schema=columns
    )


def typed_where_right(
    batch: pa.RecordBatch, columns: pa.Schema, formats: ValueFormats = PLAIN
) -> tuple[pa.RecordBatch, list[InputError]]:
    """The rows whose values convert, as `typed` returns them, and the errors of the others, ascending."""
    errors: dict[int, InputError] = {}
    for field in columns:
        column = batch.column(field.name)
        if column.type != field.type:
            failing = failing_values(column, partial(_converted, kind=field.type, formats=formats))
            errors = {row: _not_of_type(column, row, field, str(error), formats) for row, error in failing} | errors
    rows = sorted(errors)
    right = np.delete(np.arange(len(batch)), rows)
    return typed(batch.take(pa.array(right)), columns, formats), [errors[row] for row in rows]


def as_read(kind: Any, formats: ValueFormats = PLAIN) -> Any:
    """The type that Arrow reads: times and dates as text, cast here, because Arrow knows too few notations."""
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(as_read(field.type, formats)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(as_read(kind.value_type, formats)))
    return pa.string() if formats.is_text(kind) else kind


def instants(texts: pa.Array) -> pa.Array:
    """Times and days as text, cast as in Spark: in UTC where they have no zone, truncated to microseconds.

    Raises ArrowInvalid where one is neither.
    """
    return _cast_text(texts, INSTANT)


def _cast_text(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Raises ArrowInvalid where a text is not a value of the type."""
    kernel = _kernel(kind)
    if kernel is None:
        return texts.cast(kind)
    try:
        values, right = kernel(texts)
    except EvaluationError as error:
        raise pa.ArrowInvalid(str(error)) from error
    wrong = pc.and_(pc.is_valid(texts), pc.invert(pc.fill_null(right, False)))
    if pc.any(wrong).as_py():
        raise pa.ArrowInvalid(f"string: {texts[pc.index(wrong, True).as_py()].as_py()!r}")
    return pc.if_else(pc.is_valid(texts), values, pa.scalar(None, kind))


def _kernel(kind: pa.DataType) -> Callable[[pa.Array], tuple[pa.Array, pa.Array]] | None:
    """Converts text as Spark's file readers do, which differs from its casts."""
    if pa.types.is_boolean(kind):
        return lambda texts: (pc.equal(pc.utf8_lower(texts), "true"), pc.is_in(pc.utf8_lower(texts), _BOOLEANS))
    if is_float(kind):
        return lambda texts: floats(texts, kind, _SPECIALS)
    return from_text(kind)


_BOOLEANS = pa.array(["true", "false"])
_SPECIALS = r"^([+-]?(NaN|Infinity)|-?Inf)$"


_FAULTS = (pa.ArrowInvalid, EvaluationError)


def _cast(column: Any, field: Any, formats: ValueFormats) -> Any:
    if column.type == field.type:
        return column
    try:
        return _converted(column, field.type, formats)
    except _FAULTS as error:
        row = _first_other(column, field.type, formats)
        fault = _fault_of(column.slice(row, 1), field.type, formats)
        raise _not_of_type(column, row, field, fault, formats) from error


def _not_of_type(column: Any, row: int, field: Any, fault: str, formats: ValueFormats) -> InputError:
    message = fault.partition(" as a scalar of")[0].removeprefix("string: ")
    remedy = _remedy(column[row].as_py(), field, formats) if formats.place else ""
    return InputError(field.name, f"cannot be read as {field.type}: {message}{remedy}", row)


def _fault_of(value: Any, kind: Any, formats: ValueFormats) -> str:
    """The error of one value: for a whole column, Arrow reports any wrong value."""
    try:
        _converted(value, kind, formats)
    except _FAULTS as error:
        return str(error)
    return ""


def _converted(column: Any, kind: Any, formats: ValueFormats) -> Any:
    if column.type == kind:
        return column
    if pa.types.is_nested(column.type):
        return _parts_converted(column, kind, formats)
    if not pa.types.is_string(column.type):
        return column.cast(kind)
    texts = pc.utf8_trim_whitespace(column)
    texts = pc.if_else(pc.equal(texts, ""), None, texts)  # "" is text, but not a number or time
    pattern = _pattern(kind, formats)
    if pattern is not None:
        moments = formatted(pattern)(texts)
        return moments.cast(pa.timestamp("us")).cast(kind) if pa.types.is_date(kind) else moments.cast(kind)
    if pa.types.is_timestamp(kind):
        return _cast_text(texts, INSTANT).cast(kind)
    return _cast_text(_plain_numbers(texts, formats) if pa.types.is_decimal(kind) else texts, kind)


def _parts_converted(column: Any, kind: Any, formats: ValueFormats) -> Any:
    """A column of lists or structs, with each part converted like a column."""
    if pa.types.is_struct(kind):
        parts = zip(column.flatten(), kind, strict=True)
        converted = [_converted(part, field.type, formats) for part, field in parts]
        return pa.StructArray.from_arrays(converted, fields=[*kind], mask=column.is_null())
    sizes = pc.fill_null(pc.list_value_length(column), 0)
    ends = pc.cumulative_sum(sizes).cast(pa.int32())
    values = _converted(column.flatten(), kind.value_type, formats)
    starts = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    return pa.ListArray.from_arrays(starts, values, kind, mask=column.is_null())


def _pattern(kind: Any, formats: ValueFormats) -> str | None:
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return formats.timestamp
    return formats.date if pa.types.is_date(kind) else None


def _plain_numbers(texts: Any, formats: ValueFormats) -> Any:
    """Decimals without thousands separators, as Spark reads them."""
    thousands, point = formats.marks
    grouped = rf"^([-+]?[0-9{re.escape(thousands)}]+)({re.escape(point)}[0-9]*)?$"
    plain = pc.replace_substring(pc.replace_substring(texts, thousands, ""), point, ".")
    return pc.if_else(pc.match_substring_regex(texts, grouped), plain, texts if point == "." else plain)


def _remedy(value: Any, field: Any, formats: ValueFormats) -> str:
    """How to read such a value, where that is known."""
    text = str(value).strip()
    if pa.types.is_temporal(field.type) and _SINCE_1970.fullmatch(text):
        unit = {10: "seconds", 13: "millis", 16: "micros"}[len(text.lstrip("-"))]
        return f"; for numbers since 1970 use BIGINT, and select timestamp_{unit}({field.name}) AS {field.name}"
    if pa.types.is_temporal(field.type):
        option = "dateFormat" if pa.types.is_date(field.type) else "timestampFormat"
        pattern = formats.date if pa.types.is_date(field.type) else formats.timestamp
        return "" if pattern else f"; set its pattern with {formats.place}.{option}, such as MM/dd/yyyy HH:mm:ss"
    is_number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
    if is_number and _MARKED.fullmatch(text):
        remedy = f"declare it DECIMAL(18, 2) and set {formats.place}.locale"
        return f"; for thousands separators, or a decimal comma, {remedy}"
    return ""


_SINCE_1970 = re.compile(r"-?(\d{10}|\d{13}|\d{16})", re.ASCII)
_MARKED = re.compile(r"[-+]?\d+([.,’\s]\d+)+", re.UNICODE)


def _first_other(column: Any, kind: Any, formats: ValueFormats) -> int:
    """The first row that cannot be converted, found by halving: O(rows)."""
    first, last = 0, len(column) - 1
    while first < last:
        middle = (first + last) // 2
        try:
            _converted(column.slice(first, middle - first + 1), kind, formats)
            first = middle + 1
        except _FAULTS:
            last = middle
    return first
