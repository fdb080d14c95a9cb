"""The schedule of a query that answers each row over the day, or other unit of the calendar, that it is in so far."""

from functools import lru_cache
from typing import Any

import numpy as np
from skyband.arrays import Int64
from skyband.config.calendar_lengths import CalendarLength
from skyband.windows.calendar_schedule import AnewSchedule
from skyband.windows.schedule import Moments


class EachRowOfUnit(AnewSchedule):
    """No moments: each row is answered when it arrives, over the rows before it in its day, week, month or year.

    A session ends with that unit.
    """

    def __init__(self, window: CalendarLength) -> None:
        super().__init__(window, window, 0)
        self.rate = 0.0

    def beginnings(self, times: Int64) -> Int64:
        """int64[n]: when the unit of each time began."""
        return self._begins.last(times)

    def next_due(self, lasts: Int64, reached: int) -> int:  # noqa: ARG002 - it waits for no moment
        return int(self.empty_at(int(lasts.min())))

    def each_after(self, time: int) -> Int64:
        return np.array([time + 1])

    def within(self, begins: Int64, ends: Int64) -> Moments:  # noqa: ARG002 - it has none
        return Moments(np.empty(0, np.int64), np.empty(0, np.int64))

    def oldest(self, time: Any) -> Any:
        return self._begins.last(np.asarray(time)) if np.ndim(time) else int(self._begins.last(np.array([time]))[0])


@lru_cache
def schedule_of(window: CalendarLength) -> EachRowOfUnit:
    """The schedule of this window; it computes what a zone's clock shows once for all groups."""
    return EachRowOfUnit(window)
