"""The lengths that a quantile sketch is given for a query's moments and windows."""

import math
from functools import reduce

from skyband.config.calendar_lengths import ALWAYS, CalendarLength, Length, is_ever
from skyband.config.durations import Duration
from skyband.windows.window_parameters import of_calendar, schedule_of

_QUARTER = 15 * 60_000_000
"""The clocks of all zones are quarters of an hour apart, today."""


def sketch_lengths(every: Length, windows: tuple[Length, ...], offset: Duration) -> tuple[int, int, int]:
    """`longest`, `every` and `offset` of the sketch: all questions of the query begin at offset + multiples of every.

    Where windows are of the calendar it has one that holds each, and `every` divides the moments at which each begins.
    """
    if all(map(is_ever, windows)):
        return 2 * ALWAYS, ALWAYS, 0
    if not of_calendar(every, *windows):
        step = reduce(math.gcd, (window.length for window in windows), every.length)
        return max(window.length for window in windows), step, offset.length % step
    clocks = [length.clock for length in (every, *windows) if isinstance(length, CalendarLength)]
    plain = [length.length for length in (every, *windows) if isinstance(length, Duration)]
    step = reduce(math.gcd, [*clocks, *plain, offset.length], _QUARTER)
    return schedule_of(every, windows, offset).horizon, step, 0
