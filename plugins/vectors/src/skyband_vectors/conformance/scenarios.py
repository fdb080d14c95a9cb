"""The data that `skyband bench vector-matcher` measures on."""

from typing import Any

import numpy as np
import pyarrow as pa
from skyband_specs.scenario import ROWS_OF_WINDOW, Scenario

from skyband_vectors.conformance.streams import clustered

DIMENSIONS = 128


def _make(rows: int, window: int) -> tuple[dict[str, Any], pa.Table]:
    stream = clustered(1, rows, DIMENSIONS, near=0.1)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(stream.vectors.reshape(-1)), DIMENSIONS)
    query = {"kind": "near-vectors", "time": "at", "id": "at", "vector": "vector", "dimensions": DIMENSIONS}
    return query | {"threshold": 0.9, "window": f"{window} rows"}, pa.table({"at": np.arange(rows), "vector": vectors})


SCENARIO = Scenario(
    "vectors of 128 dimensions as of texts, a tenth near-duplicates, cosine 0.9",
    ROWS_OF_WINDOW,
    (250, 1_000, 4_000),
    8_000,
    _make,
)
