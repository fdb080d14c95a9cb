"""Every time zone on each day of some years, compared with zoneinfo."""

import datetime
from zoneinfo import ZoneInfo, available_timezones

import numpy as np
import pytest
from skyband.config import time_zone_conversion
from skyband.config.calendar_lengths import CalendarLength
from skyband.config.time_zone_conversion import TimeZone
from skyband.windows import calendar_schedule
from skyband.windows.calendar_schedule import Boundaries

HOUR, DAY = 3_600_000_000, 86_400_000_000
YEARS = (2010, 2024)
"""St. Johns put its clock back over midnight in the first; Casablanca moves its clock for Ramadan in the second."""
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def micros(*date):
    return int((datetime.datetime(*date, tzinfo=datetime.UTC) - EPOCH) / datetime.timedelta(microseconds=1))


def shown(zone, times):
    """What zoneinfo's clock of a zone shows at moments that are whole seconds, in microseconds."""
    at = (datetime.datetime.fromtimestamp(time // 1_000_000, zone) for time in times.tolist())
    offsets = [offset.days * 86_400 + offset.seconds for offset in (moment.utcoffset() for moment in at)]
    return times + np.array(offsets, np.int64) * 1_000_000


NOONS = np.concatenate([np.arange(micros(year, 1, 1, 12), micros(year + 1, 1, 1), DAY) for year in YEARS])


@pytest.fixture(scope="module")
def zones():
    """Each zone that differs in these years, its clock at noon in Greenwich on each of their days."""
    with pytest.MonkeyPatch.context() as patch:  # to look for changes in 300 years would take half a minute
        patch.setattr(time_zone_conversion, "YEARS", (micros(YEARS[0] - 1, 1, 1), micros(YEARS[-1] + 2, 1, 1)))
        known = {}
        for name in sorted(available_timezones()):
            clock = shown(ZoneInfo(name), NOONS)
            known.setdefault(clock.tobytes(), (name, TimeZone(name), clock))
        return list(known.values())


def test_a_clock_shows_on_each_day_what_zoneinfo_says(zones):
    assert len(zones) > 100
    for name, zone, clock in zones:
        wrong = np.flatnonzero(zone.clock(NOONS) != clock)
        assert not len(wrong), f"{name} at {EPOCH + datetime.timedelta(microseconds=int(NOONS[wrong[0]]))}"


def test_a_day_begins_when_the_clock_first_shows_it(zones, monkeypatch):
    """At its beginning the clock shows midnight or, where it is skipped, later; before, for a day, what is earlier."""
    for name, zone, clock in zones:
        monkeypatch.setattr(calendar_schedule, "time_zone", lambda _, zone=zone: zone)
        days = Boundaries(CalendarLength("day", 1, name))
        begins = days.last(NOONS)
        midnights = clock // DAY * DAY
        assert (zone.clock(begins) >= midnights).all() and (zone.clock(begins - 1) < midnights).all(), name
        assert (begins <= NOONS).all() and (days.after(NOONS) > NOONS).all(), name
        for hours in (1, 2, 23):
            assert (zone.clock(begins - hours * HOUR) < midnights).all(), f"{name}: it showed the day before"
        for minutes in (0, 1, 30, 90):
            assert (days.last(begins + minutes * HOUR // 60) == begins).all(), f"{name}: also where it goes back then"
        assert (days.last(begins - 1) < begins).all(), name
        assert (days.after(begins - 1) == begins).all(), name


def changes(zone, first, last):
    """When zoneinfo's offset of a zone changes: found hour by hour about the days whose ends differ."""
    days = np.arange(first, last, DAY)
    differ = np.flatnonzero(np.diff(shown(zone, days) - days))
    found = []
    for day in days[differ].tolist():
        seconds = np.arange(day, day + DAY + 1, 900_000_000)
        place = int(np.flatnonzero(np.diff(shown(zone, seconds) - seconds))[0])
        fine = np.arange(seconds[place], seconds[place + 1] + 1, 1_000_000)
        found.append(int(fine[np.flatnonzero(np.diff(shown(zone, fine) - fine))[0] + 1]))
    return found


@pytest.mark.parametrize(
    "name",
    [
        "Africa/Casablanca",
        "Asia/Kolkata",
        "Asia/Kathmandu",
        "Pacific/Chatham",
        "Australia/Lord_Howe",
        "Africa/Monrovia",
        "America/St_Johns",
        "Pacific/Apia",
        "Antarctica/Troll",
    ],
)
def test_the_microsecond_at_which_a_clock_changes_and_those_about_it(name, monkeypatch):
    first, last = {"Asia/Kolkata": (1941, 1947), "Asia/Kathmandu": (1985, 1987), "Africa/Monrovia": (1971, 1973)}.get(
        name, (2010, 2013)
    )
    monkeypatch.setattr(time_zone_conversion, "YEARS", (micros(first - 1, 1, 1), micros(last + 1, 1, 1)))
    zone, there = TimeZone(name), ZoneInfo(name)
    moves = changes(there, micros(first, 1, 1), micros(last, 1, 1))
    assert moves
    for move in moves:
        about = np.array([move - 1_000_000, move, move + 1_000_000])
        before, at, _ = (shown(there, about) - about).tolist()
        times = np.array([move - 1, move, move + 1])
        assert (zone.clock(times) - times).tolist() == [before, at, at]
        # Each time of the clock about the change is shown first when it is, or at the change where it is skipped.
        asked = move + np.array([before, at])[:, None] + np.array([-1, 0, 1, HOUR // 4 * 3])
        for time in asked.ravel().tolist():
            moment = int(zone.moment(np.array([time]))[0])
            earlier = move - 1 if time - before < move else move
            assert moment == (time - before if earlier < move else max(move, time - at))


def test_before_and_after_the_years_that_are_known_the_first_and_the_last_offset_hold():
    first, after = time_zone_conversion.YEARS
    assert (first, after) == (micros(1900, 1, 1), micros(2200, 1, 1))
    zone = TimeZone("Europe/Paris")
    times = np.array([first - DAY, first, after - 1, after, after + 100 * DAY])
    paris = ZoneInfo("Europe/Paris")
    begin, end = (int((shown(paris, one) - one)[0]) for one in (times[1:2], times[2:3] // 1_000_000 * 1_000_000))
    assert (zone.clock(times) - times).tolist() == [begin, begin, end, end, end]
    summers = np.arange(micros(2199, 6, 1), micros(2199, 8, 1), DAY)
    assert (zone.clock(summers) == shown(paris, summers)).all()


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("Asia/Kathmandu", 1984, 1988),
        ("Africa/Monrovia", 1970, 1974),
        ("Australia/Lord_Howe", 2010, 2013),
        ("Asia/Kolkata", 2010, 2012),
        ("Europe/Paris", 2010, 2012),
        ("Asia/Pyongyang", 2014, 2020),
    ],
)
@pytest.mark.parametrize("minutes", [15, 30, 60])
def test_after_the_last_odd_moment_a_clock_is_whole_lengths_from_greenwich(name, first, last, minutes, monkeypatch):
    """And up to it, it is not: each half hour of these years, by zoneinfo."""
    monkeypatch.setattr(time_zone_conversion, "YEARS", (micros(first, 1, 1), micros(last, 1, 1)))
    since, length = TimeZone(name).whole_since(minutes * 60_000_000), minutes * 60_000_000
    times = np.arange(micros(first, 1, 1), micros(last, 1, 1), HOUR // 2)
    odd = times[(shown(ZoneInfo(name), times) - times) % length != 0]
    if not len(odd):
        assert since < times[0] or since % length
    elif odd[-1] == times[-1]:
        assert since > times[-1]
    else:
        assert odd[-1] < since <= odd[-1] + HOUR // 2
