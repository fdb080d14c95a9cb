"""The skyband lower bound by set number, in compiled code: the bound a pair has to beat, from its older set alone.

A pair ends with its older set, and lists are scanned in order of set numbers. So the rank in E that leads to the
bound (lemma 6.1) is counted in numbers in place of times.
"""

from typing import Any, NamedTuple

import numpy as np
from skyband.arrays import TIME_MIN
from skyband.kernels import kskyband_kernels
from skyband.kernels.kskyband_kernels import NOW, PENDING, SIZE
from skyband.kernels.nested import nested_njit, shared_njit

from skyband_setjoin.sets import FIRST, NEXT

BASE, SHIFT, OPEN, LAST, WORK = range(5)
NONE = -1
FAR = 16
PATIENCE = 4
_LEAST = 256
_LATER = 2**62


class Stairs(NamedTuple):
    """The ends of the stock's pairs at its last flush.

    older: int64[≥ SIZE]: at rank r, the number of the last set that arrives no later than the pair at r in E ends
    steps: int64[power of two + 1]: at i, how many of those are below BASE + (i << SHIFT)
    marks: int64[5], indexed by BASE, SHIFT, OPEN, LAST and WORK: pairs from rank OPEN on (NONE: none) end at the time
           LAST, that of the newest set, so more sets of that time may arrive; WORK: pairs that answers since the last
           flush scanned because they were not yet in B
    """

    older: Any
    steps: Any
    marks: Any


def new() -> Stairs:
    """The stairs of an empty stock."""
    marks = np.array([0, 0, NONE, 0, 0], np.int64)
    return Stairs(np.zeros(_LEAST, np.int64), np.zeros(_LEAST + 1, np.int64), marks)


@shared_njit
def at_most(steps, base, shift, number):
    """An upper bound on how many pairs of the stock end before set `number` arrives, close if they are few."""
    return steps[min(max(((number - base) >> shift) + 1, 0), len(steps) - 1)]


@shared_njit
def rank_before(older, steps, base, shift, rank, number):
    """How many pairs of the stock end before set `number` arrives; `rank` is the result for a later set.

    A few are skipped one by one, more of them by `steps`.
    """
    if rank > FAR and older[rank - FAR] >= number:
        rank = min(rank, at_most(steps, base, shift, number))
    while rank > 0 and older[rank - 1] >= number:
        rank -= 1
    return rank


@nested_njit
def is_due(band, stairs):
    """Count an answer; returns whether a flush is worth while: answers have scanned a quarter as many waiting pairs as
    the stock holds.
    """
    stairs.marks[WORK] += band.counts[PENDING]
    return stairs.marks[WORK] * PATIENCE > band.counts[SIZE]


@nested_njit
def has_room(band, stairs):
    """Whether `canonicalize` has room for the waiting pairs, and its buffer fits the stock."""
    counts = band.counts
    total = counts[SIZE] + counts[PENDING]
    return total <= len(band.items) and total <= len(stairs.older) and counts[SIZE] // 4 <= len(band.buffer)


@shared_njit
def canonicalize(band, stairs, sets):
    """Flush the stock and update its stairs, both of which must have room; its buffer may then be too small."""
    stairs.marks[WORK] = 0
    if band.counts[PENDING] > 0 or (band.counts[SIZE] > 0 and band.ends[0] < band.counts[NOW]):
        kskyband_kernels.flush_in_place(band, kskyband_kernels.ranking(band.buffer, band.counts[PENDING]))
        _number(band, stairs, sets)


@shared_njit
def close(band, stairs, number, time):
    """Record that a set of `time` arrives after set `number`, which may be the last of the time LAST."""
    older, marks = stairs.older, stairs.marks
    if marks[OPEN] == NONE or time <= marks[LAST]:
        return
    for r in range(marks[OPEN], band.counts[SIZE]):
        older[r] = number
    marks[OPEN] = NONE
    _count(stairs, band.counts[SIZE])


@nested_njit
def _number(band, stairs, sets):
    items, order, older, marks = band.items, band.order, stairs.older, stairs.marks
    size, first, stop = band.counts[SIZE], sets.marks[FIRST], sets.marks[NEXT]
    records, mask = sets.records, len(sets.records) - 1
    marks[OPEN] = NONE
    marks[LAST] = records[(stop - 1) & mask].time if first < stop else TIME_MIN
    for r in range(size):
        item = items[order[r]]
        if item.expiry >= marks[LAST]:
            marks[OPEN] = r
            for rest in range(r, size):
                older[rest] = _LATER
            break
        if r > 0 and items[order[r - 1]].expiry == item.expiry:
            older[r] = older[r - 1]
        else:
            number = max(min(item.tie, item.key), first - 1)
            single = records[(number + 1) & mask].time > item.expiry
            older[r] = number if single else _last_of_its_time(records, stop, number, item.expiry)
    _count(stairs, size if marks[OPEN] == NONE else marks[OPEN])


@nested_njit
def _last_of_its_time(records, stop, low, time):
    """The number of the last set of a time, starting from any set of it; a later time exists."""
    mask = len(records) - 1
    step = 1
    while low + step < stop and records[(low + step) & mask].time <= time:
        low += step
        step *= 2
    high = min(low + step, stop)
    while low + 1 < high:
        middle = (low + high) >> 1
        if records[middle & mask].time <= time:
            low = middle
        else:
            high = middle
    return low


@nested_njit
def _count(stairs, size):
    older, steps, marks = stairs.older, stairs.steps, stairs.marks
    base = older[0] if size else 0
    span = older[size - 1] - base if size else 0
    shift = 0
    while span >> shift >= len(steps) - 1:
        shift += 1
    step = 0
    for r in range(size):
        while base + (step << shift) <= older[r]:
            steps[step] = r
            step += 1
    for last in range(step, len(steps)):
        steps[last] = size
    marks[BASE], marks[SHIFT] = base, shift
