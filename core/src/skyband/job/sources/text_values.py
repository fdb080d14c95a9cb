"""Text as values of a column: instants and days in the ways people write them, and which row cannot be read."""

import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from skyband.errors import InputError
from skyband.expressions.bound import EvaluationError
from skyband.expressions.time_formats import formatted
from skyband.instants import CYCLE, CYCLE_YEARS
from skyband.job.sources.spark_ddl import ZONE
from skyband.job.sources.value_formats import PLAIN, ValueFormats

_ZONED = r"(?i)(z|utc|[+-]\d\d:?\d\d)$"
_SPELT_UTC = r"(?i) ?(z|utc)$"
"""How others than Arrow write it."""
_DAY_ONLY = r"^\d{4}-\d\d-\d\d$"
_BEYOND_MICROSECONDS = r"([.]\d{6})\d+"


def typed(batch: pa.RecordBatch, columns: pa.Schema, formats: ValueFormats = PLAIN) -> pa.RecordBatch:
    """The columns with the types `wanted`. Raises InputError with the first row that has another value."""
    return pa.RecordBatch.from_arrays(
        [_cast(batch.column(field.name), field, formats) for field in columns], schema=columns
    )


def as_read(kind: Any, formats: ValueFormats = PLAIN) -> Any:
    """Times and dates are read as text and cast here: Arrow's readers know too few ways to write them."""
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(as_read(field.type, formats)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(as_read(kind.value_type, formats)))
    return pa.string() if formats.is_text(kind) else kind


def instants(texts: Any) -> Any:
    """Times and days as text, as timestamps: in UTC where they name no zone, cut to microseconds.

    Raises ArrowInvalid where one is none.
    """
    texts = pc.utf8_trim_whitespace(texts)
    texts = pc.if_else(
        pc.match_substring_regex(texts, _DAY_ONLY), pc.binary_join_element_wise(texts, "00:00", " "), texts
    )
    zoned = pc.match_substring_regex(texts, _ZONED)
    texts = pc.if_else(zoned, texts, pc.binary_join_element_wise(texts, "Z", ""))
    if (pc.max(pc.binary_length(texts)).as_py() or 0) > len("2026-01-01T00:00:00.123456Z"):
        texts = pc.replace_substring_regex(texts, _BEYOND_MICROSECONDS, r"\1")
    if pc.any(pc.match_substring_regex(texts, _FAR)).as_py():
        return _far_instants(texts)
    try:
        return texts.cast(pa.timestamp("us", ZONE))
    except pa.ArrowInvalid:
        plain = pc.replace_substring_regex(texts, _SPELT_UTC, "Z")
        if plain.equals(texts):
            raise
        return plain.cast(pa.timestamp("us", ZONE))


def _far_instants(texts: Any) -> Any:
    """Those in years of more or less than four digits, which Arrow writes and does not read.

    Each is read in a year of the same calendar, whole cycles of it away.
    """
    year_texts = pc.struct_field(pc.extract_regex(texts, _FAR), "year")
    years = pc.replace_substring(year_texts, "+", "").cast(pa.int64())
    cycles = pc.subtract(pc.floor(pc.divide(years.cast(pa.float64()), CYCLE_YEARS)).cast(pa.int64()), _NEAR_CYCLES)
    near = pc.subtract(years, pc.multiply(cycles, CYCLE_YEARS)).cast(pa.string())
    plain = pc.binary_join_element_wise(near, pc.replace_substring_regex(texts, _FAR, "-"), "")
    instants = pc.coalesce(plain, texts).cast(pa.timestamp("us", ZONE)).cast(pa.int64())
    moved = pc.multiply_checked(pc.fill_null(cycles, 0), CYCLE)
    return pc.add_checked(instants, moved).cast(pa.timestamp("us", ZONE))


_FAR = r"^(?P<year>[+-]\d{4,6}|\d{5,6})-"
_NEAR_CYCLES = 5
"""From the year 2000 on, all that is read lies in."""


_FAULTS = (pa.ArrowInvalid, EvaluationError)


def _cast(column: Any, field: Any, formats: ValueFormats) -> Any:
    if column.type == field.type:
        return column
    try:
        return _converted(column, field.type, formats)
    except _FAULTS as error:
        row = _first_other(column, field.type, formats)
        fault = _fault_of(column.slice(row, 1), field.type, formats)
        message = fault.partition(" as a scalar of")[0].replace("Z'", "'")  # the zone that was added above
        remedy = _remedy(column[row].as_py(), field, formats) if formats.place else ""
        raise InputError(field.name, f"cannot be read as {field.type}: {message}{remedy}", row) from error


def _fault_of(value: Any, kind: Any, formats: ValueFormats) -> str:
    """What is wrong with one value: of a whole column Arrow tells of any that is wrong."""
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
    texts = pc.if_else(pc.equal(texts, ""), None, texts)  # "" is a text, and no number or time
    pattern = _pattern(kind, formats)
    if pattern is not None:
        moments = formatted(pattern)(texts)
        return moments.cast(pa.timestamp("us")).cast(kind) if pa.types.is_date(kind) else moments.cast(kind)
    if pa.types.is_timestamp(kind):
        return instants(texts).cast(kind)
    return _plain_numbers(texts, formats).cast(kind) if pa.types.is_decimal(kind) else texts.cast(kind)


def _parts_converted(column: Any, kind: Any, formats: ValueFormats) -> Any:
    """A column of lists or structs, each part of which is converted as a column of its own is."""
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
    """Decimals without marks of thousands, as Spark reads them."""
    thousands, point = formats.marks
    grouped = rf"^([-+]?[0-9{re.escape(thousands)}]+)({re.escape(point)}[0-9]*)?$"
    plain = pc.replace_substring(pc.replace_substring(texts, thousands, ""), point, ".")
    return pc.if_else(pc.match_substring_regex(texts, grouped), plain, texts if point == "." else plain)


def _remedy(value: Any, field: Any, formats: ValueFormats) -> str:
    """How such a value is read, where that is known."""
    text = str(value).strip()
    if pa.types.is_temporal(field.type) and _SINCE_1970.fullmatch(text):
        unit = {10: "seconds", 13: "millis", 16: "micros"}[len(text.lstrip("-"))]
        return f"; of numbers since 1970 read BIGINT, and select timestamp_{unit}({field.name}) AS {field.name}"
    if pa.types.is_temporal(field.type):
        option = "dateFormat" if pa.types.is_date(field.type) else "timestampFormat"
        pattern = formats.date if pa.types.is_date(field.type) else formats.timestamp
        return "" if pattern else f"; say how it is written with {formats.place}.{option}, such as MM/dd/yyyy HH:mm:ss"
    is_number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
    if is_number and _MARKED.fullmatch(text):
        remedy = f"declare it DECIMAL(18, 2) and say {formats.place}.locale"
        return f"; with marks of thousands, or a decimal comma, {remedy}"
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
