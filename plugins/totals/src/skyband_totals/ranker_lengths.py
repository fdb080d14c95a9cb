"""Computes a total-ranker's lengths from a query's moments and windows."""

import math
from functools import reduce

from skyband.arrays import TIME_MIN
from skyband.config.calendar_lengths import ALWAYS, CalendarLength, Length, is_ever
from skyband.config.durations import Duration
from skyband.config.time_zone_conversion import time_zone
from skyband.windows.window_parameters import of_calendar, schedule_of

_QUARTER = 15 * 60_000_000
"""Today, the offsets of all zones are multiples of a quarter of an hour."""


SECOND = 1_000_000
"""Earlier, the offsets of zones are only multiples of a second."""
_DAY = 86_400_000_000


def finer_before(every: Length, windows: tuple[Length, ...]) -> tuple[int, int]:
    """The end of offsets that are not quarter hours, and the time of first rows before which a ranker uses seconds.

    They are a day apart, so that windows that begin before the first have no row of a ranker with quarters.
    """
    if ever(windows):
        return TIME_MIN, TIME_MIN
    zones = [length.zone for length in (every, *windows) if isinstance(length, CalendarLength)]
    odd = max((time_zone(zone).whole_since(_QUARTER) for zone in zones), default=TIME_MIN)
    return odd, odd + _DAY if odd > TIME_MIN else TIME_MIN


def ever(windows: tuple[Length, ...]) -> bool:
    """Whether all windows contain all rows so far: a ranker then needs no panes."""
    return bool(windows) and all(map(is_ever, windows))


def ranker_lengths(every: Length, windows: tuple[Length, ...], offset: Duration) -> tuple[int, tuple[int, ...]]:
    """`every` and `windows` of the ranker. With calendar windows it has one window that covers them all, and is queried
    since the moment at which each begins, a multiple of `every`."""
    if ever(windows):
        return ALWAYS, (2 * ALWAYS,)
    if not of_calendar(every, *windows):
        moments = math.gcd(every.length, offset.length) if every.rows else every.length
        return moments, tuple(window.length for window in windows)
    clocks = [window.clock for window in windows if isinstance(window, CalendarLength)]
    plain = [length.length for length in (every, *windows) if isinstance(length, Duration)]
    return reduce(math.gcd, [*clocks, *plain, offset.length], _QUARTER), (schedule_of(every, windows, offset).horizon,)
