"""Windows of a month calendar at several hours of the days that February lacks, for groups that fall silent.

A month before noon of the 28th of March begins at noon of the 28th of February, and one before midnight of the 29th to
31st at midnight before: what the first does not hold the others do.
"""

import datetime
from collections import defaultdict
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from calendar_oracle import UTC, Asked, micros
from skyband.engines.local import LocalRun

COLUMNS = {
    "distinct-count": {"item": "item"},
    "quantiles": {"value": "item", "at": [0.5]},
    "heavy-hitters": {"object": "item", "k": 99, "rest": True},
}
COUNTS = {"distinct-count": "count", "quantiles": "rows", "heavy-hitters": "total"}
MANY = 5000
"""Rows of a group that is no small one."""


def rows_of(zone, year, seed):
    """By group: some are silent from the end of February on for a month or more, and the last one ends it all."""
    rng = np.random.default_rng(seed)
    begin = datetime.datetime(year, 2, 27, tzinfo=ZoneInfo(zone)).astimezone(UTC)
    end = datetime.datetime(year, 4, 3, tzinfo=ZoneInfo(zone)).astimezone(UTC)
    hours = [0, 5, 9.5, 10, 23, 24, 29, 33.5, 34, 47, 48, 53]
    groups = {}
    for group in range(8):
        times = [begin + datetime.timedelta(hours=float(hour)) for hour in rng.choice(hours, 2)]
        if group % 3 == 0:  # it comes back where it would have been silent, or soon after
            times.append(end - datetime.timedelta(hours=float(rng.integers(0, 150))))
        groups[f"group {group}"] = sorted(times)
    groups["many"] = [begin + datetime.timedelta(hours=29, milliseconds=place) for place in range(MANY)]
    groups["last"] = [end]
    return groups


def expected(calendar, groups, year):
    """By group, moment and window how many rows there are, where any window of the moment holds one."""
    end = max(max(times) for times in groups.values())
    moments = calendar.moments(min(min(times) for times in groups.values()), end)
    moments = [moment for moment in moments if moment <= micros(end)]
    moments.append(next(moment for moment in calendar.moments(end, end) if moment > micros(end)))
    starts = np.array(calendar.starts(moments, year - 2, year + 2))
    answers = {}
    for group, own in groups.items():
        times = np.array([micros(time) for time in own])
        for at, begins in zip(moments, starts.tolist(), strict=True):
            counts = [int(((times >= since) & (times < at)).sum()) for since in begins]
            if any(counts):
                answers |= {
                    (group, at, str(window)): count for window, count in zip(calendar.windows, counts, strict=True)
                }
    return answers


def answered(kind, calendar, groups, pieces, **keys):
    rows = sorted((micros(time), group, place) for group, times in groups.items() for place, time in enumerate(times))
    times, names, items = zip(*rows, strict=True)
    table = pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "group": names, "item": items})
    query = {
        "kind": kind,
        "time": "ts",
        "by": ["group"],
        "every": str(calendar.every),
        "windows": list(map(str, calendar.windows)),
        **COLUMNS[kind],
        **keys,
    }
    backends = {"distinct-count": {"sketch": "exact"}, "quantiles": {"quantile-sketch": "exact"}}.get(kind)
    run, parts = LocalRun.start(query, table.schema, backends), []
    size = -(-len(table) // pieces)
    for start in range(0, len(table), size):
        before, run = run.operator, LocalRun.start(query, table.schema, backends)
        if start:
            run.operator.restore(before.snapshot())
        parts.append(run.push(table.slice(start, size).combine_chunks().to_batches()[0]))
    return pa.Table.from_batches([*parts, run.finish()])


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("zone", ["UTC", "Asia/Kathmandu"])
@pytest.mark.parametrize("year", [2023, 2024])
def test_a_silent_group_has_all_answers_of_windows_that_hold_a_row(kind, zone, year):
    calendar = Asked(f"1 day in {zone}", [f"1 month in {zone}", f"since 09:30 in {zone}", f"today in {zone}"])
    for seed in range(2):
        groups = rows_of(zone, year, seed)
        answers = answered(kind, calendar, groups, pieces=3)
        at = answers["at"].cast(pa.int64()).to_pylist()
        keys = list(zip(answers["group"].to_pylist(), at, answers["window"].to_pylist(), strict=True))
        counts = defaultdict(int)
        for key, count in zip(keys, answers[COUNTS[kind]].to_pylist(), strict=True):
            counts[key] += count
        every = expected(calendar, groups, year)
        assert counts == {key: count for key, count in every.items() if count or kind != "quantiles"}
