"""Edge cases of the calendar: ends of months, zones with half-hour offsets, rows exactly at a moment."""

import datetime
from bisect import bisect_left
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from calendar_oracle import DAY, UTC, Asked, micros, table
from skyband import states
from skyband.config.calendar_lengths import parse_length
from skyband.engines import local
from skyband.windows.calendar_schedule import AnewSchedule, Boundaries, CalendarSchedule

ONE = datetime.timedelta(microseconds=1)
ODD = ("Asia/Kolkata", "Asia/Kathmandu", "Pacific/Chatham", "Australia/Lord_Howe", "America/St_Johns")
"""Zones whose hours do not begin with those of Greenwich."""


def local_time(zone, *date):
    return datetime.datetime(*date, tzinfo=ZoneInfo(zone)).astimezone(UTC)


@pytest.mark.parametrize("zone", [*ODD, "Africa/Casablanca", "UTC"])
@pytest.mark.parametrize("every", ["1 hour", "20 minutes", "1 day"])
def test_hours_asked_over_the_day_of_any_zone(zone, every):
    """Moments are UTC's hours and the zone's midnights; rows are at and around all of these."""
    midnight = local_time(zone, 2024, 3, 10 if zone == "Africa/Casablanca" else 6)  # it puts its clock back for Ramadan
    hours = [midnight + hour * datetime.timedelta(hours=1) for hour in (-5, -1, 0, 1, 7, 23, 24, 25)]
    hours += [hour.replace(minute=0) for hour in hours]
    rows = sorted((hour + step, item) for item, hour in enumerate(hours) for step in (-ONE, 0 * ONE, ONE))
    asked = Asked(every, [f"today in {zone}", f"since 23:30 in {zone}"])
    query = {
        "kind": "distinct-count",
        "time": "ts",
        "item": "item",
        "every": every,
        "windows": list(map(str, asked.windows)),
    }
    found = local.apply(table(rows), query, backends={"sketch": "exact"})
    at = found["at"].cast(pa.int64()).to_pylist()
    assert list(zip(at, found["window"].to_pylist(), found["count"].to_pylist(), strict=True)) == asked.answers(rows)


@pytest.mark.parametrize("zone", ["UTC", "Europe/Paris", "Asia/Kolkata"])
@pytest.mark.parametrize("year", [2023, 2024])
def test_months_and_years_asked_on_every_day_about_the_ends_of_months(zone, year):
    """A month before the 29th to 31st of March is the last of February, which has 28 days or 29."""
    asked = Asked(f"1 day in {zone}", [f"{length} in {zone}" for length in ("1 month", "2 months", "1 year", "1 week")])
    days = [local_time(zone, year, month, 1) + DAY * step for month in (1, 3, 5, 11) for step in range(-5, 3)]
    days = [moment.astimezone(ZoneInfo(zone)).replace(hour=0) for moment in days]
    moments = sorted(micros(day) for day in days)
    moments = [moment for moment in moments if moment in asked.nominal(year - 1, year + 1)]
    assert len(moments) > 25
    schedule = CalendarSchedule(asked.every, asked.windows, 0)
    expected = asked.starts(moments, year - 2, year + 1)
    assert schedule.starts_at(np.array(moments)).tolist() == expected


@pytest.mark.parametrize("zone", ["UTC", "Europe/Paris", "Asia/Kolkata"])
@pytest.mark.parametrize("year", [2023, 2024])
@pytest.mark.parametrize("by", [[], ["place"]])
def test_a_month_asked_at_other_hours_of_the_day_has_all_its_rows(zone, year, by):
    """At noon of the 28th it begins at noon of the 28th of February, and at midnight after that at midnight before."""
    asked = Asked(f"1 day in {zone}", [f"1 month in {zone}", f"since 09:30 in {zone}"])
    begin = local_time(zone, year, 2, 20)
    rows = [(begin + datetime.timedelta(hours=5 * place), place) for place in range(210)]
    query = {
        "kind": "distinct-count",
        "time": "ts",
        "item": "item",
        "every": f"1 day in {zone}",
        "windows": list(map(str, asked.windows)),
        "by": by,
    }
    batches = table(rows)
    batches = batches.append_column("place", pa.array(["here"] * len(batches)))
    found = local.apply(batches, query, backends={"sketch": "exact"})
    at = found["at"].cast(pa.int64()).to_pylist()
    assert list(zip(at, found["window"].to_pylist(), found["count"].to_pylist(), strict=True)) == asked.answers(rows)
    emitted = local.apply(batches, query | {"emit": "state"}, backends={"sketch": "exact"}).to_pylist()
    begins = asked.starts(at := [micros(row["at"]) for row in emitted], year - 2, year + 2)
    counts = [
        states.estimate(row["state"], since=since).count
        for row, own in zip(emitted, begins, strict=True)
        for since in own
    ]
    assert counts == found["count"].to_pylist() and len(at) > 40


LENGTHS = (
    "1 day in {}",
    "1 month in {}",
    "1 week in {}",
    "today in {}",
    "this month in {}",
    "since 09:30 in {}",
    "36 hours",
    "3 hours",
    "this week in {}",
)


@pytest.mark.parametrize("seed", range(12))
def test_a_stretch_ends_at_the_first_moment_that_finds_every_window_empty(seed):
    """By a look at each moment and each window, for last rows at, before and after moments and beginnings."""
    rng = np.random.default_rng(seed)
    zone = rng.choice([*ODD, "Europe/Paris", "America/Sao_Paulo"])
    regular = rng.random() < 0.5
    every = parse_length("3 hours" if regular else f"{rng.choice(['1 day', '1 week', '2 days'])} in {zone}")
    usable = [one for one in LENGTHS if not regular or not one.startswith("1 ")]
    chosen = rng.choice(usable, int(rng.integers(1, 4)), replace=False)
    windows = [parse_length(one.format(zone)) for one in chosen]
    schedule = CalendarSchedule(every, windows, int(rng.integers(0, 7)) * 30 * 60_000_000)
    begin = micros(datetime.datetime(2018, 1, int(rng.integers(1, 29)), tzinfo=UTC))
    moments = schedule.between(begin, begin + 120 * 86_400_000_000)
    starts = schedule.starts_at(moments)
    assert (np.diff(moments) > 0).all() and (np.diff(starts, axis=0) >= 0).all()
    assert (schedule.after(moments[:-1]) == moments[1:]).all() and (schedule.after(moments - 1) == moments).all()
    assert [schedule.latest(int(moment)) for moment in moments[1:9]] == moments[1:9].tolist()
    assert [schedule.latest(int(moment) - 1) for moment in moments[1:9]] == moments[:8].tolist()
    edges = np.concatenate([moments[:60], starts[:60].ravel()])
    lasts = np.unique(np.concatenate([edges + step for step in (-1, 0, 1)]))
    lasts = lasts[(lasts >= begin) & (lasts < begin + 60 * 86_400_000_000)]
    empty = (starts[None] > lasts[:, None, None]).all(axis=2) & (moments > lasts[:, None])
    assert empty.any(axis=1).all()
    expected = moments[empty.argmax(axis=1)]
    assert schedule.empty_at(lasts).tolist() == expected.tolist()
    assert schedule.has_ended(lasts, expected).all() and not schedule.has_ended(lasts, expected - 1).any()
    assert (schedule.reach(lasts) == expected - 1).all()
    for begins, ends in ((moments[3], moments[9]), (moments[3] - 1, moments[9] - 1), (moments[3], moments[3])):
        within = moments[(moments > begins) & (moments <= ends)]
        assert schedule.between(int(begins), int(ends)).tolist() == within.tolist()


@pytest.mark.parametrize("zone", [*ODD, "America/Sao_Paulo"])
@pytest.mark.parametrize("window", ["today in {}", "this week in {}", "since 00:00:01 in {}"])
def test_a_window_that_starts_over_holds_rows_since_its_start(zone, window):
    """At its end it is complete; a microsecond later it has started over."""
    length = parse_length(window.format(zone))
    schedule = AnewSchedule(parse_length("3 hours"), length, 0)
    whole = CalendarSchedule(parse_length("3 hours"), [length], 0)
    begin = micros(datetime.datetime(2018, 10, 25, tzinfo=UTC))
    moments = schedule.between(begin, begin + 30 * 86_400_000_000)
    assert moments.tolist() == whole.between(begin, begin + 30 * 86_400_000_000).tolist()
    starts = schedule.starts_at(moments)[:, 0]
    assert (starts < moments).all() and starts.tolist() == whole.starts_at(moments)[:, 0].tolist()
    for start in np.unique(starts)[1:-1].tolist():
        place = bisect_left(moments.tolist(), start)
        assert moments[place] == start, "the end of one is a moment too"
        assert starts[place] < start and starts[place + 1] == start
        assert [schedule.empty_at(time) for time in (start - 1, start)] == [
            start,
            int(np.unique(starts[starts > start])[0]),
        ]


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("since 23:59 in UTC", True),
        ("since 24:00 in UTC", False),
        ("since 00:00 in UTC", True),
        ("since 12:60 in UTC", False),
        ("since 12:59 in UTC", True),
        ("since 12:30:59 in UTC", True),
        ("since 12:30:60 in UTC", False),
        ("since 23:59:59 in UTC", True),
        ("since 24:00:00 in UTC", False),
        ("0 days in UTC", False),
        ("1 days in UTC", True),
        ("10000 days in UTC", True),
        ("10001 days in UTC", False),
        ("9999 months in UTC", True),
        ("10000 years in UTC", True),
        ("10001 years in UTC", False),
    ],
)
def test_the_last_that_is_a_length_of_the_calendar_and_the_first_that_is_none(text, right):
    if right:
        assert str(parse_length(text)) == text
        return
    with pytest.raises(ValueError, match=r"must be from 1 to 10000|must have a time from 00:00 to 23:59:59"):
        parse_length(text)


def test_no_calendar_window_exceeds_its_declared_length():
    """In any zone, over months of 31 days, leap years, and days of 25 hours."""
    begin = micros(datetime.datetime(2011, 1, 1, tzinfo=UTC))
    for zone in ("Europe/Paris", "Pacific/Apia", "UTC"):
        for text in ("1 day", "1 week", "1 month", "3 months", "1 year"):
            length = parse_length(f"{text} in {zone}")
            schedule = CalendarSchedule(parse_length(f"1 day in {zone}"), [length], 0)
            moments = schedule.between(begin, begin + 900 * 86_400_000_000)
            longest = int((moments - schedule.starts_at(moments)[:, 0]).max())
            assert longest <= length.length, text
            assert length.length - longest < (4 if "month" in text else 3) * 86_400_000_000, "and not much shorter"


TURNS = (
    ("America/St_Johns", 2006, 10, 29),
    ("America/St_Johns", 2007, 4, 1),
    ("America/Sao_Paulo", 2018, 2, 18),
    ("America/Sao_Paulo", 2018, 11, 4),
    ("America/Havana", 2024, 11, 3),
    ("Pacific/Apia", 2011, 12, 30),
    ("Pacific/Kwajalein", 1993, 8, 21),
    ("Asia/Kathmandu", 2024, 1, 1),
    ("UTC", 2024, 12, 31),
)
"""Midnights that repeat, or are skipped, or with a skipped day, and plain ones around the new year."""
BEGINS = {
    "day": lambda day: True,
    "week": lambda day: day.weekday() == 0,
    "month": lambda day: day.day == 1,
    "year": lambda day: (day.month, day.day) == (1, 1),
}


@pytest.mark.parametrize("turn", TURNS, ids=lambda turn: "-".join(map(str, turn)))
def test_units_of_the_calendar_begin_when_the_clock_first_reaches_them(turn):
    """Each minute about a turn of the clock, and each quarter of an hour some days about it, by the clock itself."""
    zone, *date = turn
    epoch, minute = datetime.datetime(1970, 1, 1), 60_000_000
    middle = micros(datetime.datetime(*date, tzinfo=UTC))
    about = np.concatenate([np.arange(-9 * 96, 9 * 96) * 15, np.arange(-2000, 2000)])
    times = middle + np.unique(about) * minute
    shown = [datetime.datetime.fromtimestamp(time // 1_000_000, ZoneInfo(zone)) for time in times.tolist()]
    clock = np.array([(one.replace(tzinfo=None) - epoch) // ONE for one in shown])
    reached = np.maximum.accumulate(clock)
    days = [day for step in range(-8, 9) if (day := datetime.datetime(*date) + step * DAY)]
    for unit, is_begin in BEGINS.items():
        units = Boundaries(parse_length(f"1 {unit} in {zone}"))
        begins = np.array([(day - epoch) // ONE for day in days if is_begin(day)], np.int64)
        if not len(begins):
            continue
        moments = times[np.searchsorted(reached, begins)]
        numbers = units.number(moments[-1:])[0] - np.arange(len(begins))[::-1]
        assert units.shown(numbers).tolist() == begins.tolist()
        assert units.moment(numbers).tolist() == moments.tolist()
        asked = np.unique(np.concatenate([times, moments - 1, moments + 1]))
        asked = asked[(asked >= moments[0]) & (asked < moments[-1])]
        place = np.searchsorted(moments, asked, side="right")
        assert units.number(asked).tolist() == numbers[place - 1].tolist()
        assert units.last(asked).tolist() == moments[place - 1].tolist()
        assert units.after(asked).tolist() == moments[place].tolist()
        assert units.after(moments - 1).tolist() == moments.tolist()
        first = begins[np.searchsorted(moments, moments)]
        assert units.shown_at(moments).tolist() == first.tolist(), "of a day that is left out, as at its own beginning"
