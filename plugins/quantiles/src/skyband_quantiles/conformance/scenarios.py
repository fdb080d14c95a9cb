"""The streams of `skyband bench quantile-sketch`: lognormal latencies."""

from typing import Any

import numpy as np
import pyarrow as pa
from skyband_specs.scenario import Scenario


def _make(rows: int, window: int) -> tuple[dict[str, Any], pa.Table]:
    values = np.exp(np.random.default_rng(1).normal(np.log(40), 1, rows))
    query = {"kind": "quantiles", "time": "number", "value": "millis", "at": [0.5, 0.95, 0.99]}
    query |= {"windows": [f"{window} rows"], "every": f"{max(window // 20, rows // 400, 1)} rows"}
    return query, pa.table({"number": np.arange(rows), "millis": values})


SCENARIO = Scenario(
    "lognormal latencies, p50, p95 and p99", "rows of the window", (1_000, 10_000, 100_000), 400_000, _make
)
