"""Sweeps from the newest report to the oldest: finds live instances and the top k, and drops doomed reports.

An instance is doomed once k other objects have a later instance with a current above its best.
"""

import numpy as np
from numba import njit
from skyband.kernels.nested import shared_njit

from skyband_incomplete.eaa_arrays import HEAD, INSTANCES, NEWEST, TAIL
from skyband_incomplete.kernels.heap import drain, offer
from skyband_incomplete.kernels.insertion import insert
from skyband_incomplete.kernels.intervals import intervals


@shared_njit(nogil=True)
def rank(rule, cursor, reports, slots, heap):
    """One pass from the newest report to the oldest: finds live instances and the top k. O(reports · log k).

    The k-th best current of later moments dooms every instance whose best is below it. An object's own later
    instances never count against it, as their current is at most its best. Returns how many reports are doomed.
    """
    heap.size[0] = 0
    first, last, k = cursor[HEAD], cursor[TAIL] - 1, rule.k
    time, _, slot_of, _, previous, current, best, alive = reports
    doomed, instances = 0, 0
    floor = lowest = -np.inf
    for at in range(last, first - 1, -1):
        if at == last or time[at] != time[at + 1]:
            floor = lowest
        alive[at] = best[at] >= floor
        doomed += not alive[at]
        # An instance is counted at the oldest of its reports.
        instances += alive[at] and (previous[at] < first or time[previous[at]] != time[at])
        # An object below the lowest of k is not among them: its score there would be at most this one.
        if current[at] >= lowest:
            offer(slot_of[at], current[at], k, heap, slots)
            if heap.size[0] == k:
                lowest = heap.score[0]
    cursor[INSTANCES] = instances
    return doomed


@shared_njit(nogil=True)
def compact(cursor, reports, slots):
    """Drop the reports older than the oldest live instance of their object, and expired ones. O(reports)."""
    end = 0
    for at in range(cursor[HEAD], cursor[TAIL]):
        slot = reports.slot[at]
        # The new place of the newest report is below `at`, and its old place is not.
        newest = slots.facts[slot, NEWEST]
        before = newest if newest < at else -1
        if before < 0 and not reports.alive[at]:
            if newest == at:
                slots.facts[slot, NEWEST] = -1
            continue
        slots.facts[slot, NEWEST] = end
        reports.previous[end] = before
        reports.time[end], reports.stream[end] = reports.time[at], reports.stream[at]
        reports.slot[end], reports.value[end] = slot, reports.value[at]
        reports.current[end], reports.best[end] = reports.current[at], reports.best[at]
        end += 1
    cursor[HEAD], cursor[TAIL] = 0, end


@shared_njit(nogil=True)
def expire(first, cursor, reports, slots):
    """Drop the reports before the time `first`."""
    head = cursor[HEAD]
    while head < cursor[TAIL] and reports.time[head] < first:
        if slots.facts[reports.slot[head], NEWEST] == head:
            slots.facts[reports.slot[head], NEWEST] = -1
        head += 1
    cursor[HEAD] = head


@shared_njit(nogil=True)
def sweep(first, thrift, rule, cursor, reports, slots, heap):
    """A full sweep over the reports since `first`. `thrift`: drop once this share of them, or all, is doomed."""
    expire(first, cursor, reports, slots)
    intervals(rule, cursor, reports, slots)
    doomed = rank(rule, cursor, reports, slots, heap)
    if doomed >= thrift * (cursor[TAIL] - cursor[HEAD]):
        compact(cursor, reports, slots)


@njit(cache=True, nogil=True)
def replay(rows, stops, firsts, thrift, rule, cursor, reports, slots, log, heap, offsets, objects, scores):
    """Take in rows, and sweep after stops[i] of them over the reports since firsts[i]; answer i goes to offsets[i:].

    Ends and returns like `insert`; there is no answer after the row at which it ends.
    """
    start = np.int64(0)  # a literal would compile `insert` twice
    for turn in range(len(firsts)):
        start = insert(rows, start, stops[turn], rule, cursor, reports, slots, log)
        if start < stops[turn]:
            return start
        sweep(firsts[turn], thrift, rule, cursor, reports, slots, heap)
        begin = offsets[turn]
        offsets[turn + 1] = begin + drain(heap, slots, objects[begin:], scores[begin:])
    return insert(rows, start, len(rows.time), rule, cursor, reports, slots, log)
