"""The views of a meta query as flat arrays: which exist, how many objects each holds, and what it takes to get in."""

from typing import NamedTuple

import numpy as np
from skyband.arrays import Array
from skyband.kernels.nested import nested_njit

from skyband_workload.scheduler import Plan

NOWHERE = -1
MOST_WINDOWS = 1 << 24
"""Windows open at once: each is a view, or an output of one, of about 100 bytes."""


class Views(NamedTuple):
    """Views in order of start, each array with one entry a view, but for the plan's outputs `at` and `later_k`."""

    start: Array
    output: Array
    """The view's next output in `at`."""
    end: Array
    """One past its last output."""
    k: Array
    """K(s): the most objects it may hold, 0 once its last output has passed."""
    held: Array
    """How many it holds."""
    gate: Array
    """A score below this cannot get in: that of its last object once it is full."""
    place: Array
    """Where its objects are: its last object (MTopList) or its row of lists (MTopBand)."""
    at: Array
    later_k: Array


def planned(plan: Plan) -> Views:
    """The views of a plan, holding nothing."""
    size = len(plan.start)
    k, held, gate = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size)
    place = np.full(size, NOWHERE, np.int32)
    return Views(plan.start, plan.offsets[:-1].copy(), plan.offsets[1:], k, held, gate, place, plan.at, plan.k)


def carry_over(old: Views, created: int, new: Views) -> None:
    """Give the new views what the old ones with the same start hold; those that ended are not among the new."""
    alive = np.flatnonzero(old.k[:created] > 0)
    there = np.searchsorted(new.start, old.start[alive])
    for mine, theirs in ((old.k, new.k), (old.held, new.held), (old.gate, new.gate), (old.place, new.place)):
        theirs[there] = mine[alive]


@nested_njit
def pass_outputs(views: Views, view: int, now: int) -> None:
    """Let K(s) fall to what the outputs after `now` need."""
    output = views.output[view]
    while output < views.end[view] and views.at[output] <= now:
        output += 1
    views.output[view] = output
    views.k[view] = views.later_k[output] if output < views.end[view] else 0


@nested_njit
def begin_views(views: Views, created: int, time: int) -> int:
    """Create the views that a row at `time` is the first to fall into; returns how many there are now."""
    while created < len(views.start) and views.start[created] <= time:
        pass_outputs(views, created, time)
        views.gate[created] = -np.inf if views.k[created] else np.inf
        created += 1
    return created


@nested_njit
def oldest_alive(k: Array, oldest: int, created: int) -> int:
    """The first view from `oldest` on that has outputs to come: those before it have ended, and stay so."""
    while oldest < created and k[oldest] == 0:
        oldest += 1
    return oldest


@nested_njit
def lowest_gate(gate: Array, oldest: int, created: int) -> float:
    """The score below which no view takes a row; the youngest view as a rule has the lowest gate."""
    lowest = np.inf if created == oldest else gate[created - 1]
    if lowest == -np.inf:
        return float(lowest)
    for view in range(oldest, created - 1):
        if gate[view] < lowest:
            lowest = gate[view]
    return float(lowest)
