"""Schedules around every clock change of every zone since 1900, with the day before and after.

What zones do is read from zoneinfo's own data. Many zones share their jumps: each is looked at once.
"""

from pathlib import Path
from zoneinfo import _common, _tzpath, available_timezones

import numpy as np
import pytest
from skyband.arrays import TIME_MIN
from skyband.config import time_zone_conversion
from skyband.config.calendar_lengths import CalendarLength
from skyband.config.time_zone_conversion import YEARS, TimeZone
from skyband.windows import calendar_schedule
from skyband.windows.calendar_schedule import CalendarSchedule

MICRO, MINUTE, HOUR, DAY = 1, 60_000_000, 3_600_000_000, 86_400_000_000
UNTIL = 4_102_444_800_000_000
"""2100: later years follow the same rules as those before it."""


def data_of(name):
    """When a zone's clock jumps since 1900, in microseconds, and its offsets before, between and after."""
    path = _tzpath.find_tzfile(name)
    with Path(path).open("rb") if path else _common.load_tzdata(name) as file:
        places, moments, offsets, _, _, _ = _common.load_data(file)
    moments = np.array(moments, np.int64) * 1_000_000
    after = np.array([offsets[place] for place in places], np.int64) * 1_000_000
    first = after[moments <= YEARS[0]][-1] if (moments <= YEARS[0]).any() else offsets[0] * 1_000_000
    here = (moments > YEARS[0]) & (moments < UNTIL)
    moments, after = moments[here], after[here]
    changes = after != np.append(first, after[:-1])
    return moments[changes], np.append(first, after[changes])


@pytest.fixture(scope="module")
def zones():
    """By the name of one of them, the zones that differ."""
    by_name = {}
    for name in sorted(available_timezones()):
        changes, offsets = data_of(name)
        if len(changes):
            by_name.setdefault((changes.tobytes(), offsets.tobytes()), (name, changes, offsets))
    return {name: (changes, offsets) for name, changes, offsets in by_name.values()}


@pytest.fixture(scope="module")
def clocks(zones):
    """The zones as the library has them, without the looking for their jumps, which takes 0.1 s for each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time_zone_conversion, "_offsets_of", zones.__getitem__)
        by_name = {name: TimeZone(name) for name in zones} | {"UTC": None}
    by_name["UTC"] = TimeZone("UTC")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calendar_schedule, "time_zone", by_name.__getitem__)
        yield by_name


def jumps_by_zone(zones):
    """By zone the moments of its jumps; of those that are alike in some years or zones, those of one.

    Alike in what the clock shows before and after, its date left out but for the days about the ends of months.
    """
    seen, own = set(), {}
    for name, (changes, offsets) in zones.items():
        clock_times = changes + offsets[:-1]
        days = clock_times.astype("datetime64[us]").astype("datetime64[D]")
        months = days.astype("datetime64[M]")
        place = (days - months).astype(np.int64)
        ends = np.where((place < 2) | (place > 26), place, 0), months.astype(np.int64) % 12 == 1
        steady = changes >= time_zone_conversion._STEADY_SINCE
        columns = offsets[:-1], offsets[1:], clock_times % DAY, *ends, steady
        for moment, *key in zip(changes.tolist(), *(column.tolist() for column in columns), strict=True):
            if tuple(key) not in seen:
                seen.add(tuple(key))
                own.setdefault(name, []).append(moment)
    return {name: np.array(moments) for name, moments in own.items()}


def first_later(changes, offsets, latest, begins):
    """int64[n]: when a clock shows the first of some times, ascending, that it has not shown up to each time.

    By each stretch of one offset.
    """
    starts, ends = np.append(-(2**62), changes), np.append(changes, 2**62)
    clock_times = np.minimum(ends - 1, latest[:, None]) + offsets
    furthest = np.where(starts <= latest[:, None], clock_times, -(2**62)).max(axis=1)
    begin = begins[np.searchsorted(begins, furthest, side="right")]
    moments = np.maximum(starts, begin[:, None] - offsets)
    return np.where(moments < ends, moments, 2**62).min(axis=1)


def begins_of(unit):
    """When its days, months and so on begin on a clock, from 1890 to 2110."""
    first, last = np.datetime64("1889-12-30"), np.datetime64("2110-01-01")
    step = {"day": "D", "month": "M", "year": "Y"}.get(unit)
    if step is None:
        return np.arange(first, last, 7).astype("datetime64[us]").astype(np.int64)
    return np.arange(first, last).astype(f"datetime64[{step}]").astype("datetime64[us]").astype(np.int64)


def test_zoneinfo_has_pairs_of_jumps_in_quick_succession(zones):
    """A look every three days finds both."""
    soon = {name: int(np.diff(changes).min()) for name, (changes, _) in zones.items() if len(changes) > 1}
    assert min(soon.values()) > time_zone_conversion._PROBED * 1_000_000
    for name in sorted(soon, key=soon.__getitem__)[:5]:
        zone, (changes, offsets) = TimeZone(name), zones[name]
        count = len(changes)
        assert zone._changes[:count].tolist() == changes.tolist(), name
        assert zone._offsets[: count + 1].tolist() == offsets.tolist(), name


def test_how_far_clocks_are_put_back(zones):
    """What the end in any zone is derived from: all offsets there are, and how far a later one is below an earlier."""
    offsets_there, steady = time_zone_conversion._OFFSETS, time_zone_conversion._STEADY_SINCE
    for name, (changes, offsets) in zones.items():
        assert offsets_there[0] <= offsets.min() <= offsets.max() <= offsets_there[-1], name
        since = offsets[np.searchsorted(changes, steady) :]
        assert (np.maximum.accumulate(since) - since).max() <= time_zone_conversion._STEADY, name
        assert not (since % (15 * MINUTE)).any(), name


@pytest.mark.parametrize("unit", ["day", "week", "month", "year"])
def test_the_end_in_any_zone_is_after_the_next_moment_of_each(unit, zones, clocks):
    every = CalendarLength(unit, 1, column="zone")
    schedule, begins = CalendarSchedule(every, [every], 0), np.unique(begins_of(unit))
    about = np.array([-DAY, -3 * HOUR, -MICRO, 0, HOUR, 3 * HOUR, DAY])
    times_of = {name: (moments[:, None] + about).ravel() for name, moments in jumps_by_zone(zones).items()}
    latest = np.unique(np.concatenate(list(times_of.values())))
    ends = schedule.end_in_any_zone(latest)
    for name, own in times_of.items():
        expected = first_later(*zones[name], own, begins)
        late = np.flatnonzero(ends[np.searchsorted(latest, own)] < expected)
        assert not len(late), (name, np.datetime64(int(own[late[0]]), "us"))
        length = CalendarLength(unit, 1, name)
        assert CalendarSchedule(length, [length], 0).after(own).tolist() == expected.tolist(), name


@pytest.mark.parametrize("minutes", [15, 30, 60])
def test_after_the_last_odd_moment_clocks_are_whole_lengths_from_greenwich(minutes, zones, clocks):
    length = minutes * MINUTE
    about = np.concatenate([np.arange(-DAY, DAY + 1, length // 2), [-MICRO, MICRO]])
    for name, (changes, _) in zones.items():
        zone = clocks[name]
        times = np.unique(np.concatenate([(changes[:, None] + about).ravel(), changes // length * length]))
        odd = times[(zone.clock(times) % length == 0) != (times % length == 0)]
        since = zone.whole_since(length)
        assert (odd[-1] if len(odd) else -(2**63)) <= since, name
        assert since in (TIME_MIN, *zone._ends.tolist()), name


def windows_in(zone):
    """A month, two, a year; since midnight and half past nine. Not from text, which would look for the zone's jumps."""
    whole = [CalendarLength(unit, count, zone) for unit, count in (("month", 1), ("month", 2), ("year", 1))]
    return whole + [CalendarLength("day", 1, zone, so_far=True, clock=clock) for clock in (0, 19 * HOUR // 2)]


def test_no_window_begins_before_the_time_reported_as_needed(zones, clocks):
    """At each moment about a jump, and about those a month and a year later, whose windows begin at it."""
    for name, jumps in jumps_by_zone(zones).items():
        schedule = CalendarSchedule(CalendarLength("day", 1, name), windows_in(name), 0)
        begins = np.concatenate([jumps + days * DAY for days in (-1, 27, 58, 364)])
        spans = np.sort(begins), np.sort(begins + np.repeat([2, 6, 6, 4], len(jumps)) * DAY)
        moments = schedule.within(*spans).at
        starts = schedule.starts_at(moments)
        before = np.maximum.accumulate(starts)
        assert (before - starts).max() <= schedule.falls_back, name
        lowest = starts.min(axis=1)
        needed = np.array([schedule.needed_from([own]) for own in lowest.tolist()])
        assert (np.minimum.accumulate(lowest[::-1])[::-1] >= needed).all(), name
        assert (lowest >= schedule.oldest(moments - 1)).all(), name
