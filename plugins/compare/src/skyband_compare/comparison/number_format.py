"""Formats numbers for people, the same in the terminal and on the page."""

import math

from skyband import text_tables
from skyband.instants import instant

_LEAST = 0.001


def share(value: float) -> str:
    """A share or a relative error in percent, with two significant digits of it or of its distance to 100."""
    if not math.isfinite(value):
        return "unbounded"
    percent = 100 * value
    if percent in (0, 100):
        return f"{percent:.0f} %"
    if percent > 100:
        return f"{significant(percent)} %"
    if percent < _LEAST or percent > 100 - _LEAST:
        return f"< {_LEAST} %" if percent < _LEAST else f"> {100 - _LEAST} %"
    digits = 1 - math.floor(math.log10(min(percent, 100 - percent)))
    return f"{percent:.{max(digits, 0)}f} %"


def rate(value: float) -> str:
    """Rows per second: 12.3 M, 850 k, 42."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size * 0.9995:
            return f"{significant(value / size)} {unit}"
    return significant(value)


def seconds(value: float) -> str:
    """A duration in the unit that fits: 3.2 s, 18 ms, 4.1 µs."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if value >= size * 0.9995:
            return f"{significant(value / size)} {unit}"
    return f"{significant(value * 1e6)} µs"


def significant(value: float) -> str:
    """Three digits."""
    if value == 0:
        return "0"
    value = round(value, 2 - math.floor(math.log10(abs(value))))
    digits = 2 - math.floor(math.log10(abs(value)))  # again: 999.9 has become 1000
    return f"{value:,.{max(digits, 0)}f}"


def count(value: float) -> str:
    """A whole number with separators."""
    return text_tables.count(value)


def size(value: float | None) -> str:
    """Bytes in the unit that fits; empty for None."""
    return "" if value is None else text_tables.size(value)


def brief(text: str) -> str:
    """A number without trailing zeros, for ticks: 2.00 ms becomes 2 ms."""
    number, space, unit = text.partition(" ")
    return (number.rstrip("0").rstrip(".") if "." in number and "e" not in number else number) + space + unit


def times(ratio: float) -> str:
    """A ratio in words."""
    return f"{brief(significant(ratio))} times"


def moment(value: int, in_rows: bool, with_date: bool = True) -> str:
    """A moment as a date and time, or as a number of rows."""
    if in_rows:
        return f"row {value:,}"
    at = instant(value)
    return at.isoformat(" ", "seconds") if with_date else at.strftime("%H:%M")
