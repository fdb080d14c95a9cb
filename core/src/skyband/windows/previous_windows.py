"""`against = "previous"`: compares each window with the previous one, of equal length, which ends where it begins."""

from collections.abc import Mapping
from typing import Any

from attrs import evolve

from skyband.config.calendar_lengths import CalendarLength, Length
from skyband.config.durations import MOST, length_text
from skyband.config.literals import literal
from skyband.config.parameters import choice
from skyband.errors import Problem

PREVIOUS = "previous"


def against_parameter() -> Any:
    """The field `against`."""
    return choice(
        PREVIOUS, default=None, kw_only=True,
        help='"previous": compare each window with the previous one of equal length, by difference and ratio',
    )  # fmt: skip


def previous_problems(windows: Mapping[str, Length]) -> list[Problem]:
    """Problems of windows, by their keys, that are compared with previous ones."""
    problems = []
    for key, window in windows.items():
        if isinstance(window, CalendarLength) and window.so_far:
            message = "has no previous window of equal length: with `against`, use whole units such as"
            unit = "day" if window.ever else window.unit
            problems.append(Problem(key, f'{message} "1 {unit} in {window.zone_text}" (got {window})'))
        elif isinstance(window, CalendarLength):
            pass
        elif window.length > MOST // 2:
            longest = length_text(MOST // 2, window.rows)
            problems.append(Problem(key, f"must be at most {longest} with `against`, for two windows (got {window})"))
    return problems


def twice(window: Length) -> Length:
    """A window united with the previous one."""
    if isinstance(window, CalendarLength):
        count = 2 * window.count
        return evolve(window, count=count, text=f"{count} {window.unit}s in {window.zone_text}")
    return evolve(window, length=2 * window.length, text="")


def with_previous(windows: tuple[Length, ...]) -> tuple[Length, ...]:
    """Each window, followed by its union with the previous one."""
    return tuple(length for window in windows for length in (window, twice(window)))


def only_with_against(values: Mapping[str, tuple[Any, Any]]) -> list[Problem]:
    """Problems of keys about the comparison, given with their values and defaults, that are set without `against`."""
    message = 'needs `against`: add against = "previous", or remove this key'
    return [
        Problem(key, f"{message} (got {literal(value)})")
        for key, (value, default) in values.items()
        if value != default
    ]
