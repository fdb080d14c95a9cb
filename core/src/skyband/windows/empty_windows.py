"""`empty = "zero"`: a moment in which nothing came has an answer, as a group goes on for good once it has begun."""

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
        help='"zero": a group that has had a row answers at every moment from then on, 0 where nothing came; else no '
        "more once its longest window is empty",
    )  # fmt: skip


def empty_problems(empty: str | None, rows: bool, emit: str | None) -> list[Problem]:
    """What `empty` does not go with."""
    if empty is None:
        return []
    if rows:
        return [Problem("empty", f"goes with windows in time, as one in rows is never empty (got {literal(empty)})")]
    if emit is not None:
        return [Problem("empty", f"is no part of a state: drop this, or `emit` (got {literal(empty)})")]
    return []


class Endless(Schedule):
    """No session ends: each moment after its first row is one at which a group answers."""

    def has_ended(self, last: Int64, watermark: Any) -> Array:  # noqa: ARG002
        return np.zeros(last.shape, bool)

    def cannot_end(self, last: int, watermark: int) -> bool:  # noqa: ARG002
        return True

    def empty_at(self, last: Any) -> Any:
        return np.full(last.shape, TIME_MAX) if np.ndim(last) else TIME_MAX

    def reach(self, last: Any) -> Any:
        return self.empty_at(last)


class EndlessRegular(Endless, Regular):
    """At the multiples of `every`."""


class EndlessCalendar(Endless, CalendarSchedule):
    """At moments of the calendar; also over all rows there have been, which are never none again."""

    def __init__(self, every: Length, windows: Sequence[Length], offset: int) -> None:
        super().__init__(every, windows, offset)
        self.has_gaps = False
