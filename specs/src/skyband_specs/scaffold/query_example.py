"""What `skyband verify query/mine` tries it on: late rows, ties in time and value, and a quiet time."""

import numpy as np
import pyarrow as pa
from skyband.queries.example import QueryExample


def _rows(seed: int, count: int = 150) -> pa.Table:
    rng = np.random.default_rng(seed)
    seconds = np.sort(rng.integers(0, 60, count)) + 600 * (np.arange(count) > 100)
    arrival = np.argsort(seconds + rng.uniform(0, 5, count))  # each row comes less than the delay after its time
    columns = {"ts": pa.array(seconds * 1_000_000, pa.timestamp("us", "UTC")), "size": rng.integers(-9, 10, count)}
    return pa.table(columns).take(pa.array(arrival))


EXAMPLES = (
    QueryExample({"time": "ts", "value": "size", "window": "20 seconds", "every": "5 seconds", "delay": "5 seconds"},
                 _rows(1)),
    QueryExample({"time": "ts", "value": "size", "window": "30 rows", "every": "7 rows", "delay": "5 seconds"},
                 _rows(2)),
)  # fmt: skip
