"""Reads and checks the common parts of an object ranker's state, before a kernel runs."""

import numpy as np
from skyband.arrays import Array, Int64
from skyband.roles import ObjectRanker
from skyband.state_validation import StateReader

from skyband_incomplete.eaa_arrays import LOWEST, Rows

MOST_ROWS = 2**62
"""More than any stream has."""


def read_clock(state: StateReader) -> tuple[int | None, int]:
    """`now`, and the number of reports that broke the promise `repeats`."""
    clock = state.column("clock", np.int64).tolist()
    fine = 1 <= len(clock) <= 2 and 0 <= clock[0] <= MOST_ROWS
    state.require(fine, "clock", f"must be a count and perhaps a time (got {clock})")
    return (clock[1] if len(clock) > 1 else None), clock[0]


def latest_time(ranker: ObjectRanker) -> int:
    """The latest time that a report can have at the ranker's `now`."""
    return LOWEST - 1 if ranker.now is None else ranker.now - (ranker.by == "rows")


def read_reports(state: StateReader, ranker: ObjectRanker) -> Rows:
    """The reports retained, oldest first."""
    times = state.ascending("times", at_most=latest_time(ranker))
    streams = state.column("streams", np.int32, len(times), at_least=0, at_most=ranker.streams - 1)
    objects = state.column("objects", np.int64, len(times))
    values = state.column("values", np.float64, len(times), at_least=ranker.lower, at_most=ranker.upper)
    return Rows(times, streams, objects, values)


def places_among(state: StateReader, name: str, objects: Int64, known_objects: Int64) -> Array:
    """int64[n]: the place of each object in `known_objects`, which is ascending."""
    state.require(len(known_objects) > 0 or not len(objects), name, "must be empty, as no objects were seen")
    places = np.minimum(np.searchsorted(known_objects, objects), max(len(known_objects) - 1, 0))
    state.require(bool((known_objects[places] == objects).all()), name, "must be among the objects seen")
    return places
