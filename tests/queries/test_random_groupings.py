"""Groupings and windows "ever" on random streams, cut anywhere and restored, against plain Python."""

import random
from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise

import pyarrow as pa
import pytest
from skyband.engines.local import LocalRun

MINUTE = 60_000_000
EPOCH = datetime(1970, 1, 1)
SETS = [["place", "who"], ["place"], ["who"], []]
PLACES, WHO, NAMES = ["", "a", None], ["x", "y"], ["p", "q", "r", "s", None]
COLUMNS = ("place", "who")


def stream(random_):
    """Rows (time, place, who, name), ascending."""
    times = sorted(random_.randrange(-3 * MINUTE, 40 * MINUTE) for _ in range(random_.randrange(1, 25)))
    return [(time, *map(random_.choice, (PLACES, WHO, NAMES))) for time in times]


def expected(rows, sets, windows, every, kind):
    """Lines of each group of each set: at every moment whose windows hold a row, up to the first after all rows."""
    last = rows[-1][0]
    lines = []
    for columns in sets:
        grouping = ", ".join(columns) or "()"
        places = [COLUMNS.index(name) + 1 for name in columns]
        by_group = {}
        for row in rows:
            if row[3] is not None:
                by_group.setdefault(tuple(row[place] for place in places), []).append(row)
        for group, own in by_group.items():
            named = [dict(zip(columns, group, strict=True)).get(name) for name in COLUMNS]
            for at in moments(own[0][0], last, every):
                longest = [row for row in own if inside(row, at, max(windows, key=lambda w: (w is None, w)))]
                for window in windows if longest else []:
                    names = [row[3] for row in own if inside(row, at, window)]
                    lines += [(grouping, *named, at, label(window), *line) for line in answer(names, kind)]
    return sorted(lines, key=repr)


def moments(first, last, every):
    at = first // every * every + every
    while at <= last // every * every + every:
        yield at
        at += every


def inside(row, at, window):
    return row[0] < at and (window is None or row[0] >= at - window)


def label(window):
    return "ever" if window is None else f"{window // MINUTE} minutes"


def answer(names, kind):
    if kind == "distinct-count":
        return [(float(len(set(names))),)]
    totals = Counter(names)
    return [(name, float(totals[name])) for name in sorted(totals)]


def answers(rows, sets, windows, every, kind, random_):
    schema = pa.schema([("at_", pa.timestamp("us")), *((name, pa.string()) for name in (*COLUMNS, "name"))])
    query = {"kind": kind, "time": "at_", "every": f"{every // MINUTE} minutes", "windows": [*map(label, windows)]}
    query |= {"by": [[*columns] for columns in sets]} if len(sets) > 1 else {"by": [*sets[0]]}
    query |= {"item": "name"} if kind == "distinct-count" else {"object": "name", "k": 10}
    backends = {"sketch": "exact"} if kind == "distinct-count" else None
    run, given = LocalRun.start(query, schema, backends), []
    cuts = sorted({0, len(rows), *(random_.randrange(len(rows) + 1) for _ in range(2))})
    for start, stop in pairwise(cuts):
        columns = [pa.array(column, field.type) for column, field in zip(zip(*rows[start:stop]), schema)]  # noqa: B905
        table = pa.Table.from_arrays(columns, schema=schema)
        given.append(run.push(table.combine_chunks().to_batches()[0]))
        state, run = run.operator.snapshot(), LocalRun.start(query, schema, backends)
        run.operator.restore(state)
    given.append(run.operator.finish(rows[-1][0]))
    lines = []
    for row in pa.Table.from_batches(given).to_pylist():
        named = [row.get(name) for name in COLUMNS]
        grouping = row.get("grouping", ", ".join(sets[0]) or "()")
        numbers = [row["count"]] if kind == "distinct-count" else [row["object"], row["total"]]
        at = (row["at"] - EPOCH) // timedelta(microseconds=1)
        lines.append((grouping, *named, at, row["window"], *numbers))
    return sorted(lines, key=repr)


def try_streams(first, count):
    for seed in range(first, first + count):
        random_ = random.Random(seed)
        rows = stream(random_)
        sets = random_.sample(SETS, random_.randrange(1, 5))
        windows = random_.choice([[None], [None], [5 * MINUTE], [None, 5 * MINUTE], [20 * MINUTE, 5 * MINUTE]])
        every, kind = random_.choice([2, 5]) * MINUTE, random_.choice(["distinct-count", "heavy-hitters"])
        found = answers(rows, sets, windows, every, kind, random_)
        assert found == expected(rows, sets, windows, every, kind), (seed, sets, windows, every, kind)


def test_a_hundred_streams():
    try_streams(0, 100)


@pytest.mark.slow
def test_ten_thousand_streams():
    try_streams(100, 10_000)
