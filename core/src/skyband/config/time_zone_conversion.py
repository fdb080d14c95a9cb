"""Converts arrays of times between moments and the local time of a zone."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

import numpy as np

from skyband.arrays import TIME_MIN, Int64
from skyband.errors import suggest

FIRST_YEAR, LAST_YEAR = 1900, 2199
YEARS = tuple(int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000 for year in (FIRST_YEAR, LAST_YEAR + 1))
"""The start of the first year and the end of the last, in microseconds."""
_SECOND, _PROBED = 1_000_000, 3 * 86_400
"""No zone changes its clock twice within this many seconds."""
_HOUR = 3600 * _SECOND
_OFFSETS = range(-12 * _HOUR, 14 * _HOUR + 1, _HOUR // 4)
"""Offsets of zones lie between the first and the last, in microseconds; since 1995 each is one of these."""
_STEADY_SINCE = 9_131 * 24 * _HOUR
"""1995-01-01, after the last time that a clock was set back by more than three hours."""
_STEADY = 3 * _HOUR
"""The most that an offset has fallen below an earlier one since then; before, use the full range of offsets."""


class TimeZone:
    """The offsets of one zone from 1900 to 2199, in microseconds; earlier and later times use the nearest offset.

    A skipped local time maps to the moment of the jump, and a repeated one to its first moment. So later local times
    never map to earlier moments.
    """

    def __init__(self, name: str) -> None:
        changes, offsets = _offsets_of(name)
        self._changes, self._offsets = changes, offsets
        self._clock_changes = changes + np.maximum(offsets[:-1], offsets[1:])
        """The local time from which each later offset holds."""
        self._ends = np.append(changes, np.iinfo(np.int64).max)

    def clock(self, times: Int64) -> Int64:
        """int64[n]: the local times of moments, as microseconds since 1970-01-01 00:00 local time."""
        clock_times: Int64 = times + self._offsets[np.searchsorted(self._changes, times, side="right")]
        return clock_times

    def moment(self, clock_times: Int64) -> Int64:
        """int64[n]: the first moments at which the clock shows these local times or later ones."""
        place = np.searchsorted(self._clock_changes, clock_times, side="right")
        moments: Int64 = np.minimum(clock_times - self._offsets[place], self._ends[place])
        return moments

    def whole_since(self, length: int) -> int:
        """The last moment at which local time and UTC disagree about being a multiple of a length: after it, all
        offsets and jumps are multiples. TIME_MIN if there is none.
        """
        odd = self._ends[np.flatnonzero(self._offsets % length)], self._changes[self._changes % length != 0]
        return int(max((int(moments[-1]) for moments in odd if len(moments)), default=TIME_MIN))


@lru_cache
def time_zone(name: str) -> TimeZone:
    """The zone of this name. Raises ValueError if it is unknown."""
    return TimeZone(name)


def after_in_any_zone(after: Callable[[Int64], Int64], times: Int64) -> Int64:
    """int64[n]: for each time, a moment by which the clock of every zone has shown its next local time that matters.

    after: maps local times, int64[n], to the next ones that matter, and never decreases. The furthest that a zone's
    clock has reached, an offset after a time, determines the next; a clock set back meanwhile shows it later.
    """
    offsets = np.array(_OFFSETS)
    clock_times = (times[:, None] + offsets).ravel()
    back = np.where(times < _STEADY_SINCE, _OFFSETS[-1] - _OFFSETS[0], _STEADY)
    latest: Int64 = (after(clock_times).reshape(len(times), -1) - offsets).max(axis=1) + back
    return latest


def _offsets_of(name: str) -> tuple[Int64, Int64]:
    """The moments at which a zone's offset changes, int64[c], and its offsets, int64[c + 1]."""
    try:
        zone = ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:  # zoneinfo's own error is a KeyError
        hint = suggest(name, available_timezones())
        hint = hint if hint.startswith("did") else "such as 'Europe/Paris' or 'UTC'"
        raise ValueError(f"the time zone {name!r} is unknown here; {hint}") from error

    def offset(second: int) -> int:
        local = datetime.fromtimestamp(second, zone).utcoffset()
        assert local is not None
        return round(local.total_seconds() * _SECOND)

    first, last = (time // _SECOND for time in YEARS)
    changes, offsets = list[int](), [offset(first)]
    for second in range(first, last, _PROBED):
        following = offset(second + _PROBED)
        if following == offsets[-1]:
            continue
        low, high = second, second + _PROBED
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if offset(middle) == offsets[-1] else (low, middle)
        changes.append(high * _SECOND)
        offsets.append(following)
    return np.array(changes, np.int64), np.array(offsets, np.int64)
