"""The lengths that a total-ranker is given for a query's moments and windows."""

import math
from functools import reduce

from skyband.arrays import TIME_MIN
from skyband.config.calendar_lengths import ALWAYS, CalendarLength, Length, is_ever
from skyband.config.durations import Duration
from skyband.config.time_zone_conversion import time_zone
from skyband.windows.window_parameters import of_calendar, schedule_of

_QUARTER = 15 * 60_000_000
"""The clocks of all zones are quarters of an hour apart, today."""


SECOND = 1_000_000
"""So far apart they are before: all offsets of zones are whole seconds."""
_DAY = 86_400_000_000


def finer_before(every: Length, windows: tuple[Length, ...]) -> tuple[int, int]:
    """Until when a zone's clock was no whole quarters apart, and before which time of its first row a ranker needs
    seconds. A day lies between: windows that begin before the one have no row of a later ranker before the other.
    """
    if ever(windows):
        return TIME_MIN, TIME_MIN
    zones = [length.zone for length in (every, *windows) if isinstance(length, CalendarLength)]
    odd = max((time_zone(zone).whole_since(_QUARTER) for zone in zones), default=TIME_MIN)
    return odd, odd + _DAY if odd > TIME_MIN else TIME_MIN


def ever(windows: tuple[Length, ...]) -> bool:
    """Whether all rows there have been are asked for, and no others: a ranker then needs no panes."""
    return bool(windows) and all(map(is_ever, windows))


def ranker_lengths(every: Length, windows: tuple[Length, ...], offset: Duration) -> tuple[int, tuple[int, ...]]:
    """`every` and `windows` of the ranker.

    Where windows are of the calendar it has one that holds each, and is asked since the moment at which each begins:
    `every` is then a length of which all these moments are multiples.
    """
    if ever(windows):
        return ALWAYS, (2 * ALWAYS,)
    if not of_calendar(every, *windows):
        moments = math.gcd(every.length, offset.length) if every.rows else every.length
        return moments, tuple(window.length for window in windows)
    clocks = [window.clock for window in windows if isinstance(window, CalendarLength)]
    plain = [length.length for length in (every, *windows) if isinstance(length, Duration)]
    return reduce(math.gcd, [*clocks, *plain, offset.length], _QUARTER), (schedule_of(every, windows, offset).horizon,)
