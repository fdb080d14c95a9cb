"""The sample in a state of quantile-sketch/k-skb: time steps, random numbers and values, by descending time."""

import numpy as np
from skyband.arrays import Float64, Int64, UInt64
from skyband.state_validation import StateReader

from skyband_quantiles import varints
from skyband_quantiles.sketch_parameters import LONGEST

Sample = tuple[Int64, UInt64, Float64]
"""Times, random numbers and values, by descending time."""
EMPTY: Sample = (np.empty(0, np.int64), np.empty(0, np.uint64), np.empty(0))


def sample_in(reader: StateReader, latest: int | None) -> Sample:
    """The sample in a state, by descending time. Raises SnapshotError if it is wrong."""
    values = reader.column("values", np.float64, at_least=-np.inf, at_most=np.inf)
    scores = reader.column("scores", np.uint64, len(values))
    end = reader.column("end", np.int64, min(len(values), 1))
    steps = varints.from_bytes("times", reader.column("times", np.uint8), max(len(values) - 1, 0))
    if not len(values):
        return EMPTY
    reader.require(latest is not None and -2 * LONGEST <= int(end[0]) <= latest, "end", f"must be at most {latest}")
    reader.require(float(steps.astype(np.float64).sum()) <= 5 * LONGEST, "times", "must be from -2**62 to 2**62")
    times = end[0] - np.concatenate([np.zeros(1, np.int64), np.cumsum(steps)])
    return times, scores, values + 0.0
