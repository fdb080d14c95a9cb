"""The data of `skyband bench sketch`."""

from typing import Any

import pyarrow as pa

from skyband_specs.scenario import ROW_MICROSECONDS, ROWS_OF_WINDOW, Scenario
from skyband_specs.sketch.streams import paper_random


def _make(rows: int, window: int) -> tuple[dict[str, Any], pa.Table]:
    stream = paper_random(1, rows, 0.5)
    query = {"kind": "distinct-count", "time": "at", "item": "key", "windows": [_minutes(window)]}
    step = max(window // 40, rows // 400) // 10 * 10 or 10
    return {**query, "every": _minutes(step)}, pa.table({"at": _times(stream.times), "key": stream.keys})


def _minutes(rows: int) -> str:
    return f"{max(rows * ROW_MICROSECONDS // 60_000_000, 1)} minutes"


def _times(rows: Any) -> pa.Array:
    return pa.array(rows * ROW_MICROSECONDS, pa.timestamp("us"))


SCENARIO = Scenario(
    "Zhang et al.'s Random: half the keys repeated", ROWS_OF_WINDOW, (1_000, 10_000, 100_000), 200_000, _make
)
