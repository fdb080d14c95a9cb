"""What `skyband verify query/mine` tries it on: late rows, ties in time and value, and a quiet time."""

from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
from skyband.queries.example import QueryExample


def _rows(seed: int, count: int = 150) -> pa.Table:
    rng = np.random.default_rng(seed)
    seconds = np.sort(rng.integers(0, 60, count)) + 600 * (np.arange(count) > 100)
    arrival = np.argsort(seconds + rng.uniform(0, 5, count))  # each row comes less than the delay after its time
    columns = {"ts": pa.array(seconds * 1_000_000, pa.timestamp("us", "UTC")), "size": rng.integers(-9, 10, count)}
    return pa.table(columns).take(pa.array(arrival))


WINDOW, EVERY = timedelta(seconds=20), timedelta(seconds=5)


def oracle(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The answers by the definition, by brute force: what no check of all queries can know."""
    times = [row["ts"] for row in rows]
    moments = {_moment_after(time) + place * EVERY for time in times for place in range(WINDOW // EVERY)}
    return [
        {"at": at, "sum": sum(row["size"] for row in rows if at - WINDOW <= row["ts"] < at)}
        for at in sorted(moments)
        if at <= _moment_after(max(times))
    ]


def _moment_after(time: datetime) -> datetime:
    """The first multiple of EVERY since 1970 that is after `time`."""
    return time + EVERY - (time - datetime.fromtimestamp(0, time.tzinfo)) % EVERY


_SUMS = {"time": "ts", "value": "size", "delay": "5 seconds"}

EXAMPLES = (
    QueryExample({**_SUMS, "window": "20 seconds", "every": "5 seconds"}, _rows(1), oracle=oracle),
    QueryExample({**_SUMS, "window": "30 rows", "every": "7 rows"}, _rows(2)),
)
