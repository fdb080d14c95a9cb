"""The lengths of a quantile sketch for a query's moments and windows."""

import math
from functools import reduce

from skyband.config.calendar_lengths import ALWAYS, CalendarLength, Length, is_ever
from skyband.config.durations import Duration
from skyband.windows.window_parameters import of_calendar, schedule_of

_QUARTER = 15 * 60_000_000
"""The offsets of all time zones today are multiples of this."""


def sketch_lengths(every: Length, windows: tuple[Length, ...], offset: Duration) -> tuple[int, int, int]:
    """`longest`, `every` and `offset` of the sketch: all windows of the query start at offset + multiples of every.

    With calendar windows, `longest` is at least as long as each, and `every` divides the moments at which they start.
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
