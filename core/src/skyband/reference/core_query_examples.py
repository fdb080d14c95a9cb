"""Examples of core's queries, which their conformance checks run on: late rows, ties in time and score, quiet times."""

from typing import Any

import numpy as np
import pyarrow as pa
from attrs import evolve

from skyband.queries.example import QueryExample

_SECOND = 1_000_000
_DELAY = 20
_ROWS = 120
_EPOCH = 1_750_000_005 * _SECOND
_WINDOWS = {"window": "1 minute", "every": "15 seconds"}
_SAMPLES = {"values": "samples", "probabilities": "chances", "size": 12, "alpha": 0.9}
_BY_TIME = {"values": "samples", "probabilities": "chances", "window": "10 seconds"}
_BY_CHANGE = {"values": "samples", "probabilities": "chances", "delta": 1.5, "alpha": 0.9}
_JOINED = {"side": "side", "id": "number", "beta": 0.2, "epsilon": 0.1}
_POINTS = {"values": ["samples", "heights"], "epsilon": 0.6}
_RANGES = {"value": "value", "ranges": [[0, 0.5], [0.5, 1], [1, float("inf")]]}
_WORKLOAD = [
    {"name": "quick", "window": "30 seconds", "slide": "10 seconds", "k": 2},
    {"name": "slow", "window": "2 minutes", "slide": "1 minute", "k": 5},
]


def rows(seed: int = 1, count: int = _ROWS) -> pa.Table:
    """Rows that suit every query of core, each later than the newest by less than the delay, and two quiet times."""
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


def _examples(*keys: dict[str, Any]) -> tuple[QueryExample, ...]:
    common = {"time": "ts", "delay": f"{_DELAY} seconds"}
    return tuple(QueryExample({**common, **chosen}, rows(seed)) for seed, chosen in enumerate(keys, 1))


_TOP_K = {"object": "name", "stream": "origin", "value": "value", "streams": ["air", "water", "soil"], "k": 4}
_PAIRS = {"id": "number", "tokens": "words", "similarity": "jaccard", "k": 5}

DISTINCT_COUNT = _examples(
    {"item": "name", "windows": ["30 seconds", "1 minute"], "every": "15 seconds"},
    {"item": "name", "windows": ["20 rows"], "every": "7 rows"},
) + tuple(
    evolve(example, backends={"sketch": "k-skb"})
    for example in _examples(
        {"item": "name", "windows": ["30 seconds", "1 minute"], "every": "15 seconds", **_RANGES},
        {"item": "name", "windows": ["20 rows"], "every": "7 rows", **_RANGES},
    )
)
TOP_K = _examples(
    {**_TOP_K, **_WINDOWS, "repeats": "per-window"},
    {**_TOP_K, "window": "50 rows", "every": "9 rows", "aggregate": "max"},
)
TOP_K_PAIRS = _examples(
    {**_PAIRS, **_WINDOWS},
    {**_PAIRS, **_WINDOWS, "side": "side"},
)
TOP_K_WORKLOAD = _examples({"object": "name", "score": "value", "queries": _WORKLOAD})
UNCERTAIN_SUM = _examples(
    _SAMPLES | {"statistics": ["count", "average"]},
    _BY_TIME,
    _BY_CHANGE | {"statistics": ["average"]},
)
UNCERTAIN_JOIN = _examples(
    _SAMPLES | _JOINED,
    _BY_TIME | _JOINED,
    {key: value for key, value in (_BY_CHANGE | _JOINED).items() if key != "side"},
    _SAMPLES | _JOINED | _POINTS,
)
