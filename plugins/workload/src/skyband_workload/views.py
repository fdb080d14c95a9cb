"""The views of a meta query as flat arrays: their starts, numbers of objects and gates."""

from typing import NamedTuple

import numpy as np
from skyband.arrays import Array, Float64, Int64
from skyband.kernels.nested import nested_njit

from skyband_workload.scheduler import Plan

NOWHERE = -1
MOST_WINDOWS = 1 << 24
"""The most open windows: each is a view, or an output of one, of about 100 bytes."""


class Views(NamedTuple):
    """Views in order of start; arrays have an entry for each view, except the plan's outputs `at` and `later_k`."""

    start: Array
    output: Array
    """The view's next output in `at`."""
    end: Array
    """One past its last output."""
    k: Array
    """K(s): the most objects it may hold, 0 once its last output has passed."""
    held: Array
    """The number of objects it holds."""
    gate: Array
    """A row with a score below this cannot enter: that of its last object once it is full."""
    place: Array
    """Where its objects are: its last object (MTopList) or its row of lists (MTopBand)."""
    at: Array
    later_k: Array


def planned(plan: Plan) -> Views:
    """The views of a plan, still empty."""
    size = len(plan.start)
    k, held, gate = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size)
    place = np.full(size, NOWHERE, np.int32)
    return Views(plan.start, plan.offsets[:-1].copy(), plan.offsets[1:], k, held, gate, place, plan.at, plan.k)


def carry_over(old: Views, created: int, new: Views) -> None:
    """Copy the state of old views that have not ended to the new views with the same starts."""
    alive = np.flatnonzero(old.k[:created] > 0)
    places = np.searchsorted(new.start, old.start[alive])
    for column, target in ((old.k, new.k), (old.held, new.held), (old.gate, new.gate), (old.place, new.place)):
        target[places] = column[alive]


@nested_njit
def pass_outputs(views: Views, view: int, now: int) -> None:
    """Reduce K(s) to what the outputs after `now` need."""
    output = views.output[view]
    while output < views.end[view] and views.at[output] <= now:
        output += 1
    views.output[view] = output
    views.k[view] = views.later_k[output] if output < views.end[view] else 0


@nested_njit
def begin_views(views: Views, created: int, time: int) -> int:
    """Create the views whose first row is at `time`; returns the new number of views."""
    while created < len(views.start) and views.start[created] <= time:
        pass_outputs(views, created, time)
        views.gate[created] = -np.inf if views.k[created] else np.inf
        created += 1
    return created


@nested_njit
def oldest_alive(k: Array, oldest: int, created: int) -> int:
    """The first view from `oldest` on with future outputs; those before it have ended for good."""
    while oldest < created and k[oldest] == 0:
        oldest += 1
    return oldest


@nested_njit
def lowest_gate(gate: Array, oldest: int, created: int) -> float:
    """The score below which no view accepts a row; usually the youngest view has the lowest gate."""
    lowest = np.inf if created == oldest else gate[created - 1]
    if lowest == -np.inf:
        return float(lowest)
    for view in range(oldest, created - 1):
        if gate[view] < lowest:
            lowest = gate[view]
    return float(lowest)


@nested_njit
def oldest_and_floor(k: Array, gate: Array, oldest: int, created: int) -> tuple[int, float]:
    """`oldest_alive`, and the `lowest_gate` from it on."""
    oldest = oldest_alive(k, oldest, created)
    return oldest, lowest_gate(gate, oldest, created)


@nested_njit
def with_room(objects: Int64, scores: Float64, filled: int, size: int) -> tuple[Int64, Float64]:
    """The columns of answers with room for `size` more than the `filled` first."""
    if filled + size <= len(objects):
        return objects, scores
    more = filled + 2 * size
    return (
        np.concatenate((objects[:filled], np.empty(more, np.int64))),
        np.concatenate((scores[:filled], np.empty(more, np.float64))),
    )
