"""`empty = "zero"`: once a group has begun, it answers at every moment, including empty ones."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from skyband.arrays import TIME_MAX, Array, Int64
from skyband.config.calendar_lengths import Length
from skyband.config.literals import literal
from skyband.config.parameters import choice
from skyband.errors import Problem
from skyband.windows.calendar_schedule import CalendarSchedule
from skyband.windows.schedule import Regular, Schedule

ZERO = "zero"


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


class Endless(Schedule):
    """Sessions never end: a group answers at every moment after its first row."""

    def has_ended(self, last: Int64, watermark: Any) -> Array:  # noqa: ARG002
        return np.zeros(last.shape, bool)

    def cannot_end(self, last: int, watermark: int) -> bool:  # noqa: ARG002
        return True

    def empty_at(self, last: Any) -> Any:
        return np.full(last.shape, TIME_MAX) if np.ndim(last) else TIME_MAX

    def reach(self, last: Any) -> Any:
        return self.empty_at(last)


class EndlessRegular(Endless, Regular):
    """Answers at the multiples of `every`."""


class EndlessCalendar(Endless, CalendarSchedule):
    """Answers at moments of the calendar; also over a window of all rows, which is never empty again."""

    def __init__(self, every: Length, windows: Sequence[Length], offset: int) -> None:
        super().__init__(every, windows, offset)
        self.has_gaps = False
