"""`against = "previous"`: beside each window the one just before it, as long, which ends where this one begins."""

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
        help='"previous": beside each window the one just before it, as long, with the difference and the ratio',
    )  # fmt: skip


def previous_problems(windows: Mapping[str, Length]) -> list[Problem]:
    """What is wrong with windows, by their keys, that are compared with those before them."""
    problems = []
    for key, window in windows.items():
        if isinstance(window, CalendarLength) and window.so_far:
            message = "has none of its length before it: compare whole ones with `against`, such as"
            unit = "day" if window.ever else window.unit
            problems.append(Problem(key, f'{message} "1 {unit} in {window.zone_text}" (got {window})'))
        elif isinstance(window, CalendarLength):
            pass
        elif window.length > MOST // 2:
            longest = length_text(MOST // 2, window.rows)
            problems.append(Problem(key, f"must be at most {longest} with `against`, for two of them (got {window})"))
    return problems


def twice(window: Length) -> Length:
    """A window and the one before it as one."""
    if isinstance(window, CalendarLength):
        count = 2 * window.count
        return evolve(window, count=count, text=f"{count} {window.unit}s in {window.zone_text}")
    return evolve(window, length=2 * window.length, text="")


def with_previous(windows: tuple[Length, ...]) -> tuple[Length, ...]:
    """Each window, and after it the one that holds it and the one before it."""
    return tuple(length for window in windows for length in (window, twice(window)))


def only_with_against(values: Mapping[str, tuple[Any, Any]]) -> list[Problem]:
    """Of keys that ask something of the comparison, with their values and defaults, those that are not the default."""
    message = 'goes with `against` only: add against = "previous", or drop this'
    return [
        Problem(key, f"{message} (got {literal(value)})")
        for key, (value, default) in values.items()
        if value != default
    ]
