# mypy: disable-error-code="untyped-decorator,no-untyped-def"
"""The skyband lower bound over set numbers, in compiled code: what a pair has to beat, from its older set alone.

A pair ends with its older set, and lists are walked in order of set numbers. So the rank in E that leads to the
bound (lemma 6.1) is counted in numbers in place of times. Among sets of one time that overstates it, which only
lowers the bound.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from skyband.arrays import TIME_MIN
from skyband.kernels import kskyband_kernels
from skyband.kernels.kskyband_kernels import NOW, PENDING, SIZE

BASE, SHIFT = range(2)
_LEAST = 256


class Stairs(NamedTuple):
    """The stock's ends as of its last flush.

    older: int64[≥ SIZE], at rank r the largest number of an older set among the stock's first r + 1 pairs in E
    steps: int64[power of two + 1], at i how many of those are below BASE + (i << SHIFT)
    marks: int64[2], indexed by BASE and SHIFT
    """

    older: Any
    steps: Any
    marks: Any


def new() -> Stairs:
    """The stairs of an empty stock."""
    return Stairs(np.zeros(_LEAST, np.int64), np.zeros(_LEAST + 1, np.int64), np.zeros(2, np.int64))


@njit(cache=True)
def at_most(steps, base, shift, number):
    """An upper bound on how many pairs of the stock end before any with set `number` does, close where they are few."""
    return steps[min(max(((number - base) >> shift) + 1, 0), len(steps) - 1)]


@njit(cache=True)
def settle(band, stairs):
    """Flush the stock; returns it and its stairs."""
    if band.counts[PENDING] == 0 and (band.counts[SIZE] == 0 or band.ends[0] >= band.counts[NOW]):
        return band, stairs
    band = kskyband_kernels.flush_ranked(band, kskyband_kernels.ranking(band.buffer, band.counts[PENDING]))
    if band.counts[SIZE] > len(stairs.older):
        room = 2 * len(stairs.older)
        while room < band.counts[SIZE]:
            room *= 2
        stairs = Stairs(np.empty(room, np.int64), np.empty(room + 1, np.int64), stairs.marks)
    _number(band, stairs.older)
    _count(stairs, band.counts[SIZE])
    return band, stairs


@njit(cache=True)
def _number(band, older):
    items, order = band.items, band.order
    latest = TIME_MIN
    for r in range(band.counts[SIZE]):
        item = items[order[r]]
        latest = max(latest, min(item.tie, item.key))
        older[r] = latest


@njit(cache=True)
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
