"""What is wrong with the value of one key of a rule, and the values as they are kept."""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

from skyband.config.durations import clock_problem, parse
from skyband.config.literals import literal

from skyband_detect.detections.number_measures import number_measure
from skyband_detect.role import DISTINCT, LONGEST, MOST, ROWS, UNSEEN

CROSSING, EACH = "crossing", "each"
"""When a rule answers: at the row that crosses its bound, or at each time at which it is reached."""
SEQUENCE = "sequence"
"""The measure of rules with `steps`."""
DISTINCT_MEASURE = re.compile(r"distinct\s+(\S.*)")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MEASURES = (
    f'"{ROWS}", "{DISTINCT} COLUMN", "{UNSEEN}", "sum COLUMN", "mean COLUMN", "median of COLUMN", "p99 of COLUMN" '
    f'or "{SEQUENCE}"'
)


def name_problem(value: Any) -> str | None:
    """A name is a text with at least one letter."""
    return None if isinstance(value, str) and value else f"must be a name (got {literal(value)})"


def key_problem(value: Any) -> str | None:
    """What is wrong with a key; a text is a list with commas."""
    if isinstance(value, list | tuple) and not value:
        return None
    try:
        names = key_names(value)
    except TypeError:
        return f'must be a column or a list of columns, such as ["user", "host"] (got {literal(value)})'
    return "names a column twice" if len(set(names)) < len(names) else None


def count_problem(value: Any) -> str | None:
    """A bound of counts is a whole number from 1 to MOST."""
    if isinstance(value, float) and value.is_integer():
        return f"must be a whole number, without a point (got {literal(value)})"
    if isinstance(value, bool) or not isinstance(value, int):
        return f"must be a whole number (got {literal(value)})"
    return None if 1 <= value <= MOST else f"must be from 1 to {MOST} (got {value})"


def measure_problem(value: Any) -> str | None:
    """A measure is one of those listed."""
    if not isinstance(value, str):
        return f"must be {_MEASURES} (got {literal(value)})"
    if value in (ROWS, UNSEEN, SEQUENCE):
        return None
    try:
        if number_measure(value) is not None:
            return None
    except ValueError as error:
        return str(error)
    if DISTINCT_MEASURE.fullmatch(value):
        return key_problem(value.removeprefix(DISTINCT))
    return f"must be {_MEASURES} (got {value!r})"


def length_problem(value: Any) -> str | None:
    """A window is a length of time, above 0 and at most LONGEST."""
    message = clock_problem(value)
    if message is None and parse(value).length > LONGEST:
        return f"must be at most 73,000 years (got {parse(value)})"
    return message


def choice_problem(*choices: str) -> Callable[[Any], str | None]:
    """The check of a key that takes one of a few words."""
    names = " or ".join(f'"{choice}"' for choice in choices)
    return lambda value: None if value in choices else f"must be {names} (got {literal(value)})"


def flag_problem(value: Any) -> str | None:
    """A flag is true or false."""
    return None if isinstance(value, bool) else f"must be true or false (got {literal(value)})"


def time_problem(value: Any) -> str | None:
    """A time is text as in ISO 8601, a date or a datetime."""
    try:
        utc_time(value)
    except (TypeError, ValueError, OverflowError):
        return f'must be a time such as "2026-01-31T12:00:00Z" (got {literal(value)})'
    return None


def key_names(columns: Any) -> tuple[str, ...]:
    """The columns of a list, or of a text with commas. Raises TypeError for anything else."""
    names = [name.strip() for name in columns.split(",")] if isinstance(columns, str) else columns
    if not isinstance(names, list | tuple) or not names or not all(isinstance(name, str) and name for name in names):
        raise TypeError("columns")
    return tuple(names)


def utc_time(time: Any) -> datetime:
    """A time in UTC, of text, a date or a datetime that may name another zone. Raises TypeError or ValueError."""
    if isinstance(time, str):
        time = datetime.fromisoformat(time)
    if isinstance(time, date) and not isinstance(time, datetime):
        time = datetime(time.year, time.month, time.day)
    if not isinstance(time, datetime):
        raise TypeError("time")
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def microseconds(time: str) -> int:
    """Microseconds since the epoch."""
    since = utc_time(time) - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
