"""The windows and moments of a query: the keys `every` and `offset`, checks that they fit, and the schedule."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import pyarrow as pa

from skyband.config.calendar_lengths import UTC, CalendarLength, Length, is_ever, length
from skyband.config.durations import Duration, duration
from skyband.errors import Problem
from skyband.windows.calendar_schedule import AnewSchedule, CalendarSchedule
from skyband.windows.empty_windows import EndlessCalendar, EndlessRegular
from skyband.windows.schedule import Regular, Schedule


def every_parameter() -> Any:
    """The field `every`."""
    return length(
        help='how often to answer, such as "5 minutes" or "1 day in Europe/Paris"; aligned to the epoch, to the '
        "first row if in rows, or to that zone's calendar"
    )


def offset_parameter() -> Any:
    """The field `offset`."""
    return duration(
        "0 seconds", at_least=0, kw_only=True, help="how much later than the multiples of `every` to answer"
    )


def problems_of(every: Length, offset: Duration, windows: Mapping[str, Length]) -> list[Problem]:
    """Problems of combining these moments and windows; `windows` by their keys."""
    first = next(iter(windows.values()))
    unit, be = "rows" if first.rows else "time", "windows are" if len(windows) > 1 else "window is"
    if every.rows != first.rows:
        return [Problem("every", f"must be in {unit}, as the {be} (got {every})")]
    problems = []
    if offset.length and offset.rows != first.rows:
        problems.append(Problem("offset", f"must be in {unit}, as the {be} (got {offset})"))
    if isinstance(every, CalendarLength) and every.so_far:
        unit = "day" if every.ever else every.unit
        message = f'is a window: give an interval, such as "10 minutes" or "1 {unit} in {every.zone_text}"'
        problems.append(Problem("every", f"{message} (got {every})"))
    for key, window in windows.items():
        if isinstance(window, CalendarLength) and not window.so_far:
            problems += _whole_units(key, window, every)
    return problems


def _whole_units(key: str, window: CalendarLength, every: Length) -> list[Problem]:
    """Problems of a window of whole days, weeks, months or years."""
    so_far = "today" if window.unit == "day" else f"this {window.unit}"
    instead = f'write "{so_far} in {window.zone_text}" for the {window.unit} so far, or a length such as "24 hours"'
    if not isinstance(every, CalendarLength):
        message = f"ends with a day, week, month or year, so `every` must name one too (it is {every})"
        return [
            Problem(key, f'{message}: every = "1 {window.unit} in {window.zone_text}"; or {instead} (got {window})')
        ]
    if every.zone_text != window.zone_text:
        return [
            Problem(key, f"must be in the zone of `every`, {every.zone_text}: use one query per zone (got {window})")
        ]
    return []


def not_anew(every: Length, window: Length, kind: str) -> list[Problem]:
    """Problems of a calendar window for backends that support one length of time."""
    if not isinstance(window, CalendarLength) or window.so_far:
        return []
    if isinstance(every, CalendarLength) and (every.unit, every.count, every.zone_text) == (
        window.unit, window.count, window.zone_text
    ):  # fmt: skip
        return []
    message = f"{kind} needs calendar windows that start over: as long as `every` ({every}), or so far"
    so_far = "today" if window.unit == "day" else f"this {window.unit}"
    return [Problem("window", f'{message}, "{so_far} in {window.zone_text}" (got {window})')]


def zone_problems(lengths: Mapping[str, Length], kind: pa.DataType) -> list[Problem]:
    """Problems of lengths in a zone's calendar if the source's times have this type."""
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return []
    message = "needs times that are instants, but these are local times"
    remedy = "drop the zone to use local days, or make the column a TIMESTAMP (with a zone)"
    return [
        Problem(key, f"{message} ({kind}): {remedy} (got {length})")
        for key, length in lengths.items()
        if isinstance(length, CalendarLength) and length.zone_text != UTC
    ]


def of_calendar(every: Length, *windows: Length) -> bool:
    """Whether any of these is a calendar length."""
    return any(isinstance(length, CalendarLength) for length in (every, *windows))


@lru_cache
def schedule_of(every: Length, windows: tuple[Length, ...], offset: Duration, empty: str | None = None) -> Schedule:
    """The schedule for backends that answer since any moment; `empty` as in `skyband.windows.empty_windows`."""
    if of_calendar(every, *windows):
        ends = empty is None and not any(map(is_ever, windows))
        return (CalendarSchedule if ends else EndlessCalendar)(every, windows, offset.length)
    lengths = [window.length for window in windows]
    return (Regular if empty is None else EndlessRegular)(every.length, max(lengths), offset.length, lengths)


@lru_cache
def anew_schedule_of(every: Length, window: Length, offset: Duration) -> Schedule:
    """The schedule for backends that keep one window of one length."""
    if isinstance(window, CalendarLength):
        return AnewSchedule(every, window, offset.length)
    return schedule_of(every, (window,), offset)


def closed_length(window: Length) -> int:
    """The length that a ranker gets for a window.

    In time, windows are half open, [T − W, T), but a ranker's are closed: it answers one microsecond before T, over
    one microsecond less. In rows, both hold the last W.
    """
    return window.length if window.rows else window.length - 1


def too_short(window: Length) -> list[Problem]:
    """Problems of a window too short for a closed one."""
    wrong = closed_length(window) < 1
    return [Problem("window", f"must be at least 2 microseconds (got {window})")] if wrong else []
