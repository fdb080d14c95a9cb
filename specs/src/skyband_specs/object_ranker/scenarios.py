"""The data of `skyband bench object-ranker`."""

from typing import Any

import pyarrow as pa

from skyband_specs.object_ranker.streams import paper
from skyband_specs.scenario import ROWS_OF_WINDOW, Scenario


def _make(rows: int, window: int) -> tuple[dict[str, Any], pa.Table]:
    stream = paper(1, rows, 3)
    query = {"kind": "top-k", "time": "at", "object": "object", "stream": "stream", "value": "value", "k": 10}
    query |= {
        "repeats": "never",
        "streams": [0, 1, 2],
        "window": f"{window} rows",
        "every": f"{max(window // 20, rows // 400, 1)} rows",
    }
    columns = {"at": stream.times, "object": stream.objects, "stream": stream.streams, "value": stream.values}
    return query, pa.table(columns)


SCENARIO = Scenario(
    "Haghani et al.'s generator: three streams, top 10", ROWS_OF_WINDOW, (500, 2_000, 8_000), 50_000, _make
)
