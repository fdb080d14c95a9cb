"""A workload whose queries change between two runs of a stream on one checkpoint."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from skyband.engines import local
from skyband.queries import make_query

pytestmark = pytest.mark.spark

SECOND = 1_000_000
LEAVES = {"name": "leaves", "window": "30 seconds", "slide": "10 seconds", "k": 2}
STAYS = {"name": "stays", "window": "20 seconds", "slide": "15 seconds", "k": 3}
JOINS = {"name": "joins", "window": "90 seconds", "slide": "5 seconds", "k": 4}


def events(seed: int, rows: int = 900, span: int = 600) -> pa.Table:
    """Rows in order of time, two thirds of them within the first of every two minutes."""
    rng = np.random.default_rng(seed)
    seconds = rng.integers(0, span, rows)
    seconds = np.sort(np.where(rng.random(rows) < 0.66, seconds // 120 * 120 + seconds % 10, seconds))
    return pa.table(
        {
            "ts": pa.array(seconds * SECOND, pa.timestamp("us", "UTC")),
            "name": [f"name {i}" for i in rng.integers(0, 60, rows)],
            "place": [f"place {i}" for i in rng.zipf(1.6, rows) % 20],
            "value": rng.integers(0, 50, rows) / 10,
        }
    )


def microseconds(column: pa.ChunkedArray) -> np.ndarray:
    return np.asarray(column.cast(pa.int64()))


def rows_of(rows: list[dict]) -> list[tuple[str, ...]]:
    return sorted(tuple(str(value).removesuffix("+00:00") for value in row.values()) for row in rows)


@pytest.mark.parametrize(("by", "shards"), [([], 2), pytest.param(["place"], 2, marks=pytest.mark.slow)])
def test_queries_join_and_leave_between_runs(files, stream, by, shards):
    table = events(3)
    half = len(table) // 2
    keys = {"kind": "top-k-workload", "time": "ts", "by": by, "object": "name", "score": "value"}
    before = make_query({**keys, "queries": [LEAVES, STAYS]})
    after = make_query({**keys, "queries": [JOINS, STAYS]})
    folder = files(table.slice(0, half), 2)
    stream(folder, before, shards=shards)
    files(table.slice(half), 2)
    written, progress = stream(folder, after, shards=shards)
    found = [row.asDict() for row in written]

    changed, ended = (int(microseconds(table["ts"])[row]) for row in (half - 1, -1))
    whole = local.apply(table, make_query({**keys, "queries": [LEAVES, STAYS, JOINS]}))
    at, asked = microseconds(whole["at"]), np.array(whole["query"].to_pylist())
    due = np.select([asked == "leaves", asked == "stays"], [at <= changed, at <= ended], default=False)
    due |= (asked == "joins") & (at <= ended) & (at - 90 * SECOND >= changed)
    assert rows_of(found) == rows_of(whole.filter(pa.array(due)).to_pylist())
    assert set(pc.unique(whole.filter(pa.array(due))["query"]).to_pylist()) == {"leaves", "stays", "joins"}
    assert sum(entry.observedMetrics["skyband"]["rows_late"] for entry in progress) == 0
