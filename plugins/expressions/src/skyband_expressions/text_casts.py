"""Casts text to other types, in the formats that Spark reads, and times to text."""

from collections.abc import Callable
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from skyband_expressions.bound import EvaluationError
from skyband_expressions.spark_types import INSTANT, is_decimal, is_float, is_integer
from skyband_expressions.time_texts import days, instants

_AROUND = "".join(map(chr, [*range(0x21), 0x7F]))
"""The characters that Spark trims around a number or a time."""
_INTEGER = r"^[+-]?[0-9]+$"
_FLOAT = r"(?i)^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?[fd]?$"
_SPECIAL = r"^((?i:[+-]?(inf|infinity)|nan)|[+-]NaN)$"
_DECIMAL = r"(?i)^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?$"
_FAR_FROM_ONE = 80
"""A power of ten beyond every digit of a decimal."""
_TRUE, _FALSE = pa.array(["t", "true", "y", "yes", "1"]), pa.array(["f", "false", "n", "no", "0"])


def from_text(kind: pa.DataType) -> Callable[[pa.Array], tuple[pa.Array, pa.Array]] | None:
    """The kernel that casts text to a type, or None. See `casts.Kernel`."""
    if is_integer(kind):
        return lambda column: _integers(column, kind)
    if is_float(kind):
        return lambda column: floats(column, kind)
    if is_decimal(kind):
        return lambda column: _decimals(column, kind)
    if kind == pa.bool_():
        return _booleans
    if kind == pa.date32():
        return lambda column: days(_trimmed(column))
    if kind == INSTANT:
        return lambda column: instants(_trimmed(column))
    return None


def _trimmed(column: pa.Array) -> pa.Array:
    return pc.utf8_trim(column, _AROUND)


def _where(right: pa.Array, column: pa.Array, otherwise: str | pa.Scalar) -> pa.Array:
    """The valid values, and `otherwise` in place of the others."""
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


def floats(column: pa.Array, kind: pa.DataType, specials: str = _SPECIAL) -> tuple[pa.Array, pa.Array]:
    """Text as floats, and bool[n], which are valid; `specials`: a pattern for infinities and NaN.

    Raises EvaluationError if one is in base 16.
    """
    texts = _trimmed(column)
    special = pc.match_substring_regex(texts, specials)
    right = pc.or_(special, pc.match_substring_regex(texts, _FLOAT))
    _check_known(texts, right, _HEXADECIMAL, "numbers in base 16")
    plain = pc.if_else(special, texts, pc.utf8_rtrim(texts, "dDfF"))
    plain = pc.replace_substring_regex(pc.utf8_ltrim(plain, "+"), r"^(-?)\.", r"\10.")
    return _where(right, plain, "0").cast(kind), right


def _decimals(column: pa.Array, kind: pa.DataType) -> tuple[pa.Array, pa.Array]:
    """Rounded to the digits of the type, halves away from zero."""
    texts, whole = _trimmed(column), kind.precision - kind.scale
    fraction = rf"(\.[0-9]{{1,{kind.scale}}})?" if kind.scale else ""
    plain = rf"^-?{f'[0-9]{{1,{whole}}}' if whole else '0'}{fraction}$"
    if pc.all(pc.match_substring_regex(texts, plain), min_count=0).as_py():
        return texts.cast(kind), pc.is_valid(texts)
    right = pc.match_substring_regex(texts, _DECIMAL)
    texts = _without_exponents(_where(right, texts, "0"))
    texts = pc.replace_substring_regex(pc.utf8_ltrim(texts, "+"), r"^(-?)0*([0-9])", r"\1\2")
    texts = pc.replace_substring_regex(texts, rf"^(-?[0-9]*\.[0-9]{{{kind.scale + 1}}})[0-9]*$", r"\1")
    right = pc.and_(right, pc.invert(pc.match_substring_regex(texts, rf"^-?[1-9][0-9]{{{whole},}}")))
    texts = pc.replace_substring_regex(pc.utf8_rtrim(_where(right, texts, "0"), "."), r"^(-?)\.", r"\10.")
    wide = texts.cast(pa.decimal256(76, kind.scale + 1))
    rounded = pc.round(wide, kind.scale, "half_towards_infinity")
    limit = pa.scalar(10**whole, pa.decimal256(39, 0)).cast(pa.decimal256(76, kind.scale + 1))
    right = pc.and_(right, pc.less(pc.abs(rounded), limit))
    return _where(right, rounded, pa.scalar(0, pa.int8()).cast(rounded.type)).cast(kind), right


def _without_exponents(texts: pa.Array) -> pa.Array:
    """Numbers written out without exponents; each distinct text with one is converted once."""
    has_one = pc.match_substring_regex(texts, r"[eE]")
    if not pc.any(has_one).as_py():
        return texts
    coded = pc.if_else(has_one, texts, "").dictionary_encode()
    plain_texts = pa.array([_written_out(text) if text else text for text in coded.dictionary.to_pylist()], pa.string())
    return pc.if_else(has_one, plain_texts.take(coded.indices), texts)


def _written_out(number: str) -> str:
    size = Decimal(number).adjusted()
    if abs(size) < _FAR_FROM_ONE:
        return f"{Decimal(number):f}"
    return "0" if size < 0 or not Decimal(number) else f"1{'0' * _FAR_FROM_ONE}"


def _booleans(column: pa.Array) -> tuple[pa.Array, pa.Array]:
    texts = pc.utf8_lower(_trimmed(column))
    true = pc.is_in(texts, _TRUE)
    right = pc.or_(true, pc.is_in(texts, _FALSE))
    return pc.if_else(pc.is_null(column), pa.scalar(None, pa.bool_()), true), right


_HEXADECIMAL = r"(?i)^[+-]?0x"
_ENDS = pa.array([-62_135_596_800_000_000, 253_402_300_799_999_999]).cast(INSTANT)
"""The first and the last instant of the years 1 to 9999."""


def _check_known(texts: pa.Array, right: pa.Array, other: str, what: str) -> None:
    """Raise EvaluationError for a text that Spark might read and we cannot: null would be wrong."""
    unsure = pc.and_kleene(pc.invert(right), pc.match_substring_regex(texts, other))
    if pc.any(unsure).as_py():
        text = texts[pc.index(unsure, True).as_py()].as_py()
        raise EvaluationError(f"{text!r}: {what} are supported by Spark only")


def time_to_text(column: pa.Array) -> pa.Array:
    """Days and times as Spark writes them: without zone, and without trailing zeros of a fraction.

    Raises EvaluationError if one is not in the years 1 to 9999.
    """
    moments = column.cast(pa.int64() if pa.types.is_timestamp(column.type) else pa.int32())
    first, last = (end.cast(column.type).cast(moments.type) for end in _ENDS)
    if pc.any(pc.or_(pc.less(moments, first), pc.greater(moments, last))).as_py():
        raise EvaluationError("times outside the years 1 to 9999 become text on Spark only")
    if pa.types.is_date32(column.type):
        return column.cast(pa.string())
    texts = moments.cast(pa.timestamp("us")).cast(pa.string())
    texts = pc.replace_substring_regex(texts, r"(\.[0-9]*?)0+$", r"\1")
    return pc.replace_substring_regex(texts, r"\.$", "")
