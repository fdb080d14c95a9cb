"""The data that `skyband bench set-matcher` measures on."""

from typing import Any

import pyarrow as pa
from skyband_specs.pair_ranker.streams import zipf
from skyband_specs.scenario import ROWS_OF_WINDOW, Scenario


def _make(rows: int, window: int) -> tuple[dict[str, Any], pa.Table]:
    stream = zipf(1, rows)
    offsets, tokens = stream.flat(0, rows)
    sets = pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(tokens))
    query = {"kind": "near-duplicates", "time": "at", "id": "at", "tokens": "tokens", "threshold": 0.8}
    query["window"] = f"{window} rows"
    return query, pa.table({"at": stream.times, "tokens": sets})


SCENARIO = Scenario(
    "sets of 12 tokens by Zipf's law, a tenth near-duplicates, threshold 0.8",
    ROWS_OF_WINDOW,
    (250, 1_000, 4_000),
    20_000,
    _make,
)
