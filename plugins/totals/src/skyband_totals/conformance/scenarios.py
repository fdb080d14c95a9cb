"""The scenario of `skyband bench total-ranker`: objects by Zipf's law, one in three of them rare."""

from typing import Any

import numpy as np
import pyarrow as pa
from skyband_specs.scenario import Scenario


def _make(rows: int, window: int) -> tuple[dict[str, Any], pa.Table]:
    objects = np.random.default_rng(1).zipf(1.2, rows) % 1_000_000
    query = {"kind": "heavy-hitters", "time": "at", "object": "object", "k": 10, "windows": [f"{window} rows"]}
    query["every"] = f"{max(window // 20, rows // 400, 1)} rows"
    return query, pa.table({"at": np.arange(rows), "object": objects})


SCENARIO = Scenario(
    "objects by Zipf's law with exponent 1.2, top 10", "rows of the window", (1_000, 10_000, 50_000), 200_000, _make
)
