"""Windows of a zone's calendar, and moments moved by an offset: against plain Python, a moment at a time."""

import datetime
from bisect import bisect_right
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from calendar_oracle import (
    DAY,
    MOVES,
    UTC,
    Asked,
    around,
    asked_for,
    beginnings,
    clock,
    duration,
    first_shown,
    micros,
    pushed,
    table,
    visits,
)
from skyband.config.calendar_lengths import CalendarLength, parse_length
from skyband.engines import local
from skyband.errors import ConfigError, InputError
from skyband.queries import make_query
from skyband.windows.calendar_schedule import Boundaries


@pytest.mark.parametrize("zone", MOVES)
@pytest.mark.parametrize(
    ("unit", "count"), [("day", 1), ("day", 3), ("week", 1), ("month", 1), ("month", 3), ("year", 1)]
)
@pytest.mark.parametrize("later", [0, 30, 9 * 60 + 30])
def test_where_units_begin_on_the_clock_of_a_zone(zone, unit, count, later):
    year = MOVES[zone][0]
    offset = datetime.timedelta(minutes=later)
    begin = [micros(first_shown(shown + offset, zone)) for shown in beginnings(unit, count, year - 1, year + 2)]
    asked = sorted(map(micros, around(zone)))
    asked += [moment for moment in begin if begin[1] < moment < begin[-2]]
    found = Boundaries(CalendarLength(unit, count, zone), later * 60_000_000)
    times = np.array(asked)
    assert found.last(times).tolist() == [begin[bisect_right(begin, time) - 1] for time in asked]
    assert found.after(times).tolist() == [begin[bisect_right(begin, time)] for time in asked]
    assert found.within(begin[1], begin[-2]).tolist() == sorted(set(begin[2:-1]) - {begin[1]})


@pytest.mark.parametrize("zone", MOVES)
def test_distinct_items_of_each_window_as_counted_in_plain_python(zone):
    for number, (name, asked) in enumerate(asked_for(zone).items()):
        rows = visits(zone, seed=number, gap=40 * (number % 2))
        query = {
            "kind": "distinct-count",
            "time": "ts",
            "item": "item",
            "every": str(asked.every),
            "windows": list(map(str, asked.windows)),
            "offset": duration(asked.offset),
        }
        expected = asked.answers(rows)
        for found in (
            local.apply(table(rows), query, backends={"sketch": "exact"}),
            pushed(query, table(rows), 9, {"sketch": "exact"}),
        ):
            at = found["at"].cast(pa.int64()).to_pylist()
            assert list(zip(at, found["window"].to_pylist(), found["count"].to_pylist(), strict=True)) == expected, name


@pytest.mark.parametrize("zone", ["Europe/Paris", "America/Sao_Paulo", "America/St_Johns", "Pacific/Apia"])
@pytest.mark.parametrize(
    ("every", "window", "later"),
    [
        ("3 hours", "today in {}", 30),
        ("1 hour", "since 09:30 in {}", 0),
        ("1 day in {}", "1 day in {}", 0),
        ("1 week in {}", "1 week in {}", 6 * 60),
        ("1 day in {}", "this month in {}", 60),
        ("1 day in {}", "36 hours", 0),
    ],
)
def test_the_best_objects_of_windows_that_begin_anew(zone, every, window, later):
    asked = Asked(every.format(zone), [window.format(zone)], datetime.timedelta(minutes=later))
    rows = visits(zone, seed=5, gap=30)
    source = table(rows).append_column("stream", pa.array(["a"] * len(rows)))
    source = source.append_column("value", pa.array(np.arange(len(rows), dtype=float)))
    query = {
        "kind": "top-k",
        "time": "ts",
        "object": "item",
        "stream": "stream",
        "value": "value",
        "streams": ["a"],
        "k": 100,
        "every": str(asked.every),
        "window": str(asked.windows[0]),
    }
    query["offset"] = duration(asked.offset)
    for backend in ("eaa", "sla"):
        found = pushed(query, source, 9, {"object-ranker": backend})
        assert found.equals(local.apply(source, query, backends={"object-ranker": backend}))
        at, ranked = np.unique(found["at"].cast(pa.int64()).to_numpy(), return_counts=True)
        counted = [(moment, count) for moment, _, count in asked.answers(rows)]
        assert list(zip(at.tolist(), ranked.tolist(), strict=True)) == counted
    latest = {item: place for place, (when, item) in enumerate(rows)}
    assert set(found["score"].to_pylist()) >= {float(latest[rows[-1][1]])}


def test_pairs_of_a_day_in_a_zone():
    rows = visits("Europe/Paris", seed=3)
    source = table(rows).append_column("words", pa.array([[item % 3, 7] for _, item in rows]))
    query = {
        "kind": "top-k-pairs",
        "time": "ts",
        "id": "item",
        "tokens": "words",
        "k": 10_000,
        "every": "1 day in Europe/Paris",
        "window": "1 day in Europe/Paris",
    }
    found = local.apply(source, query)
    days = {}
    for when, _ in rows:
        day = clock(when, "Europe/Paris").date()
        days[day] = days.get(day, 0) + 1
    at = [clock(row, "Europe/Paris") for row in found["at"].to_pylist()]
    counted = {moment.date() - DAY: at.count(moment) for moment in set(at)}
    assert counted == {day: rows * (rows - 1) // 2 for day, rows in days.items() if rows > 1}
    assert found.equals(pushed(query, source, 7))


def test_rows_of_row_windows_are_counted_from_the_offset():
    source = table(visits("Asia/Kolkata", seed=1))
    query = {"kind": "distinct-count", "time": "ts", "item": "item", "windows": ["50 rows"], "every": "30 rows"}
    assert local.apply(source, {**query, "offset": "10 rows"})["at"].to_pylist() == [10, 40, 70, 100, 130, 160]
    totals = {
        "kind": "heavy-hitters",
        "time": "ts",
        "object": "item",
        "windows": ["60 rows"],
        "every": "30 rows",
        "k": 1,
    }
    assert local.apply(source, {**totals, "offset": "10 rows"})["at"].to_pylist() == [10, 40, 70, 100, 130, 160]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("today in Europe/Pariss", "unknown here; did you mean 'Europe/Paris'"),
        ("today in Nowhere", "such as 'Europe/Paris' or 'UTC'"),
        ("since 25:00 in UTC", "must have a time from 00:00 to 23:59:59"),
        ("since noon in UTC", "since a time of the clock such as 09:30"),
        ("this day in UTC", "must be today, this week, this month, this year"),
        ("3 hours in Europe/Paris", 'only days, weeks, months and years differ by zone: write "3 hours"'),
        ("0 days in Europe/Paris", "must be from 1 to 10000 days"),
        ("tomorrow in Europe/Paris", 'must be a length such as "10 minutes"'),
    ],
)
def test_what_is_no_length_of_the_calendar(text, said):
    with pytest.raises(ValueError, match=said):
        parse_length(text)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"windows": ["1 day in Europe/Paris"]}, 'every = "1 day in Europe/Paris"; or write "today in Europe/Paris"'),
        ({"every": "today in Europe/Paris"}, '`?every`?.*is a window: give an interval, such as "10 minutes"'),
        (
            {"every": "1 day in Asia/Tokyo", "windows": ["1 day in Europe/Paris"]},
            "must be in the zone of `every`, Asia/Tok",
        ),
        ({"offset": "3 rows"}, "offset.*must be in time, as the window is"),
        ({"windows": ["10 rows"], "every": "today"}, "every.*must be in rows"),
    ],
)
def test_what_does_not_go_together_is_refused_with_the_remedy(changes, said):
    query = {"kind": "distinct-count", "time": "ts", "item": "item", "windows": ["today"], "every": "1 hour", **changes}
    with pytest.raises(ConfigError, match=said):
        local.apply(table(visits("Europe/Paris", 1)), query)


def test_backends_that_cannot_are_refused_by_name():
    source = table(visits("Europe/Paris", 1))
    query = {"kind": "distinct-count", "time": "ts", "item": "item", "windows": ["today"], "every": "1 hour"}
    with pytest.raises(ConfigError, match="hll-panes lacks any-since: choose a sketch that has it"):
        local.apply(source, query, backends={"sketch": {"name": "hll-panes", "pane": "1 hour"}})
    ranked = {
        "kind": "top-k",
        "time": "ts",
        "object": "item",
        "stream": "item",
        "value": "item",
        "streams": [1],
        "k": 1,
    }
    with pytest.raises(ConfigError, match=r'top-k needs calendar windows that start over.*"this week in UTC"'):
        local.apply(source, {**ranked, "window": "1 week in UTC", "every": "1 day in UTC"})
    workload = {"kind": "top-k-workload", "time": "ts", "object": "item", "score": "item"}
    with pytest.raises(ConfigError, match="calendar"):
        local.apply(source, {**workload, "queries": [{"name": "a", "window": "today", "slide": "1 hour", "k": 1}]})


ANEW = {
    "top-k": {"object": "item", "stream": "item", "value": "item", "streams": [1], "k": 1},
    "top-k-pairs": {"id": "item", "tokens": "words", "k": 1},
}


@pytest.mark.parametrize("kind", ANEW)
def test_one_window_of_the_calendar_is_as_long_as_every_or_so_far(kind):
    """By its unit, its count and its zone."""
    lengths = [
        f"{length} in {zone}" for length in ("1 day", "2 days", "1 week", "7 days") for zone in ("UTC", "Asia/Tokyo")
    ]
    for window in lengths:
        for every in lengths:
            keys = {"kind": kind, "time": "ts", **ANEW[kind], "window": window, "every": every}
            if window == every:
                make_query(keys)
                continue
            with pytest.raises(ConfigError, match=r"start over|must be in the zone of"):
                make_query(keys)


def test_a_zone_needs_instants_of_a_year_whose_calendar_is_known():
    query = {
        "kind": "distinct-count",
        "time": "ts",
        "item": "item",
        "windows": ["today in Asia/Tokyo"],
        "every": "1 day",
    }
    shown = pa.table({"ts": [datetime.datetime(2025, 1, 1)], "item": [1]})
    with pytest.raises(ConfigError, match="needs times that are instants, but these are local times"):
        local.apply(shown, query)
    assert len(local.apply(shown, {**query, "windows": ["today"]})) == 1
    with pytest.raises(InputError, match="known from 1900 to 2199"):
        local.apply(table([(datetime.datetime(1850, 1, 1, tzinfo=UTC), 1)]), query)


@pytest.mark.parametrize(
    ("text", "sound"),
    [
        ("0 days in UTC", False),
        ("1 day in UTC", True),
        ("9999 days in UTC", True),
        ("10000 days in UTC", True),
        ("10001 days in UTC", False),
        ("10,001 days in UTC", False),
        ("0 months", False),
        ("10000 months", True),
        ("10001 months", False),
        ("10000 years", True),
        ("10001 years", False),
        ("since 00:00 in UTC", True),
        ("since 23:59:59 in UTC", True),
        ("since 23:59:60 in UTC", False),
        ("since 23:60 in UTC", False),
        ("since 24:00 in UTC", False),
        ("since 24:00:00 in UTC", False),
        (f"{2**61} microseconds", True),
        (f"{' ' * 989}1 month", True),
        (f"{' ' * 994}1 month", False),
    ],
)
def test_the_last_length_that_is_one_and_the_first_that_is_none(text, sound):
    try:
        assert parse_length(text).length > 0
        assert sound
    except ValueError as error:
        assert not sound, error
        assert "(got" in str(error)


ODD = [
    ("Africa/Monrovia", "1972-01-05", "00:00"),
    ("Europe/Paris", "1911-03-10", "06:30"),
    ("America/St_Johns", "2011-03-13", "00:30"),
]
"""Zones with seconds in their offsets until about then, and one whose clock last jumped from 00:01."""


@pytest.mark.parametrize("since", [-40, 1, 20], ids=lambda days: f"{days} days")
@pytest.mark.parametrize(("zone", "change", "clock"), ODD)
@pytest.mark.parametrize("backend", ["exact", "frequent-items-panes"])
def test_zones_whose_clocks_differed_by_seconds(zone, change, clock, since, backend):
    """Each answer has as many objects as are distinct in its window, which another query counts without panes."""
    rng = np.random.default_rng(5)
    begin = (np.datetime64(change, "us") + np.timedelta64(since, "D")).astype(np.int64)
    times = begin + np.sort(rng.integers(0, 60 * 86_400_000_000, 900))
    rows = pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "item": rng.integers(0, 40, 900)})
    keys = {"time": "ts", "every": f"1 day in {zone}", "windows": [f"since {clock} in {zone}", f"1 month in {zone}"]}
    top = {"kind": "heavy-hitters", "object": "item", "k": 100, **keys}
    counted = local.apply(rows, {"kind": "distinct-count", "item": "item", **keys}, {"sketch": "exact"})
    halves = local.LocalRun.start(top, rows.schema, {"total-ranker": backend})
    found = [halves.push(rows.slice(0, 450).to_batches()[0])]
    again = local.LocalRun.start(top, rows.schema, {"total-ranker": backend})
    again.operator.restore(halves.operator.snapshot())
    found += [again.push(rows.slice(450).to_batches()[0]), again.finish()]
    objects = Counter((row["at"], row["window"]) for row in pa.Table.from_batches(found).to_pylist())
    assert objects == {(row["at"], row["window"]): row["count"] for row in counted.to_pylist() if row["count"]}
