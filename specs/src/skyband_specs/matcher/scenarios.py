"""The data of `skyband bench matcher`."""

from typing import Any

import numpy as np
import pyarrow as pa

from skyband_specs.matcher.streams import perturbed
from skyband_specs.scenario import TUPLES_OF_WINDOW, Scenario


def _make(rows: int, size: int) -> tuple[dict[str, Any], pa.Table]:
    walk = np.cumsum(np.random.default_rng(2).normal(0.0, 1.0, rows))
    offsets, values, chances = perturbed(walk, 1, samples=5).flat(0, rows)
    lists = [pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(part)) for part in (values, chances)]
    columns = {"time": "at", "side": "side", "id": "at", "values": "values", "probabilities": "chances"}
    query = {"kind": "uncertain-join", **columns, "size": size, "epsilon": 0.2, "beta": 0.3}
    return query, pa.table(
        {"at": np.arange(rows), "side": np.arange(rows) % 2, "values": lists[0], "chances": lists[1]}
    )


SCENARIO = Scenario(
    "a random walk, each step five uncertain samples, epsilon 0.2", TUPLES_OF_WINDOW, (50, 200, 800), 10_000, _make
)
