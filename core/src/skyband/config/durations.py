"""Reads lengths of windows and slides: durations ("1 hour 30 minutes") or numbers of rows ("1000 rows")."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from attrs import NOTHING, field, frozen

from skyband.config.literals import literal
from skyband.config.parameters import Wrong, checked
from skyband.errors import Problem, suggest

_SECOND = 1_000_000
MOST = 2**61
"""The longest length (73,000 years), so that a time plus or minus a few lengths fits 64 bits."""
MOST_LETTERS = 1000
"""The longest text of a length; longer text is rejected unread."""
_UNITS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": _SECOND,
    "minute": 60 * _SECOND,
    "hour": 3_600 * _SECOND,
    "day": 86_400 * _SECOND,
    "week": 604_800 * _SECOND,
}
_CALENDAR = ("month", "year")
_PART = re.compile(r"\s*([+-]?\d+)\s*([a-z]+)\s*", re.IGNORECASE)


@frozen
class Duration:
    """A length of time in microseconds, or in rows. Equal lengths compare equal, whatever their text."""

    length: int
    rows: bool = False
    text: str = field(default="", eq=False)

    def __str__(self) -> str:
        return self.text or f"{self.length} {'rows' if self.rows else 'microseconds'}"


def parse(text: Any) -> Duration:
    """Read a duration. Raises ValueError that says what is wrong."""
    if isinstance(text, Duration):
        return text
    if isinstance(text, str) and len(text) > MOST_LETTERS:
        raise ValueError(f'must be a duration such as "10 minutes" (got {len(text):,} characters: {text[:40]!r}…)')
    if not isinstance(text, str):
        raise ValueError(f'must be a duration such as "10 minutes" or "1000 rows" (got {literal(text)})')
    parts = re.sub(r"^\s*interval\b", "", text, flags=re.IGNORECASE)
    counts = _PART.findall(parts)
    if not counts or _PART.sub("", parts).strip():
        raise ValueError(f'must be a duration such as "10 minutes" or "1000 rows" (got {literal(text)})')
    lengths = [(int(amount), _singular(unit)) for amount, unit in counts]
    rows = any(unit == "row" for _, unit in lengths)
    if rows and len(lengths) > 1:
        raise ValueError(f"mixes rows and time (got {literal(text)})")
    length = sum(amount * (1 if rows else _microseconds(unit, text)) for amount, unit in lengths)
    return Duration(length, rows, " ".join(text.split()))


def length_text(length: int, rows: bool) -> str:
    """A length as a user would write it, in the largest unit that divides it."""
    names = {"row": 1} if rows else _UNITS
    unit = max((unit for unit, size in names.items() if length % size == 0), key=lambda unit: names[unit])
    number = length // names[unit]
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"


def clock_problem(value: Any) -> str | None:
    """Why a value is not a length of time above 0; None if it is."""
    try:
        length = parse(value)
    except ValueError as error:
        return str(error)
    return None if not length.rows and length.length > 0 else f"must be a length of time above 0 (got {literal(value)})"


def duration(
    default: Any = NOTHING, *, at_least: int = 1, help: str, read: Callable[[Any], Any] = parse, **options: Any
) -> Any:
    """A field of a query that holds a Duration; text is converted. `at_least`: 1, or 0 if zero is allowed.

    read: converts the text, and raises ValueError if it is not a duration.
    """

    def check(value: Any) -> str | None:
        return _wrong(value, at_least, read)

    options.setdefault("converter", lambda value: parsed(value, read))
    return checked(default, type="duration", check=check, help=help, **options)


def durations(
    default: Any = NOTHING,
    *,
    help: str,
    read: Callable[[Any], Any] = parse,
    may_be_empty: bool = False,
    **options: Any,
) -> Any:
    """A field of a query that holds one or more Durations, all in time or all in rows; `may_be_empty` allows none."""

    def check(value: Any) -> Wrong:
        return None if may_be_empty and value in ([], ()) else _wrong_list(value, read)

    def convert(value: Any) -> Any:
        return value if check(value) else tuple(map(read, value))

    return checked(default, type="durations", check=check, help=help, converter=convert, **options)


def _wrong(value: Any, at_least: int, read: Callable[[Any], Any]) -> str | None:
    """Why a duration is invalid; None if it is valid."""
    try:
        length = read(value)
    except ValueError as error:
        return str(error)
    if length.length > MOST:
        return f"must be at most {MOST} {'rows' if length.rows else 'microseconds'} (got {length})"
    if length.length >= at_least:
        return None
    return f"must {'be longer than' if at_least else 'not be below'} 0 (got {length})"


def _wrong_list(value: Any, read: Callable[[Any], Any]) -> Wrong:
    """Why a list of durations is invalid, alone or in combination; None if it is valid."""
    if isinstance(value, str | Mapping) or hasattr(value, "rows") or not hasattr(value, "__iter__") or not list(value):
        return f'must be a list of durations such as ["10 minutes"] (got {literal(value)})'
    problems, sound = [], list[Any]()
    for number, entry in enumerate(value):
        problem = _wrong(entry, 1, read)
        if problem is None:
            length = read(entry)
            problem = _wrong_beside(length, sound)
            sound.append(length)
        if problem is not None:
            problems.append(Problem(f"[{number}]", problem))
    return problems


def _wrong_beside(length: Any, others: list[Any]) -> str | None:
    if others and length.rows != others[0].rows:
        return f"must be in {'rows' if others[0].rows else 'time'}, like those before it (got {length})"
    return f"is listed twice (got {length})" if length in others else None


def parsed(value: Any, read: Callable[[Any], Any] = parse) -> Any:
    """A duration if the text is one; anything else unchanged, for the check that names the field."""
    try:
        return read(value)
    except ValueError:
        return value


def _singular(unit: str) -> str:
    return unit.lower().removesuffix("s")


def _microseconds(unit: str, text: str) -> int:
    if unit in _CALENDAR:
        raise ValueError(f"{unit}s differ in length; give it in days (got {literal(text)})")
    if unit not in _UNITS:
        raise ValueError(f"unknown unit {unit!r} in {text!r}; {suggest(unit, [*_UNITS, 'row'])}")
    return _UNITS[unit]
