"""A query of every kind, and rows that suit them all: out of order within the delay, with ties in time and in score."""

import numpy as np
import pyarrow as pa
from skyband.queries import make_query

SECOND = 1_000_000
DELAY = 20
WINDOWS = {"window": "1 minute", "every": "15 seconds"}
WORKLOAD = [
    {"name": "quick", "window": "30 seconds", "slide": "10 seconds", "k": 2},
    {"name": "slow", "window": "2 minutes", "slide": "1 minute", "k": 5},
]
RULES = [
    {"name": "busy", "key": ["name"], "window": "30 seconds", "at_least": 4},
    {"name": "names", "key": ["origin"], "measure": "distinct name", "window": "10 seconds", "at_least": 8}
    | {"where": "value > 0.2"},
    {"name": "sides", "key": ["origin", "side"], "window": "20 seconds", "at_least": 15, "tell": "each"}
    | {"silence": "5 seconds"},
    {"name": "new", "key": ["name"], "measure": "unseen", "window": "20 seconds", "after": "1970-01-01T00:01:00Z"},
    {"name": "all", "window": "5 seconds", "at_least": 22},
    {"name": "steps", "key": ["name"], "measure": "sequence", "window": "20 seconds", "silence": "5 seconds"}
    | {"steps": ["value > 0.6", {"where": "value < 0.4", "at_least": 2, "window": "9 seconds"}]},
    {"name": "both", "key": ["origin", "side"], "measure": "sequence", "window": "5 seconds", "any_order": True}
    | {"steps": ["name < 'm'", "value > 0.9", "value < 0.1"]},
]
FEATURES = [
    {"of": "max", "column": "value"},
    {"of": "min", "column": "name", "windows": ["10 seconds"]},
    {"of": "std", "column": "value", "where": "origin <> 'air'"},
    {"of": "share", "where": "value > 0.5"},
]
SAMPLES = {"values": "samples", "probabilities": "chances", "size": 20, "alpha": 0.9}
FAMILIES = {
    "distinct-count": {"item": "name", "windows": ["30 seconds", "1 minute"], "every": "15 seconds"},
    "top-k": {"object": "name", "stream": "origin", "value": "value", "streams": ["air", "water", "soil"], "k": 4}
    | WINDOWS
    | {"repeats": "latest"},
    "top-k-pairs": {"id": "number", "tokens": "words", "similarity": "jaccard", "k": 5} | WINDOWS,
    "top-k-workload": {"object": "name", "score": "value", "queries": WORKLOAD},
    "heavy-hitters": {"object": "name", "total": "sum", "weight": "value", "unit": 0.1, "k": 6, "share": 0.02}
    | {"windows": ["30 seconds", "1 minute"], "every": "15 seconds"},
    "quantiles": {"value": "value", "at": [0.5, 0.07, 0.95], "above": [0.4]}
    | {"windows": ["30 seconds", "1 minute"], "every": "15 seconds"},
    "near-duplicates": {"id": "number", "tokens": "words", "threshold": 0.6, "window": "1 minute"}
    | {"output": "rows", "carry": ["name", "value"]},
    "near-vectors": {"id": "number", "vector": "heights", "dimensions": 3, "threshold": 0.97, "window": "1 minute"}
    | {"output": "rows", "carry": ["value"], "carry_match": ["value"]},
    "row-features": {"windows": ["30 seconds", "1 minute"], "sums": ["value"], "unit": 0.1, "distinct": ["name"]}
    | {"carry": ["number"], "features": FEATURES},
    "detections": {"detections": RULES, "carry": ["number"]},
    "uncertain-sum": SAMPLES,
    "uncertain-join": SAMPLES | {"side": "side", "id": "number", "beta": 0.2, "epsilon": 0.1},
}
LONGEST = {"top-k-workload": 120}
"""Seconds of the longest window, where it is not a minute."""


def events(seed: int, rows: int = 1500, span: int = 400) -> pa.Table:
    """Rows in the order they come, each less than the delay behind the one that is furthest."""
    rng = np.random.default_rng(seed)
    seconds = np.sort(rng.integers(0, span, rows))
    arrival = np.argsort(seconds + rng.uniform(0, DELAY, rows), kind="stable")
    samples = rng.normal(0, 1, (rows, 3)).round(1)
    table = pa.table(
        {
            "ts": pa.array(seconds * SECOND, pa.timestamp("us", "UTC")),
            "place": [f"place {i}" for i in rng.integers(0, 3, rows)],
            "number": np.arange(rows),
            "name": [f"name {i}" for i in rng.integers(0, 60, rows)],
            "origin": [["air", "water", "soil"][i] for i in rng.integers(0, 3, rows)],
            "value": rng.integers(0, 11, rows) / 10,
            "words": [[f"w{i}" for i in rng.zipf(1.5, n) % 40] for n in rng.integers(0, 7, rows)],
            "samples": list(samples),
            "chances": [[0.3, 0.3, 0.3]] * rows,
            "side": [["left", "right"][i] for i in rng.integers(0, 2, rows)],
            "heights": list(rng.normal(0, 1, (rows, 3)).round(1)),
        }
    )
    return table.take(pa.array(arrival))


def family(kind: str, **keys):
    """The query of a kind, with further keys."""
    return make_query({"kind": kind, "time": "ts", "delay": f"{DELAY} seconds", **FAMILIES[kind], **keys})
