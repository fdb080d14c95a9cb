"""The streams of `skyband bench key-total`: bytes of hosts, most of them of a few."""

from typing import Any

import numpy as np
import pyarrow as pa
from skyband_specs.scenario import ROW_MICROSECONDS, ROWS_OF_WINDOW, Scenario


def _make(rows: int, window: int) -> tuple[dict[str, Any], pa.Table]:
    rng = np.random.default_rng(1)
    table = pa.table(
        {
            "at": pa.array(np.arange(rows) * ROW_MICROSECONDS, pa.timestamp("us")),
            "user": rng.zipf(1.3, rows) % 50_000,
            "bytes": rng.integers(1, 1000, rows),
        }
    )
    length = f"{max(window * ROW_MICROSECONDS // 60_000_000, 1)} minutes"
    rule = {"name": "bytes", "key": ["user"], "measure": "sum bytes", "window": length, "at_least": 2_000}
    return {"kind": "detections", "time": "at", "detections": [rule]}, table


SCENARIO = Scenario("bytes by user: 2,000", ROWS_OF_WINDOW, (1_000, 10_000, 100_000), 400_000, _make)
