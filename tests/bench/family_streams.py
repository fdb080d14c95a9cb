"""A stream for each family that its benches share: the query's keys, and rows in order of time over 1000 seconds."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import frozen
from skyband_specs.matcher.streams import perturbed
from skyband_specs.object_ranker.streams import paper
from skyband_specs.pair_ranker.streams import zipf
from skyband_specs.window.streams import existences

SECONDS = 1000
STREAMS = 3
MINUTES = {1: (1,), 5: (1, 5), 15: (1, 5, 15), 30: (1, 5, 15), 60: (1, 5, 15)}
"""Windows of a workload, and the slides each is asked with."""


@frozen
class Family:
    """A query but for its time column `ts`, and what makes its rows: rows -> table with `ts`."""

    keys: dict[str, Any]
    make: Callable[[int], pa.Table]

    @property
    def query(self) -> dict[str, Any]:
        """All keys."""
        return {"time": "ts", **self.keys}


def workload(count: int) -> list[dict[str, Any]]:
    """Queries with windows and slides as people ask for them, so that many share theirs."""
    rng = np.random.default_rng(1)
    pairs = [(window, slide) for window, slides in MINUTES.items() for slide in slides]
    picked = [pairs[place] for place in rng.integers(0, len(pairs), count)]
    return [
        {"name": f"q{n}", "window": f"{window} minutes", "slide": f"{slide} minutes", "k": int(rng.integers(1, 51))}
        for n, (window, slide) in enumerate(picked)
    ]


def stamped(rows: int, columns: dict[str, Any], seconds: int = SECONDS) -> pa.Table:
    """The columns with times at an even rate."""
    times = np.arange(rows) * (seconds * 1_000_000) // rows
    return pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), **columns})


def requests(rows: int) -> pa.Table:
    """Requests of Zipf clients."""
    return stamped(rows, {"client": np.random.default_rng(1).zipf(1.3, rows) % 200_000})


def pages(rows: int) -> pa.Table:
    """Requests of 100,000 customers, each of a page by Zipf's law."""
    rng = np.random.default_rng(1)
    return stamped(rows, {"customer": rng.integers(0, 100_000, rows), "page": rng.zipf(1.3, rows) % 1000})


def reports(rows: int, seconds: int = SECONDS) -> pa.Table:
    """Haghani et al.'s generator."""
    stream = paper(1, rows, STREAMS)
    return stamped(rows, {"object": stream.objects, "stream": stream.streams, "value": stream.values}, seconds)


def scores(rows: int) -> pa.Table:
    """Objects that come once, no two scores alike, over four hours."""
    columns = {"object": np.arange(rows), "score": np.random.default_rng(2).random(rows)}
    return stamped(rows, columns, 4 * 3600)


def sets(rows: int) -> pa.Table:
    """Sets of 12 tokens by Zipf's law, a tenth of them near-duplicates."""
    offsets, tokens = zipf(1, rows).flat(0, rows)
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(tokens))
    return stamped(rows, {"id": np.arange(rows), "tokens": lists})


def readings(rows: int) -> pa.Table:
    """A value each, and the probability that it exists, of deviation 0.1."""
    return stamped(rows, {"value": _walk(rows), "chance": existences(1, rows, 0.1)})


def sides(rows: int) -> pa.Table:
    """Tuples of five samples, in turn of the left and of the right."""
    stream = perturbed(_walk(rows), 1, samples=5)
    offsets, values, chances = stream.flat(0, rows)
    cuts = pa.array(offsets, pa.int32())
    values, chances = (pa.ListArray.from_arrays(cuts, pa.array(part)) for part in (values, chances))
    side = pa.array(np.where(np.arange(rows) % 2, "right", "left"))
    return stamped(rows, {"side": side, "id": np.arange(rows), "values": values, "chances": chances})


def _walk(rows: int) -> Any:
    return np.random.default_rng(3).normal(0.0, 10.0, rows)


OVER = {"window": "100 seconds", "every": "10 seconds"}
FAMILIES = {
    "distinct-count": Family(
        {"kind": "distinct-count", "item": "client", "windows": ["100 seconds"], "every": "1 second"}, requests
    ),
    "heavy-hitters": Family(
        {"kind": "heavy-hitters", "object": "client", "windows": ["100 seconds"], "every": "1 second", "k": 10},
        requests,
    ),
    "heavy-hitters by group": Family(
        {"kind": "heavy-hitters", "by": ["customer"], "object": "page", "k": 10}
        | {"windows": ["100 seconds"], "every": "20 seconds"},
        pages,
    ),
    "near-duplicates": Family(
        {"kind": "near-duplicates", "id": "id", "tokens": "tokens", "threshold": 0.7, "window": "100 seconds"}, sets
    ),
    "top-k": Family(
        {"kind": "top-k", "object": "object", "stream": "stream", "value": "value", "streams": list(range(STREAMS))}
        | {"k": 10, "repeats": "never", **OVER},
        reports,
    ),
    "top-k-workload": Family(
        {"kind": "top-k-workload", "object": "object", "score": "score", "queries": workload(100)}, scores
    ),
    "top-k-pairs": Family(
        {"kind": "top-k-pairs", "id": "id", "tokens": "tokens", "similarity": "jaccard", "k": 10, **OVER}, sets
    ),
    "uncertain-sum": Family(
        {"kind": "uncertain-sum", "values": "value", "probabilities": "chance", "size": 1000, "alpha": 0.95}, readings
    ),
    "uncertain-join": Family(
        {"kind": "uncertain-join", "side": "side", "id": "id", "values": "values", "probabilities": "chances"}
        | {"size": 500, "alpha": 0.95, "beta": 0.5, "epsilon": 0.5},
        sides,
    ),
}
"""By kind of query."""
