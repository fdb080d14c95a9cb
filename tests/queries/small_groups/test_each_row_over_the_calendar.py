"""Queries that answer each row, over the day so far: as if each day were a group of its own, in plain Python."""

import datetime as dt
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from in_process_shards import on_shards
from skyband.engines import local
from skyband.errors import ConfigError
from skyband.queries import make_query
from small_group_queries import over_days, stream

KINDS = {
    "near-duplicates": {"id": "row", "tokens": "words", "threshold": 0.4},
    "near-vectors": {"id": "row", "vector": "vector", "dimensions": 3, "threshold": 0.8},
}
ZONE = ZoneInfo("Europe/Paris")
UNITS = {
    "today in Europe/Paris": lambda time: time.astimezone(ZONE).date(),
    "since 09:30 in Europe/Paris": lambda time: (
        time.astimezone(ZONE).replace(tzinfo=None) - dt.timedelta(hours=9, minutes=30)
    ).date(),
    "this week": lambda time: time.isocalendar()[:2],
    "ever": lambda time: 0,
}


def table_of(seed):
    """Some 150 rows of four days; clocks go forward in the night to one; some rows exactly at midnight in Paris."""
    table = over_days(stream(seed))
    times = table["ts"].cast(pa.int64()).to_numpy().copy()
    times[::9] = times[::9] // 86_400_000_000 * 86_400_000_000 - 3_600_000_000 * (1 + (times[::9] > 1774746000_000_000))
    order = np.argsort(times, kind="stable")
    table = table.take(pa.array(order)).set_column(0, "ts", pa.array(times[order], table["ts"].type))
    return table.append_column("row", pa.array(np.random.default_rng(seed).permutation(len(table))))


def query(kind, window, **keys):
    return make_query({"kind": kind, "time": "ts", **KINDS[kind], "window": window, **keys})


def as_text(table):
    return sorted(map(str, table.to_pylist()))


@pytest.mark.parametrize("keys", [{}, {"by": ["group"], "keep": "first", "output": "rows", "matches": 1}], ids=str)
@pytest.mark.parametrize(
    "window",
    [pytest.param(window, marks=pytest.mark.slow if number > 1 else ()) for number, window in enumerate(UNITS)],
)
@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_compared_with_those_of_their_day_however_they_are_cut(kind, window, keys):
    table, asked, states = table_of(len(window)), query(kind, window, **keys), set()
    unit = [str(UNITS[window](time)) for time in table["ts"].to_pylist()]
    apart = {**keys, "by": [*keys.get("by", []), "unit"]}
    alone = local.apply(table.append_column("unit", pa.array(unit)), query(kind, "10000 days", **apart))
    expected = as_text(alone.drop_columns("unit"))
    assert len(expected) > 20
    for size in (150, 7):
        run, answers = local.LocalRun.start(asked, table.schema), []
        for batch in table.combine_chunks().to_batches(max_chunksize=size):
            answers.append(run.push(batch))
            blob = run.snapshot()
            run = local.LocalRun.start(asked, table.schema)
            run.restore(blob)
        states.add(blob)
        assert as_text(pa.Table.from_batches([*answers, run.finish()])) == expected
    assert len(states) == 1
    if not keys:
        assert as_text(on_shards(table, asked, 4, 3)[0]) == expected


@pytest.mark.parametrize(
    ("window", "message"),
    [
        ("1 day in Europe/Paris", r'each row is answered at its own time: write "today in Europe/Paris", or a length'),
        ("2 months", r'write "this month in UTC", or a length such as "24 hours" \(got .2 months.\)'),
        ("today in {side}", r'must name one zone for all rows, such as "today in Europe/Paris"'),
        ("yesterday", "must be a duration"),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_windows_of_the_calendar_that_no_row_can_have_are_refused_by_name(kind, window, message):
    with pytest.raises(ConfigError, match=f"window: .*{message}"):
        query(kind, window)
