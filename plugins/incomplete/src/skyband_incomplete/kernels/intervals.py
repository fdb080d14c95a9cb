"""Computes the interval of every instance: `current`, its score now, and `best`, the most it can reach in its life.

An instance is what is left of an object after its older reports have expired: one for each moment at which it
reported. Sums run from the newest report to the oldest and from the first stream to the last, and are never updated
in place, so that a score does not depend on history.
"""

import numpy as np
from numba import njit
from skyband.kernels.nested import nested_njit

from skyband_incomplete.eaa_arrays import CHANGED, HEAD, IS_CHANGED, NEWEST
from skyband_incomplete.score_kernels import score_of


@njit(cache=True, nogil=True, inline="always")
def _reach(total, fresh, reported, chance, once, most, upper, slack):
    """The most that an instance can reach in a stream, in which it has `total` from `fresh` reports."""
    if fresh == most or (once and reported):
        return total
    room = (most - fresh) * upper
    return (total + (room if reported else room * chance)) * slack


@njit(cache=True, nogil=True, inline="always")
def _bounds(counts, fresh, rule, present, reachable):
    """The values that an instance can reach from its present ones, float64[streams]."""
    stream_set = np.int64(0)
    chance = 1.0
    chances = rule.chances
    if len(chances):
        for stream in range(len(present)):
            stream_set |= np.int64(counts[stream] > 0) << stream
        stream_set &= len(chances) - 1
    for stream in range(len(present)):
        if len(chances):
            chance = chances[stream_set, stream]
        reported = counts[stream] > 0
        reachable[stream] = _reach(
            present[stream], fresh[stream], reported, chance, rule.once, rule.most, rule.upper, rule.slack
        )


@njit(cache=True, nogil=True, inline="always")
def _gather(last, first, reports, present, fresh):
    """Add an object's reports of one moment, the newest at `last`; returns the place of its report before them."""
    at = last
    while at >= first and reports.time[at] == reports.time[last]:
        present[reports.stream[at]] += reports.value[at]
        fresh[reports.stream[at]] += 1
        at = reports.previous[at]
    return at


@nested_njit(nogil=True)
def intervals(rule, cursor, reports, slots):
    """Compute the intervals of the changed objects. O(their reports · streams)."""
    present, reachable = np.empty(len(rule.weights)), np.empty(len(rule.weights))
    fresh = np.empty(len(rule.weights), np.int64)
    first = cursor[HEAD]
    for turn in range(cursor[CHANGED]):
        slot = slots.changed[turn]
        slots.facts[slot, IS_CHANGED] = 0
        present[:] = 0.0
        fresh[:] = 0
        at = slots.facts[slot, NEWEST]
        while at >= first:
            before = _gather(at, first, reports, present, fresh)
            _bounds(slots.counts[slot], fresh, rule, present, reachable)
            current = score_of(present, rule.kind, rule.weights, rule.divisor)
            best = score_of(reachable, rule.kind, rule.weights, rule.divisor)
            while at != before:
                reports.current[at], reports.best[at] = current, best
                at = reports.previous[at]
    cursor[CHANGED] = 0


@njit(cache=True, nogil=True)
def vectors(rule, cursor, reports, slots, which, present, reachable):
    """The values behind `intervals`, for a score that is not compiled: float64[n, streams] each.

    Row i belongs to report which[i]. Returns n.
    """
    fresh = np.empty(len(rule.weights), np.int64)
    first = cursor[HEAD]
    count = 0
    for turn in range(cursor[CHANGED]):
        slot = slots.changed[turn]
        slots.facts[slot, IS_CHANGED] = 0
        fresh[:] = 0
        total = np.zeros(len(rule.weights))
        at = slots.facts[slot, NEWEST]
        while at >= first:
            before = _gather(at, first, reports, total, fresh)
            while at != before:
                present[count] = total
                _bounds(slots.counts[slot], fresh, rule, total, reachable[count])
                which[count] = at
                count += 1
                at = reports.previous[at]
    cursor[CHANGED] = 0
    return count
