"""Small streams whose rows, moments and windows touch, and their states by moment."""

from functools import cache

import numpy as np
import pyarrow as pa

SECOND = 1_000_000
EVERY, WINDOW = 20 * SECOND, 60 * SECOND
START = 1_760_000_400_000_000
GROUPS = ("a", "b", "c")


@cache
def stream(seed):
    """(time, group, item) by time: many at multiples of `every`, or a microsecond off; group c falls silent."""
    rng = np.random.default_rng(seed)
    marks = START + rng.integers(0, 18, 60) * EVERY + rng.choice([-1, 0, 0, 1, 7 * SECOND], 60)
    rows = [(int(time), str(rng.choice(GROUPS)), int(rng.integers(8))) for time in np.sort(marks)]
    silent = START + 4 * EVERY, START + 11 * EVERY
    return tuple(row for row in rows if not (row[1] == "c" and silent[0] < row[0] < silent[1]))


def table(rows):
    times, groups, items = zip(*rows, strict=True)
    return pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "g": groups, "item": pa.array(items)})


def counting(**changes):
    keys = {"time": "ts", "item": "item", "windows": ["1 minute"], "every": "20 seconds", "by": ["g"], "emit": "state"}
    return {"kind": "distinct-count", **keys, **changes}


def by_moment(answers):
    """By moment, each group's state."""
    found = {}
    for at, group, state in zip(
        answers["at"].cast(pa.int64()).to_pylist(), answers["g"].to_pylist(), answers["state"].to_pylist(), strict=True
    ):
        found.setdefault(at, {})[group] = state
    return found


def items(rows, groups, since, at):
    return {item for time, group, item in rows if since <= time < at and group in groups}


def edges(rows, first, last):
    """Moments from first to last at, before and after each row, and the two ends."""
    near = {time + step for time, _, _ in rows for step in (-1, 0, 1)} | {first, first + 1, last - 1, last}
    return sorted(moment for moment in near if first <= moment <= last)


def totals(**changes):
    keys = {"time": "ts", "object": "item", "windows": ["20 seconds", "1 minute"], "every": "20 seconds", "k": 3}
    return {"kind": "heavy-hitters", **keys, "by": ["g"], "emit": "state", **changes}
