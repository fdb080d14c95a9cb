"""The data of `skyband bench workload-ranker`."""

from typing import Any

import pyarrow as pa

from skyband_specs.scenario import ROWS_OF_WINDOW, Scenario
from skyband_specs.workload_ranker.streams import steady


def _make(rows: int, window: int) -> tuple[dict[str, Any], pa.Table]:
    stream = steady(True, rows)
    shapes = [(1, 10, 100), (1, 20, 10), (2, 20, 50), (4, 20, 10), (4, 40, 100), (10, 40, 5)]
    queries = [
        {"name": f"top {k} of {window // part}", "k": k, "window": f"{window // part} rows",
         "slide": f"{max(window // step, 1)} rows"}
        for part, step, k in shapes
    ]  # fmt: skip
    query = {"kind": "top-k-workload", "time": "at", "object": "object", "score": "score", "queries": queries}
    return query, pa.table({"at": stream.times, "object": stream.objects, "score": stream.scores})


SCENARIO = Scenario(
    "scores at random, six queries of windows down to a tenth",
    ROWS_OF_WINDOW,
    (1_000, 10_000, 50_000),
    200_000,
    _make,
)
