"""`to_timestamp(text, format)`: the patterns of Java's DateTimeFormatter that are parsed as in Spark."""

import re
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from skyband_expressions.bound import EvaluationError
from skyband_expressions.syntax import UnknownExpressionError
from skyband_expressions.time_texts import instants

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_LETTERS = {
    "yyyy": ("year", "[0-9]{4}"),
    "yy": ("year", "[0-9]{2}"),
    "MM": ("month", "[0-9]{2}"),
    "M": ("month", "[0-9]{1,2}"),
    "MMM": ("month", f"(?i:{'|'.join(_MONTHS)})"),
    "dd": ("day", "[0-9]{2}"),
    "d": ("day", "[0-9]{1,2}"),
    "HH": ("hour", "[0-9]{2}"),
    "H": ("hour", "[0-9]{1,2}"),
    "hh": ("half_hour", "[0-9]{2}"),
    "h": ("half_hour", "[0-9]{1,2}"),
    "a": ("half", "(?i:AM|PM)"),
    "mm": ("minute", "[0-9]{2}"),
    "m": ("minute", "[0-9]{1,2}"),
    "ss": ("second", "[0-9]{2}"),
    "s": ("second", "[0-9]{1,2}"),
    **{"S" * count: ("fraction", f"[0-9]{{{count}}}") for count in range(1, 7)},
    "Z": ("zone", "[+-][0-9]{4}"),
    "XXX": ("zone", "[+-][0-9]{2}:[0-9]{2}|Z"),
}
"""The field of each pattern letter, and a regex of its texts."""
_TOKEN = re.compile(r"'(?P<text>(?:[^']|'')*)'|(?P<letters>([A-Za-z])\3*)|(?P<plain>[^A-Za-z'\[\]{}#]+)")


def formatted(pattern: str) -> Callable[[pa.Array], pa.Array]:
    """The kernel that parses text in this format, in UTC if it names no zone.

    Raises UnknownExpressionError, naming unsupported letters. The kernel raises EvaluationError.
    """
    regex, fields = _regex(pattern)
    if not {"year", "month", "day"} <= fields.keys():
        raise UnknownExpressionError(f"to_timestamp: the format {pattern!r} has no supported year, month and day")
    halves = {"half_hour", "half"} & fields.keys()
    if halves and (len(halves) < 2 or "hour" in fields):
        raise UnknownExpressionError(f"to_timestamp: the format {pattern!r} needs both h and a, and no H")

    def kernel(column: pa.Array) -> pa.Array:
        parts = pc.extract_regex(column, regex)
        right = pc.is_valid(parts)
        values, valid = instants(_iso(parts, fields, right))
        wrong = pc.and_(pc.is_valid(column), pc.invert(pc.and_(right, pc.fill_null(valid, False))))
        if pc.any(wrong).as_py():
            first = column[pc.index(wrong, True).as_py()].as_py()
            raise EvaluationError(f"{first!r} is not a time in the format {pattern!r}")
        return pc.if_else(pc.is_null(column), pa.scalar(None, values.type), values)

    return kernel


def _regex(pattern: str) -> tuple[str, dict[str, str]]:
    """The regular expression of a format, and the letters of each of its fields."""
    parts, fields, place = [], dict[str, str](), 0
    while place < len(pattern):
        match = _TOKEN.match(pattern, place)
        letters = None if match is None else match["letters"]
        field, texts = _LETTERS.get(letters or "", ("", ""))
        if match is None or (letters is not None and (not field or field in fields)):
            what = letters or pattern[place:]
            raise UnknownExpressionError(f"to_timestamp: {what!r} in the format {pattern!r} is not supported")
        if letters is None:
            plain = match["plain"] if match["text"] is None else match["text"].replace("''", "'") or "'"
            parts.append(re.escape(plain))
        else:
            fields[field] = letters
            parts.append(f"(?P<{field}>{texts})")
        place = match.end()
    return f"\\A{''.join(parts)}\\z", fields


def _iso(parts: pa.Array, fields: dict[str, str], right: pa.Array) -> pa.Array:
    """The parts as 2026-01-31 09:30:00.5+01:00, with another time in place of an invalid one."""

    def part(name: str, otherwise: str) -> pa.Array:
        if name not in fields:
            return pa.repeat(pa.scalar(otherwise), len(parts))
        return pc.if_else(right, pc.struct_field(parts, name), otherwise)

    month = part("month", "01")
    if fields["month"] == "MMM":
        for number, name in enumerate(_MONTHS, 1):
            month = pc.replace_substring(pc.utf8_capitalize(month), name, f"{number:02}")
    hour = part("hour", "00")
    if "half_hour" in fields:
        hour = _of_24(part("half_hour", "12"), part("half", "AM"))
    two = [
        pc.utf8_lpad(part_text, 2, "0")
        for part_text in (month, part("day", "01"), hour, part("minute", "00"), part("second", "00"))
    ]
    fraction = part("fraction", "0")
    zone = pc.replace_substring_regex(part("zone", ""), r"^([+-][0-9]{2})([0-9]{2})$", r"\1:\2")
    zone = pc.replace_substring(zone, "Z", "")
    year = part("year", "1970")
    if fields["year"] == "yy":
        year = pc.binary_join_element_wise("20", part("year", "70"), "")
    day = pc.binary_join_element_wise(year, two[0], two[1], "-")
    time = pc.binary_join_element_wise(two[2], two[3], two[4], ":")
    return pc.binary_join_element_wise(day, " ", time, ".", fraction, zone, "")


def _of_24(hours: pa.Array, halves: pa.Array) -> pa.Array:
    """Hours from 1 to 12 with AM or PM as hours of a day; 99 for an invalid one."""
    numbers = hours.cast(pa.int64())
    of_half = pc.if_else(pc.equal(numbers, 12), 0, numbers)
    of_day = pc.add(of_half, pc.if_else(pc.equal(pc.utf8_upper(halves), "PM"), 12, 0))
    return pc.if_else(pc.and_(pc.greater(numbers, 0), pc.less(numbers, 13)), of_day, 99).cast(pa.string())
