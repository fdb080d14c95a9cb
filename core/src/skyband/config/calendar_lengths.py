"""Reads calendar lengths: "today in Europe/Paris", "since 09:30 in Asia/Tokyo", "1 month"."""

import re
from collections.abc import Iterable
from typing import Any

from attrs import NOTHING, evolve, field, frozen

from skyband.config.durations import MOST_LETTERS, Duration, duration, durations, parse
from skyband.config.literals import literal

UTC = "UTC"
EVER = "ever"
ALWAYS = 2**60
"""Microseconds: times of rows in such a window are less than this before or after 1970."""
SO_FAR = 'such as "1 hour", "today in Europe/Paris", "this month in UTC", "since 09:30 in Asia/Tokyo" or "ever"'
"""The other forms of a window, for its help text."""
_DAY = 86_400_000_000
_UNITS = {"day": 1, "week": 7, "month": 31, "year": 366}
"""Each unit with the most days it can have."""
_BEGUN = {"today": "day", **{f"this {unit}": unit for unit in ("week", "month", "year")}}
_ZONED = re.compile(r"(?P<what>.*\S)\s+in\s+(?P<zone>\S+)", re.IGNORECASE)
_COLUMN = re.compile(r"\{(?P<column>[^{}]+)\}")
_COUNTED = re.compile(r"(?:(?P<count>\d+)\s*)?(?P<unit>[a-z]+?)s?", re.IGNORECASE)
_SINCE = re.compile(r"since\s+(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d))?", re.IGNORECASE)
_EXAMPLES = '"10 minutes", "1 day in Europe/Paris", "today in Europe/Paris", "since 09:30 in Europe/Paris"'


@frozen
class CalendarLength:
    """`count` days, weeks, months or years of a time zone; with `so_far`, the elapsed part of the current one."""

    unit: str
    count: int = 1
    zone: str = UTC
    so_far: bool = False
    clock: int = 0
    """The time of day at which the unit begins, in microseconds after midnight."""
    text: str = field(default="", eq=False)
    column: str | None = None
    """The grouping column that names each group's zone; `zone` is then not used."""

    rows: bool = field(default=False, init=False)

    @property
    def length(self) -> int:
        """An upper bound of the window's length, in microseconds."""
        if self.ever:
            return 2 * ALWAYS
        return (self.count * _UNITS[self.unit] + 1) * _DAY

    @property
    def ever(self) -> bool:
        """Whether the window holds every row: it begins before all of them and never starts over."""
        return self.unit == EVER

    @property
    def zone_text(self) -> str:
        """The zone as the user wrote it."""
        return self.zone if self.column is None else f"{{{self.column}}}"

    def __str__(self) -> str:
        return self.text


Length = Duration | CalendarLength


def zone_of(length: Length) -> str:
    """The zone of a length's calendar; UTC for a length that is the same in all zones."""
    return length.zone if isinstance(length, CalendarLength) else UTC


def zone_columns(lengths: Iterable[Length]) -> list[str]:
    """The columns that name zones, without duplicates."""
    columns = [length.column for length in lengths if isinstance(length, CalendarLength) and length.column is not None]
    return list(dict.fromkeys(columns))


def is_ever(length: Length) -> bool:
    """Whether it holds every row."""
    return isinstance(length, CalendarLength) and length.ever


def parse_length(text: Any) -> Length:
    """Read a duration as `parse` does, or a calendar length. Raises ValueError that says what is wrong."""
    if isinstance(text, CalendarLength):
        return text
    if not isinstance(text, str) or len(text) > MOST_LETTERS:
        return parse(text)
    plain = " ".join(text.split())
    zoned = _ZONED.fullmatch(plain)
    what, zone = (zoned["what"], zoned["zone"]) if zoned else (plain, UTC)
    named = _COLUMN.fullmatch(zone)
    zone = UTC if named else zone
    units = _UNITS if zoned else ("month", "year")  # without a zone, days and weeks have a fixed length
    length = _so_far(what, zone, plain) or _counted(what, zone, plain, units)
    if length is not None:
        from skyband.config.time_zone_conversion import time_zone  # on use, as few queries have a calendar

        time_zone(zone)
        return length if named is None else evolve(length, column=named["column"])
    if zoned:
        raise ValueError(_not_zoned(what, plain))
    return parse(text)


def _so_far(what: str, zone: str, text: str) -> CalendarLength | None:
    if what.lower() == EVER:
        if text.lower() != EVER:
            raise ValueError(f'begins before any row, in every zone: write "{EVER}" (got {literal(text)})')
        return CalendarLength(EVER, 1, so_far=True, text=text)
    if what.lower() in _BEGUN:
        return CalendarLength(_BEGUN[what.lower()], 1, zone, so_far=True, text=text)
    since = _SINCE.fullmatch(what)
    if since is None:
        if what.lower().startswith(("since", "this")):
            choices = ", ".join(_BEGUN)
            raise ValueError(f"must be {choices}, or since a time of the clock such as 09:30 (got {literal(text)})")
        return None
    hour, minute, second = (int(since[name] or 0) for name in ("hour", "minute", "second"))
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError(f"must have a time from 00:00 to 23:59:59 (got {literal(text)})")
    clock = ((hour * 60 + minute) * 60 + second) * 1_000_000
    return CalendarLength("day", 1, zone, so_far=True, clock=clock, text=text)


def _counted(what: str, zone: str, text: str, units: Iterable[str]) -> CalendarLength | None:
    counted = _COUNTED.fullmatch(what)
    if counted is None or counted["unit"].lower() not in units:
        return None
    count = int(counted["count"] or 1)
    if not 1 <= count <= 10_000:
        raise ValueError(f"must be from 1 to 10000 {counted['unit']}s (got {literal(text)})")
    return CalendarLength(counted["unit"].lower(), count, zone, text=text)


def _not_zoned(what: str, text: str) -> str:
    try:
        parse(what)
    except ValueError:
        return f"must be a length such as {_EXAMPLES} (got {literal(text)})"
    message = f'only days, weeks, months and years differ by zone: write "{what}", or use one of these units'
    return f"{message} (got {literal(text)})"


def length(default: Any = NOTHING, *, help: str) -> Any:
    """A field of a query that holds a Length; text is converted."""
    return duration(default, help=help, read=parse_length)


def lengths(default: Any = NOTHING, *, help: str, may_be_empty: bool = False) -> Any:
    """A field of a query that holds one or more Lengths, all in time or all in rows; `may_be_empty` allows none."""
    return durations(default, help=help, read=parse_length, may_be_empty=may_be_empty)
