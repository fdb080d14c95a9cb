"""Windows of the calendar by plain Python: datetime and zoneinfo, a moment at a time."""

import datetime
from bisect import bisect_left, bisect_right
from functools import cache
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
from skyband.config.calendar_lengths import CalendarLength, parse_length
from skyband.config.durations import Duration
from skyband.engines.local import LocalRun

UTC = datetime.UTC
DAY, MINUTE = datetime.timedelta(days=1), datetime.timedelta(minutes=1)


def clock(moment: datetime.datetime, zone: str) -> datetime.datetime:
    """What the clock of a zone shows."""
    return moment.astimezone(ZoneInfo(zone)).replace(tzinfo=None)


@cache
def first_shown(shown: datetime.datetime, zone: str) -> datetime.datetime:
    """The first moment at which the clock shows this or, where it skips it, a later time. Zones change at minutes."""
    moment = shown.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
    while clock(moment - MINUTE, zone) >= shown:
        moment -= MINUTE
    return moment


def beginnings(unit: str, count: int, first: int, last: int) -> list[datetime.datetime]:
    """When days, weeks, months or years begin on a clock, in the years first to last; counted from 1970 on."""
    if unit in ("day", "week"):
        origin = datetime.datetime(1970, 1, 1) if unit == "day" else datetime.datetime(1970, 1, 5)
        step = count * (DAY if unit == "day" else 7 * DAY)
        found = origin + step * ((datetime.datetime(first, 1, 1) - origin) // step)
        days = []
        while found < datetime.datetime(last + 1, 1, 1):
            days.append(found)
            found += step
        return days
    months = (12 if unit == "year" else 1) * count
    numbers = range((first - 1970) * 12 // months, (last + 1 - 1970) * 12 // months)
    return [datetime.datetime(1970 + number * months // 12, number * months % 12 + 1, 1) for number in numbers]


def earlier(shown: datetime.datetime, unit: str, count: int) -> datetime.datetime:
    """So many units before, on the clock; the last day of a month that has not that day."""
    if unit in ("day", "week"):
        return shown - count * (DAY if unit == "day" else 7 * DAY)
    month = shown.year * 12 + shown.month - 1 - count * (12 if unit == "year" else 1)
    for day in range(shown.day, 0, -1):
        try:
            return shown.replace(year=month // 12, month=month % 12 + 1, day=day)
        except ValueError:
            continue
    raise AssertionError(shown)


HOUR = datetime.timedelta(hours=1)
MOVES = {
    "Europe/Paris": (2025, (3, 30), (10, 26)),
    "America/New_York": (2024, (3, 10), (11, 3)),
    "Asia/Kolkata": (2025, (1, 15)),
    "Australia/Lord_Howe": (2025, (4, 6), (10, 5)),  # by half an hour
    "America/Sao_Paulo": (2018, (2, 18), (11, 4)),  # midnight to 1, and to 23 of the day before
    "America/Havana": (2024, (3, 10), (11, 3)),  # midnight to 1, and 1 to midnight
    "America/St_Johns": (2010, (3, 14), (11, 7)),  # 00:01 to 23:01 of the day before
    "Pacific/Apia": (2011, (12, 30)),  # a day that is not there
}
"""Zones, each with a year and the days on which its clock moves."""


def micros(moment: datetime.datetime) -> int:
    return (moment - datetime.datetime(1970, 1, 1, tzinfo=UTC)) // datetime.timedelta(microseconds=1)


def around(zone: str) -> list[datetime.datetime]:
    """Moments about those at which a zone's clock moves."""
    year, *days = MOVES[zone]
    noons = [datetime.datetime(year, *day, 12, tzinfo=UTC) for day in days]
    steps = range(-3 * 96, 3 * 96)
    return [noon + step * HOUR / 4 + datetime.timedelta(microseconds=step % 2) for noon in noons for step in steps]


class Asked:
    """A query of `every` and windows, and its answers by plain Python."""

    def __init__(self, every: str, windows: list[str], offset: datetime.timedelta = datetime.timedelta(0)) -> None:
        self.every, self.windows = parse_length(every), [parse_length(window) for window in windows]
        self.offset = offset

    def moments(self, first: datetime.datetime, last: datetime.datetime) -> list[int]:
        years = first.year - 1, last.year + 2
        if isinstance(self.every, Duration):
            step, phase = self.every.length, self.offset // datetime.timedelta(microseconds=1)
            found = set(range((micros(first) - phase) // step * step + phase, micros(last) + 62 * 86_400_000_000, step))
        else:
            found = set(self.nominal(*years))
        for window in self.windows:
            if isinstance(window, CalendarLength) and window.so_far:
                found |= set(self.begun(window, *years))
        return sorted(found)

    def nominal(self, *years: int) -> dict[int, datetime.datetime]:
        """What the clock shows, or would, at each moment of `every`."""
        shown = [begin + self.offset for begin in beginnings(self.every.unit, self.every.count, *years)]
        return {micros(first_shown(one, self.every.zone)): one for one in reversed(shown)}

    def begun(self, window: CalendarLength, *years: int) -> list[int]:
        clock_ = datetime.timedelta(microseconds=window.clock)
        return sorted(micros(first_shown(shown + clock_, window.zone)) for shown in beginnings(window.unit, 1, *years))

    def starts(self, at: list[int], *years: int) -> list[list[int]]:
        """Of each moment where each window begins."""
        columns = []
        for window in self.windows:
            if isinstance(window, Duration):
                columns.append([moment - window.length for moment in at])
            elif window.so_far:
                begun = self.begun(window, *years)
                columns.append([begun[bisect_left(begun, moment) - 1] for moment in at])
            else:
                nominal = self.nominal(*years)
                shown = [nominal.get(moment) or self.shown(moment) for moment in at]
                begin = [earlier(one, window.unit, window.count) for one in shown]
                columns.append([micros(first_shown(one, window.zone)) for one in begin])
        return list(map(list, zip(*columns, strict=True)))

    def shown(self, moment: int) -> datetime.datetime:
        when = datetime.datetime(1970, 1, 1, tzinfo=UTC) + datetime.timedelta(microseconds=moment)
        return clock(when, self.every.zone)

    def answers(self, rows: list[tuple[datetime.datetime, int]]) -> list[tuple[int, str, int]]:
        """(moment, window, distinct items), where a window holds a row, to the first moment after the last row."""
        first, last = min(rows)[0], max(rows)[0]
        times, items = [micros(when) for when, _ in rows], [item for _, item in rows]
        moments = self.moments(first, last)
        end = moments[bisect_right(moments, micros(last))]
        moments = [moment for moment in moments if micros(first) < moment <= end]
        found = []
        for moment, starts in zip(moments, self.starts(moments, first.year - 2, last.year + 2), strict=True):
            stop = bisect_left(times, moment)
            held = [set(items[bisect_left(times, start) : stop]) for start in starts]
            if any(held):
                found += [(moment, str(window), len(one)) for window, one in zip(self.windows, held, strict=True)]
        return found


def visits(zone: str, seed: int, gap: int = 0) -> list[tuple[datetime.datetime, int]]:
    """Rows about the nights in which a zone's clock moves, some at boundaries; `gap` hours without any."""
    draw = np.random.default_rng(seed)
    moments = around(zone)
    chosen = [moments[place] for place in np.sort(draw.choice(len(moments), 150, replace=False))]
    chosen += [
        first_shown(clock(when, zone).replace(hour=0, minute=0, second=0, microsecond=0), zone) for when in chosen[:20]
    ]
    if gap:
        middle = chosen[75]
        chosen = [when for when in chosen if abs(when - middle) > gap * HOUR / 2]
    return sorted((when, int(draw.integers(40))) for when in chosen)


def table(rows: list[tuple[datetime.datetime, int]]) -> pa.Table:
    times = pa.array([when for when, _ in rows], pa.timestamp("us", "UTC"))
    return pa.table({"ts": times, "item": pa.array([item for _, item in rows], pa.int64())})


def pushed(query: dict, source: pa.Table, pieces: int, backends: dict | None = None) -> pa.Table:
    run = LocalRun.start(query, source.schema, backends)
    size = -(-len(source) // pieces)
    batches = [source.slice(start, size).combine_chunks().to_batches()[0] for start in range(0, len(source), size)]
    return pa.Table.from_batches([*(run.push(batch) for batch in batches), run.finish()])


def asked_for(zone: str) -> dict[str, Asked]:
    half_past, so_far = datetime.timedelta(minutes=30), ("today", "this week", "since 09:30")
    return {
        "so far": Asked("3 hours", [f"{one} in {zone}" for one in so_far] + ["5 hours"], half_past),
        "whole": Asked(f"1 day in {zone}", [f"1 day in {zone}", f"1 week in {zone}", f"1 month in {zone}"]),
        "later": Asked(f"day in {zone}", [f"2 days in {zone}", f"since 12:00 in {zone}"], 6 * HOUR),
        "months": Asked(f"1 week in {zone}", [f"this month in {zone}", f"this year in {zone}"]),
    }


def duration(length: datetime.timedelta) -> str:
    return f"{length // datetime.timedelta(minutes=1)} minutes"
