"""The schedule of a query over calendar windows, which differ in length."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from skyband.arrays import TIME_MAX, Array, Int64
from skyband.config.calendar_lengths import ALWAYS, CalendarLength, Length
from skyband.config.durations import Duration
from skyband.config.time_zone_conversion import after_in_any_zone, time_zone
from skyband.windows.schedule import Endless, Moments, Regular, Schedule, united

_DAY = 86_400_000_000
_MONDAY = 4 * _DAY
"""1970-01-05 was a Monday."""
_MONTHS = {"month": 1, "year": 12}
_DAYS_LACKED = 5 * _DAY
"""The 29th to 31st that February lacks, plus the most that a clock may be set back in that time."""


class Boundaries:
    """The moments at which a unit of a zone's calendar begins, numbered from 1970: days, or months from their first.

    If the clock skips a beginning, it is the moment of the jump, and two beginnings may share a moment.
    """

    def __init__(self, length: CalendarLength, offset: int = 0) -> None:
        """offset: how much later in local time they are."""
        self._zone = time_zone(length.zone)
        self._months = _MONTHS.get(length.unit, 0) * length.count
        self._step = length.count * _DAY * (7 if length.unit == "week" else 1)
        self._origin = length.clock + offset + (_MONDAY if length.unit == "week" else 0)

    def number(self, times: Int64) -> Int64:
        """int64[n]: the last boundary at or before each time."""
        clock_times = self._zone.clock(times) - self._origin
        number = (clock_times.astype("datetime64[us]").astype("datetime64[M]").astype(np.int64) // self._months
                  if self._months else clock_times // self._step)  # fmt: skip
        # A repeated hour may show a local time before a boundary already passed.
        return np.where(self.moment(number + 1) <= times, number + 1, number)

    def shown(self, number: Int64) -> Int64:
        """int64[n]: the local times of these boundaries, even if the clock skips them."""
        if not self._months:
            return number * self._step + self._origin
        first: Int64 = (number * self._months).astype("datetime64[M]").astype("datetime64[us]").astype(np.int64)
        return first + self._origin

    def moment(self, number: Int64) -> Int64:
        """int64[n]: the moments of these boundaries."""
        return self._zone.moment(self.shown(number))

    def last(self, times: Int64) -> Int64:
        """int64[n]: the last boundary at or before each time."""
        return self.moment(self.number(times))

    def after(self, times: Int64) -> Int64:
        """int64[n]: the first boundary later than each time."""
        return self.moment(self.number(times) + 1)

    def within(self, begin: int, end: int) -> Int64:
        """All boundaries in (begin, end], ascending, without duplicates."""
        first, last = self.number(np.array([begin, end])).tolist()
        return np.unique(self.moment(np.arange(first + 1, last + 1)))

    def shown_at(self, moments: Int64) -> Int64:
        """int64[n]: local times at moments; at boundaries that the clock skips, their nominal local time."""
        number = self.number(moments)
        at_boundary = self.moment(number) == moments
        while (earlier := at_boundary & (self.moment(number - 1) == moments)).any():
            number = np.where(earlier, number - 1, number)
        return np.where(at_boundary, self.shown(number), self._zone.clock(moments))


class Never:
    """The boundaries of "ever": a window that begins before any row and never starts over."""

    def last(self, times: Int64) -> Int64:
        """int64[n]: before every time."""
        return np.full(times.shape, -ALWAYS)

    def after(self, times: Int64) -> Int64:
        """int64[n]: after every time."""
        return np.full(times.shape, TIME_MAX)

    def within(self, begin: int, end: int) -> Int64:  # noqa: ARG002
        """No boundaries."""
        return np.empty(0, np.int64)


class CalendarSchedule(Schedule):
    """One query, answered at the multiples of `every` or at the calendar boundaries that it names.

    The end of a window that starts over, such as "today", is a moment too, so that each has its whole answer. A session
    ends at the first moment from which all windows stay empty.
    """

    def __init__(self, every: Length, windows: Sequence[Length], offset: int) -> None:
        super().__init__([max(window.length for window in windows)], [1], [0])
        self.gapless = True
        self._lengths = windows
        self._regular = isinstance(every, Duration)
        self._every: Any = Regular(every.length, 1, offset) if self._regular else Boundaries(every, offset)  # type: ignore[arg-type]
        self._starts_anew = [
            _boundaries(window) if isinstance(window, CalendarLength) and window.so_far else None for window in windows
        ]
        days = sum(starts is not None for starts in self._starts_anew)
        self.rate = (1 / every.length if isinstance(every, Duration) else 1 / _DAY) + days / _DAY
        calendar = [length if isinstance(length, CalendarLength) else None for length in (every, *windows)]
        self._has_any_zone = [length is not None and length.column is not None for length in calendar]
        of_months = any(length is not None and length.unit in _MONTHS and not length.so_far for length in calendar[1:])
        # A month before midnight of the 30th begins on the last of February, as one before noon of the 29th does.
        self.falls_back = 2 * _DAY if of_months and any(starts is not None for starts in self._starts_anew) else 0
        self.has_gaps = self.falls_back > 0

    def after(self, time: Any) -> Any:
        times = np.atleast_1d(np.asarray(time, np.int64))
        moments: Int64 = self._every.after(times)
        for starts in self._starts_anew:
            moments = moments if starts is None else np.minimum(moments, starts.after(times))
        return moments if np.ndim(time) else int(moments[0])

    def end_in_any_zone(self, latest: Int64) -> Int64:
        """int64[n]: a moment at or after the first one later than each time, for any zone that a column may name."""
        ends = []
        for boundaries, has_any_zone in zip([self._every, *self._starts_anew], self._has_any_zone, strict=True):
            if boundaries is not None:
                after = boundaries.after
                ends.append(after_in_any_zone(after, latest) if has_any_zone else after(latest))
        return np.minimum.reduce(ends)

    def latest(self, time: int) -> int:
        times = np.array([time])
        latest = [self._every.latest(time) if self._regular else int(self._every.last(times)[0])]
        return max(latest + [int(starts.last(times)[0]) for starts in self._starts_anew if starts is not None])

    def each_after(self, time: int) -> Int64:
        return np.array([self.after(time)])

    def between(self, begin: int, end: int) -> Int64:
        if end <= begin:
            return np.empty(0, np.int64)
        every = self._every.between(begin, end) if self._regular else self._every.within(begin, end)
        others = [starts.within(begin, end) for starts in self._starts_anew if starts is not None]
        return np.unique(np.concatenate([every, *others])) if others else every

    def within(self, begins: Int64, ends: Int64) -> Moments:
        spans = zip(*(column.tolist() for column in united(begins, ends)), strict=True)
        at = np.concatenate([np.empty(0, np.int64), *(self.between(begin, end) for begin, end in spans)])
        return Moments(at, np.zeros(len(at), np.int64))

    def reach(self, last: Any) -> Any:
        return self.empty_at(last) - 1

    def starts_at(self, at: Int64) -> Int64:
        return np.column_stack([self._start(place, at) for place in range(len(self._lengths))])

    def _start(self, place: int, at: Int64) -> Int64:
        """int64[n]: the start of a window that ends at these moments."""
        length, starts = self._lengths[place], self._starts_anew[place]
        if starts is not None:
            return starts.last(at - 1)
        if isinstance(length, Duration):
            return at - length.length
        clock_times = self._every.shown_at(at)
        return time_zone(length.zone).moment(_earlier(clock_times, length))

    def empty_at(self, last: Any) -> Any:
        lasts = np.atleast_1d(np.asarray(last, np.int64))
        moments = self.after(lasts)
        for place in range(len(self._lengths)):
            moments = np.maximum(moments, self._first_without(place, lasts))
        return moments if np.ndim(last) else int(moments[0])

    def _first_without(self, place: int, lasts: Int64) -> Int64:
        """int64[n]: the first moment at which a window holds no row up to the last."""
        length, starts = self._lengths[place], self._starts_anew[place]
        if starts is not None:
            return self.after(starts.after(lasts))
        if isinstance(length, Duration):
            return self.after(lasts + length.length)
        zone = time_zone(length.zone)
        moments = self.after(np.maximum(lasts, zone.moment(_earlier(zone.clock(lasts), length, -1) - 5 * _DAY)))
        while (full := self._start(place, moments) <= lasts).any():
            moments = np.where(full, self.after(moments), moments)
        return self._last_without(place, lasts, moments) if self.falls_back else moments

    def _last_without(self, place: int, lasts: Int64, moments: Int64) -> Int64:
        """int64[n]: the first moment from which a window stays without rows, given the first one without rows.

        Around the end of a month that is shorter than another, a window may hold a row that an earlier one did not.
        """
        ends, limit = moments, moments + _DAYS_LACKED
        while (near := moments < limit).any():
            moments = np.where(near, self.after(moments), moments)
            ends = np.where(near & (self._start(place, moments) <= lasts), self.after(moments), ends)
        return ends

    def cannot_end(self, last: int, watermark: int) -> bool:  # noqa: ARG002 - lengths differ
        return False

    def has_ended(self, last: Int64, watermark: Any) -> Array:
        ended: Array = self.after(last) <= watermark
        where = np.flatnonzero(ended)
        if len(where):  # only rows with a moment since: few
            ended[where] = self.empty_at(last[where]) <= np.broadcast_to(watermark, last.shape)[where]
        return ended


class EndlessCalendar(Endless, CalendarSchedule):
    """Answers at moments of the calendar; also over a window of all rows, which is never empty again."""

    def __init__(self, every: Length, windows: Sequence[Length], offset: int) -> None:
        super().__init__(every, windows, offset)
        self.has_gaps = False


class AnewSchedule(CalendarSchedule):
    """One window that starts over, such as "today", or is as long as `every`: a session ends with it.

    So any backend can answer, because its window holds all rows of a session.
    """

    def __init__(self, every: Length, window: CalendarLength, offset: int) -> None:
        super().__init__(every, [window], offset)
        self._begins = _boundaries(window, 0 if window.so_far else offset)

    def empty_at(self, last: Any) -> Any:
        moments = self._begins.after(np.atleast_1d(np.asarray(last, np.int64)))
        return moments if np.ndim(last) else int(moments[0])

    def reach(self, last: Any) -> Any:
        return self.empty_at(last)

    def starts_at(self, at: Int64) -> Int64:
        return self._begins.last(at - 1)[:, None]


def _boundaries(window: CalendarLength, offset: int = 0) -> Boundaries | Never:
    return Never() if window.ever else Boundaries(window, offset)


def _earlier(clock_times: Int64, length: CalendarLength, sign: int = 1) -> Int64:
    """int64[n]: local times one length earlier (later if sign = -1); a day that a month lacks becomes its last."""
    months = _MONTHS.get(length.unit, 0) * length.count
    if not months:
        return clock_times - sign * length.count * _DAY * (7 if length.unit == "week" else 1)
    dates = clock_times.astype("datetime64[us]")
    month = dates.astype("datetime64[M]")
    within = dates.astype(np.int64) - month.astype("datetime64[us]").astype(np.int64)
    target = month - np.timedelta64(sign * months, "M")
    most = (target + np.timedelta64(1, "M")).astype("datetime64[D]") - target.astype("datetime64[D]")
    days = np.minimum(within // _DAY, most.astype(np.int64) - 1)
    moments: Int64 = target.astype("datetime64[us]").astype(np.int64) + days * _DAY + within % _DAY
    return moments
