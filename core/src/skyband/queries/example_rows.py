"""Rows for the examples of queries: late ones, ties in time and score, quiet times, columns of every kind."""

from typing import Any

import numpy as np
import pyarrow as pa

from skyband.queries.example import QueryExample

_SECOND = 1_000_000
_DELAY = 20
_ROWS = 120
_EPOCH = 1_750_000_005 * _SECOND


def rows(seed: int = 1, count: int = _ROWS) -> pa.Table:
    """Rows that suit most queries, each later than the newest by less than the delay, and two quiet times."""
    rng = np.random.default_rng(seed)
    seconds = np.sort(rng.integers(0, count // 2, count))
    seconds += 300 * (seconds > count // 5) + 4_000 * (seconds > count // 3)
    arrival = np.argsort(seconds + rng.uniform(0, _DELAY, count), kind="stable")
    table = pa.table(
        {
            "ts": pa.array(_EPOCH + seconds * _SECOND, pa.timestamp("us", "UTC")),
            "number": np.arange(count),
            "name": [f"name {i}" for i in rng.integers(0, 30, count)],
            "origin": [["air", "water", "soil"][i] for i in rng.integers(0, 3, count)],
            "value": rng.integers(0, 11, count) / 10,
            "words": [[f"w{i}" for i in rng.zipf(1.5, n) % 40] for n in rng.integers(0, 7, count)],
            "samples": list(rng.normal(0, 1, (count, 3)).round(1)),
            "chances": [[0.3, 0.3, 0.3]] * count,
            "side": [["left", "right"][i] for i in rng.integers(0, 2, count)],
            "heights": list(rng.normal(0, 1, (count, 3)).round(1)),
        }
    )
    return table.take(pa.array(arrival))


def examples(*keys: dict[str, Any], **options: Any) -> tuple[QueryExample, ...]:
    """An example of each set of keys, with `time` and `delay`, on rows of its own; options as of `QueryExample`."""
    common = {"time": "ts", "delay": f"{_DELAY} seconds"}
    return tuple(QueryExample({**common, **some}, rows(seed), **options) for seed, some in enumerate(keys, 1))
