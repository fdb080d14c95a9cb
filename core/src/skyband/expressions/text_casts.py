"""Text as values of other types, in the ways of writing them that Spark knows, and times as text."""

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from skyband.expressions.bound import EvaluationError
from skyband.expressions.spark_types import INSTANT, is_float, is_integer

_AROUND = "".join(map(chr, [*range(0x21), 0x7F]))
"""What Spark leaves out around a number or a time."""
_INTEGER = r"^[+-]?[0-9]+$"
_FLOAT = r"(?i)^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?[fd]?$"
_SPECIAL = r"(?i)^([+-]?(inf|infinity)|nan)$"
_TRUE, _FALSE = pa.array(["t", "true", "y", "yes", "1"]), pa.array(["f", "false", "n", "no", "0"])
_DAY = r"^[0-9]{4}(-[0-9]{1,2}(-[0-9]{1,2}([ T].*)?)?)?$"
_TIME = (
    r"(?i)^[0-9]{4}(-[0-9]{1,2}(-[0-9]{1,2}([ T][0-9]{1,2}:[0-9]{1,2}(:[0-9]{1,2}(\.[0-9]{0,9})?"
    r"( ?(z|utc|[+-][0-9]{1,2}(:[0-9]{1,2})?))?)?)?)?)?$"
)
"""A zone comes after seconds only."""


def from_text(kind: pa.DataType) -> Callable[[pa.Array], tuple[pa.Array, pa.Array]] | None:
    """The kernel of a cast of text to a type; None where there is none. See `casts.Kernel`."""
    if is_integer(kind):
        return lambda column: _integers(column, kind)
    if is_float(kind):
        return lambda column: _floats(column, kind)
    if kind == pa.bool_():
        return _booleans
    if kind == pa.date32():
        return _days
    if kind == INSTANT:
        return _instants
    return None


def _trimmed(column: pa.Array) -> pa.Array:
    return pc.utf8_trim(column, _AROUND)


def _where(right: pa.Array, column: pa.Array, otherwise: str) -> pa.Array:
    """The texts that are right, another in the place of those that are not."""
    return pc.if_else(right, column, otherwise)


def _integers(column: pa.Array, kind: pa.DataType) -> tuple[pa.Array, pa.Array]:
    texts = _trimmed(column)
    right = pc.match_substring_regex(texts, _INTEGER)
    digits = pc.replace_substring_regex(_where(right, texts, "0"), r"^([+-]?)0*([0-9])", r"\1\2")
    digits = pc.utf8_ltrim(digits, "+")
    right = pc.and_(right, pc.less_equal(pc.utf8_length(digits), 20))
    numbers = _where(right, digits, "0").cast(pa.decimal128(20, 0))
    bits = kind.bit_width - 1
    low, high = (pa.scalar(end, pa.decimal128(20, 0)) for end in (-(2**bits), 2**bits - 1))
    right = pc.and_(right, pc.and_(pc.greater_equal(numbers, low), pc.less_equal(numbers, high)))
    return pc.if_else(right, numbers, pa.scalar(0, pa.decimal128(20, 0))).cast(kind), right


def _floats(column: pa.Array, kind: pa.DataType) -> tuple[pa.Array, pa.Array]:
    texts = _trimmed(column)
    special = pc.match_substring_regex(texts, _SPECIAL)
    right = pc.or_(special, pc.match_substring_regex(texts, _FLOAT))
    _check_known(texts, right, _HEXADECIMAL, "numbers in base 16")
    plain = pc.if_else(special, texts, pc.utf8_rtrim(texts, "dDfF"))
    plain = pc.replace_substring_regex(pc.utf8_ltrim(plain, "+"), r"^(-?)\.", r"\10.")
    return _where(right, plain, "0").cast(kind), right


def _booleans(column: pa.Array) -> tuple[pa.Array, pa.Array]:
    texts = pc.utf8_lower(_trimmed(column))
    true = pc.is_in(texts, _TRUE)
    right = pc.or_(true, pc.is_in(texts, _FALSE))
    return pc.if_else(pc.is_null(column), pa.scalar(None, pa.bool_()), true), right


_FAR = r"^[+-]?[0-9]{5,7}($|-)"
_NO_DAY = r"^T?[0-9]{1,2}:"
_OTHER_ZONE = r"^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}[ T][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(\.[0-9]*)? ?[A-Za-z+-]"
_HEXADECIMAL = r"(?i)^[+-]?0x"
_ENDS = pa.array([-62_135_596_800_000_000, 253_402_300_799_999_999]).cast(INSTANT)
"""The first and last instant of the years 1 to 9999."""


def _near(texts: pa.Array) -> pa.Array:
    """The texts. Raises EvaluationError where Spark knows one that is not known here."""
    if pc.any(pc.match_substring_regex(texts, _FAR)).as_py():
        raise EvaluationError("text with years of more than four digits is known to Spark only")
    return texts


def _check_known(texts: pa.Array, right: pa.Array, other: str, what: str) -> None:
    """Raise EvaluationError where a text that is not known here may be one that Spark knows: null would be wrong."""
    unsure = pc.and_kleene(pc.invert(right), pc.match_substring_regex(texts, other))
    if pc.any(unsure).as_py():
        text = texts[pc.index(unsure, True).as_py()].as_py()
        raise EvaluationError(f"{text!r}: {what} are known to Spark only")


def _days(column: pa.Array) -> tuple[pa.Array, pa.Array]:
    texts = _near(_trimmed(column))
    right = pc.match_substring_regex(texts, _DAY)
    days = pc.replace_substring_regex(_where(right, texts, "1970"), r"[ T].*$", "")
    return _days_of(_full_days(days), right)


def _full_days(texts: pa.Array) -> pa.Array:
    """Days of the form 2026-01-31 from those that leave zeros, days or months out."""
    for pattern, full in (
        (r"^([0-9]{4})($|[ T])", r"\1-01\2"),
        (r"^([0-9]{4})-([0-9])($|[- T])", r"\1-0\2\3"),
        (r"^([0-9]{4}-[0-9]{2})($|[ T])", r"\1-01\2"),
        (r"^([0-9]{4}-[0-9]{2})-([0-9])($|[ T])", r"\1-0\2\3"),
    ):
        texts = pc.replace_substring_regex(texts, pattern, full)
    return texts


def _days_of(texts: pa.Array, right: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Days of the form 2026-01-31, and which of them there are."""
    there = _are_days(texts)
    return _where(there, texts, "1970-01-01").cast(pa.date32()), pc.and_(right, there)


def _are_days(texts: pa.Array) -> pa.Array:
    """bool[n]: whether a text begins with a day of the calendar, of the form 2026-01-31."""
    month, day = (pc.utf8_slice_codeunits(texts, start, start + 2) for start in (5, 8))
    year = pc.cast(pc.utf8_slice_codeunits(texts, 0, 4), pa.int32())
    leap = _is_leap(year)
    thirty = pc.is_in(month, pa.array(["04", "06", "09", "11"]))
    last = pc.if_else(thirty, 30, pc.if_else(pc.equal(month, "02"), pc.if_else(leap, 29, 28), 31))
    days, months = day.cast(pa.int32()), month.cast(pa.int32())
    in_month = pc.and_(pc.greater_equal(days, 1), pc.less_equal(days, last))
    in_year = pc.and_(pc.greater_equal(months, 1), pc.less_equal(months, 12))
    return pc.and_(pc.and_(in_month, in_year), pc.greater_equal(year, 1))


def _is_leap(year: pa.Array) -> pa.Array:
    def divides(number: int) -> pa.Array:
        return pc.equal(pc.multiply(pc.divide(year, number), number), year)

    return pc.or_(pc.and_(divides(4), pc.invert(divides(100))), divides(400))


def _instants(column: pa.Array) -> tuple[pa.Array, pa.Array]:
    texts = _near(_trimmed(column))
    if pc.any(pc.match_substring_regex(texts, _NO_DAY)).as_py():
        raise EvaluationError("text with a time and no day, which is today's then, is known to Spark only")
    right = pc.match_substring_regex(texts, _TIME)
    _check_known(texts, right, _OTHER_ZONE, "times with such a zone")
    return instants_of(_full_days(_where(right, texts, "1970")), right)


def instants_of(texts: pa.Array, right: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Times that begin with a day of the form 2026-01-31, in UTC where they name no zone, cut to microseconds."""
    for pattern, full in (
        (r"^(.{10})$", r"\1 00:00:00"),
        (r"^(.{10})[ T]([0-9]):", r"\1 0\2:"),
        (r"^(.{10})T", r"\1 "),
        (r"^(.{13}):([0-9])($|[^0-9])", r"\1:0\2\3"),
        (r"^(.{16})($|[^:])", r"\1:00\2"),
        (r"^(.{16}):([0-9])($|[^0-9])", r"\1:0\2\3"),
        (r"^(.{19})\.($|[^0-9])", r"\1\2"),
        (r"^(.{19}\.[0-9]{6})[0-9]+", r"\1"),
        (r"(?i) ?(z|utc)$", ""),
        (r"^(.{19}.*) ([+-])", r"\1\2"),
        (r"([+-])([0-9])($|:)", r"\10\2\3"),
        (r"([+-][0-9]{2}):([0-9])$", r"\1:0\2"),
        (r"^(.{19}.*[+-][0-9]{2})$", r"\1:00"),
    ):
        texts = pc.replace_substring_regex(texts, pattern, full)
    hour, minute, second = (pc.utf8_slice_codeunits(texts, start, start + 2) for start in (11, 14, 17))
    inside = pc.and_(pc.less(hour, "24"), pc.and_(pc.less(minute, "60"), pc.less(second, "60")))
    zone = pc.replace_substring_regex(texts, r"^.{19}[^+-]*", "")
    in_zone = pc.or_(
        pc.equal(zone, ""),
        pc.or_(pc.and_(pc.less(pc.utf8_slice_codeunits(zone, 1, 3), "18"),
                       pc.less(pc.utf8_slice_codeunits(zone, 4, 6), "60")),
               pc.equal(pc.utf8_slice_codeunits(zone, 1, 6), "18:00")),
    )  # fmt: skip
    there = pc.and_(_are_days(texts), pc.and_(inside, in_zone))
    sound = _where(there, texts, "1970-01-01 00:00:00")
    zoned = pc.match_substring_regex(sound, r"[+-][0-9]{2}:[0-9]{2}$")
    zoned = pc.and_(zoned, pc.greater(pc.utf8_length(sound), 19))
    sound = pc.if_else(zoned, sound, pc.binary_join_element_wise(sound, "Z", ""))
    return sound.cast(INSTANT), pc.and_(right, there)


def time_to_text(column: pa.Array) -> pa.Array:
    """Days and times as Spark writes them: no zone, and of a second's fraction no zeros at its end.

    Raises EvaluationError where one is not in the years 1 to 9999.
    """
    moments = column.cast(pa.int64() if pa.types.is_timestamp(column.type) else pa.int32())
    first, last = (end.cast(column.type).cast(moments.type) for end in _ENDS)
    if pc.any(pc.or_(pc.less(moments, first), pc.greater(moments, last))).as_py():
        raise EvaluationError("times that are not in the years 1 to 9999 are text on Spark only")
    if pa.types.is_date32(column.type):
        return column.cast(pa.string())
    texts = moments.cast(pa.timestamp("us")).cast(pa.string())
    texts = pc.replace_substring_regex(texts, r"(\.[0-9]*?)0+$", r"\1")
    return pc.replace_substring_regex(texts, r"\.$", "")
