"""The data of `skyband bench window`."""

from typing import Any

import numpy as np
import pyarrow as pa

from skyband_specs.scenario import TUPLES_OF_WINDOW, Scenario
from skyband_specs.window.streams import existences


def _make(rows: int, size: int) -> tuple[dict[str, Any], pa.Table]:
    values = 10 + np.random.default_rng(1).normal(0.0, 1.0, rows)
    query = {"kind": "uncertain-sum", "time": "at", "values": "value", "probabilities": "chance", "size": size}
    return query, pa.table({"at": np.arange(rows), "value": values, "chance": existences(1, rows, 0.1)})


SCENARIO = Scenario(
    "Dallachiesa et al.'s existential uncertainty, deviation 0.1", TUPLES_OF_WINDOW, (50, 200, 800), 10_000, _make
)
