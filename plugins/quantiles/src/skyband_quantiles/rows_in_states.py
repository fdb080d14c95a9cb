"""Rows in a state: the first time, the steps between times, and the values, sorted by time and value."""

import numpy as np
from skyband.arrays import Array, Float64, Int64
from skyband.state_validation import StateReader

from skyband_quantiles import varints
from skyband_quantiles.sketch_parameters import LONGEST


def rows_to_state(times: Int64, values: Float64) -> dict[str, Array]:
    """The arrays for rows sorted by time and then value."""
    return {"start": times[:1].copy(), "times": varints.to_bytes(np.diff(times)), "values": values}


def rows_from_state(reader: StateReader, latest: int | None) -> tuple[Int64, Float64]:
    """The rows of a state. Raises SnapshotError if no sketch with its last row at `latest` can have them."""
    values = reader.column("values", np.float64, at_least=-np.inf, at_most=np.inf)
    start = reader.column("start", np.int64, min(len(values), 1), at_least=-2 * LONGEST, at_most=2 * LONGEST)
    steps = varints.from_bytes("times", reader.column("times", np.uint8), max(len(values) - 1, 0))
    if not len(values):
        return np.empty(0, np.int64), np.empty(0)
    far = float(steps.astype(np.float64).sum()) > 5 * LONGEST
    reader.require(not far, "times", "must be from -2**62 to 2**62")
    times = start[0] + np.concatenate([np.zeros(1, np.int64), np.cumsum(steps)])
    reader.require(latest is not None and int(times[-1]) <= latest, "times", f"must be at most {latest}")
    falls = (times[1:] == times[:-1]) & (values[1:] < values[:-1])
    reader.require(not falls.any(), "values", "must be ascending where times are equal")
    return times, values + 0.0
