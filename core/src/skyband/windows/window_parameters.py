"""The windows and moments of a query: the keys about them, checks that they fit, and the schedule."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import pyarrow as pa
from attrs import evolve

from skyband.config.calendar_lengths import UTC, CalendarLength, Length, is_ever, length
from skyband.config.durations import MOST, Duration, clock_problem, duration, length_text, parsed
from skyband.config.literals import literal
from skyband.config.parameters import checked, choice
from skyband.errors import Problem
from skyband.windows.schedule import EndlessRegular, Regular, Schedule

ZERO = "zero"
"""The value of `empty`: a group answers at every moment after its first row, including empty ones."""
PREVIOUS = "previous"
"""The value of `against`: compares each window with the previous one, of equal length, which ends where it begins."""


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


def empty_parameter() -> Any:
    """The field `empty`."""
    return choice(
        ZERO, default=None, kw_only=True,
        help='"zero": after its first row a group answers at every moment, with 0 for empty windows; default: it stops '
        "answering when its longest window is empty",
    )  # fmt: skip


def empty_problems(empty: str | None, rows: bool, emit: str | None) -> list[Problem]:
    """Keys that `empty` cannot be combined with."""
    if empty is None:
        return []
    if rows:
        return [Problem("empty", f"needs windows in time: a window in rows is never empty (got {literal(empty)})")]
    if emit is not None:
        return [Problem("empty", f"cannot be combined with `emit`: remove one of the two (got {literal(empty)})")]
    return []


def lag_parameter() -> Any:
    """The field `against`: PREVIOUS or a Duration."""

    def check(value: Any) -> str | None:
        problem = None if value == PREVIOUS else clock_problem(value)
        return problem and f'{problem}: write "{PREVIOUS}", or a length of time such as "7 days"'

    return checked(
        None,
        type="previous or duration",
        check=check,
        converter=lambda value: value if value == PREVIOUS else parsed(value),
        kw_only=True,
        help='compare each window with one of equal length before: the "previous", or the one this much earlier, such '
        'as "7 days"',
    )


def lag_problems(against: Any, every: Length, windows: Mapping[str, Length]) -> list[Problem]:
    """Problems of windows, by their keys, and `against`: each must have been answered when the later one is."""
    if against == PREVIOUS:
        return previous_problems(windows) or _unanswered(every, windows)
    if every.rows or of_calendar(every, *windows.values()):
        message = 'compares windows of the same length of time: write "previous", or plain lengths such as "1 hour"'
        return [Problem("against", f"{message} (got {against})")]
    longest = max(window.length for window in windows.values())
    if against.length < longest:
        return [Problem("against", f"must be at least as long as each window, to share no row with it (got {against})")]
    if against.length % every.length or longest + against.length > MOST:
        message = f"must be a multiple of `every` ({every}), so that the earlier window has been answered"
        return [Problem("against", f"{message}, and at most {length_text(MOST // 2, False)} (got {against})")]
    return []


def _unanswered(every: Length, windows: Mapping[str, Length]) -> list[Problem]:
    """Problems of windows before which no other one ends."""
    problems = []
    for key, window in windows.items():
        calendar = of_calendar(every, window)
        if window != every if calendar else window.length % every.length:
            be = "`every`" if calendar else "a multiple of `every`"
            message = f"must be {be} ({every}) with against = {PREVIOUS!r}, so that the window before has been answered"
            problems.append(Problem(key, f"{message} (got {window})"))
    return problems


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
    """The schedule for backends that answer since any moment; `empty` as in `empty_parameter`."""
    if of_calendar(every, *windows):
        from skyband.windows import calendar_schedule  # on use, as few queries have one

        ends = empty is None and not any(map(is_ever, windows))
        kind = calendar_schedule.CalendarSchedule if ends else calendar_schedule.EndlessCalendar
        return kind(every, windows, offset.length)
    lengths = [window.length for window in windows]
    return (Regular if empty is None else EndlessRegular)(every.length, max(lengths), offset.length, lengths)


@lru_cache
def anew_schedule_of(every: Length, window: Length, offset: Duration) -> Schedule:
    """The schedule for backends that keep one window of one length."""
    if isinstance(window, CalendarLength):
        from skyband.windows.calendar_schedule import AnewSchedule

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


def with_previous(windows: tuple[Length, ...], against: Any = PREVIOUS) -> tuple[Length, ...]:
    """Each window, followed by one that reaches back to the start of that with which it is compared."""
    if against == PREVIOUS:
        return tuple(length for window in windows for length in (window, twice(window)))
    return tuple(Duration(length) for window in windows for length in (window.length, against.length + window.length))
