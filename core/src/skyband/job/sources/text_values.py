"""Text as values of a column: instants and days in the ways people write them, and which row cannot be read."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from skyband.errors import InputError
from skyband.instants import CYCLE, CYCLE_YEARS
from skyband.job.sources.spark_ddl import ZONE

_ZONED = r"(?i)(z|utc|[+-]\d\d:?\d\d)$"
_DAY_ONLY = r"^\d{4}-\d\d-\d\d$"
_BEYOND_MICROSECONDS = r"([.]\d{6})\d+"


def typed(batch: pa.RecordBatch, columns: pa.Schema) -> pa.RecordBatch:
    """The columns with the types `wanted`. Raises InputError with the first row that has another value."""
    return pa.RecordBatch.from_arrays([_cast(batch.column(field.name), field) for field in columns], schema=columns)


def as_read(kind: Any) -> Any:
    """Times and dates are read as text and cast here: Arrow's readers know too few ways to write them."""
    return pa.string() if pa.types.is_temporal(kind) else kind


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
    return texts.cast(pa.timestamp("us", ZONE))


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


def _cast(column: Any, field: Any) -> Any:
    if column.type == field.type:
        return column
    try:
        return _converted(column, field.type)
    except pa.ArrowInvalid as error:
        row = _first_other(column, field.type)
        message = str(error).partition(" as a scalar of")[0].replace("Z'", "'")  # the zone that was added above
        raise InputError(field.name, f"cannot be read as {field.type}: {message}", row) from error


def _converted(column: Any, kind: Any) -> Any:
    if not pa.types.is_string(column.type):
        return column.cast(kind)
    texts = pc.utf8_trim_whitespace(column)
    texts = pc.if_else(pc.equal(texts, ""), None, texts)  # "" is a text, and no number or time
    return instants(texts).cast(kind) if pa.types.is_timestamp(kind) else texts.cast(kind)


def _first_other(column: Any, kind: Any) -> int:
    """The first row that cannot be converted, found by halving: O(rows)."""
    first, last = 0, len(column) - 1
    while first < last:
        middle = (first + last) // 2
        try:
            _converted(column.slice(first, middle - first + 1), kind)
            first = middle + 1
        except pa.ArrowInvalid:
            last = middle
    return first
