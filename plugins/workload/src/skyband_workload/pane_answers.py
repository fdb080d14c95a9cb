"""PaneBand's result extractor: down the kept objects and the hot ones at once, taking what lies in the view."""

# mypy: disable-error-code="untyped-decorator"

from typing import Any

import numpy as np
from skyband.arrays import Float64, Int64
from skyband.kernels import kskyband_kernels
from skyband.kernels.nested import nested_njit

from skyband_workload.delay_line import BLOCK, FEW, FLUSH_AT, RANKED

SHORT, FEW_WANTED = 256, 16
"""Rows of a view that are looked through, and how many of them are wanted."""


@nested_njit
def first_in_line(band: Any, start: int) -> int:
    """The first row in the line that lies in the view that begins at `start`. The line's panes ascend."""
    low, high = 0, band.counts[kskyband_kernels.PENDING]
    while low < high:
        middle = (low + high) >> 1
        if band.buffer[middle].expiry < start:
            low = middle + 1
        else:
            high = middle
    return int(low)


@nested_njit
def alive(band: Any, start: int, first: int) -> int:
    """How many objects, kept or from `first` on in the line, lie in the view that begins at `start`.

    Those of the line count too that are not hot: there is a gate then, so that k kept ones lie in the view anyway.
    """
    waiting = band.counts[kskyband_kernels.PENDING] - first
    if first > 0:  # what is kept is older than the line
        return int(waiting)
    return int(waiting + band.counts[kskyband_kernels.SIZE] - kskyband_kernels.ended(band, start))


@nested_njit
def is_short(wanted: int, rows: int) -> bool:
    """Whether to look through so many rows for so many is less work than to rank the line."""
    return rows <= SHORT and (wanted <= FEW_WANTED or rows <= FEW)


@nested_njit
def extract_latest(band: Any, line: Any, first: int, wanted: int, objects: Int64, scores: Float64, filled: int) -> None:
    """As `extract`, for a view that begins after the line did: the best `wanted` of the line's rows from `first` on."""
    buffer, best, pending = band.buffer, line.hot, band.counts[kskyband_kernels.PENDING]
    bar = -np.inf
    for i in range(first, pending):
        score = buffer[i].score
        if score < bar:
            continue
        place = FLUSH_AT + min(i - first, wanted)
        if i - first >= wanted:
            place -= 1
            if not kskyband_kernels.ranks_before(buffer[i], buffer[best[place]]):
                continue
        while place > FLUSH_AT and kskyband_kernels.ranks_before(buffer[i], buffer[best[place - 1]]):
            best[place] = best[place - 1]
            place -= 1
        best[place] = i
        if i - first + 1 >= wanted:
            bar = buffer[best[FLUSH_AT + wanted - 1]].score
    for r in range(wanted):
        objects[filled + r] = buffer[best[FLUSH_AT + r]].tie
        scores[filled + r] = buffer[best[FLUSH_AT + r]].score


@nested_njit
def extract(
    band: Any, line: Any, start: int, wanted: int, objects: Int64, scores: Float64, filled: int
) -> None:  # fmt: skip
    """Write the best `wanted` objects of the view that begins at `start`, the first of them at place `filled`.

    Whether an object lies in it is as good as random, so it is always written and the place moves on only if it
    counts: no branch to guess wrong. Up to BLOCK places after `wanted` may be written.
    """
    items, latest, ranked = band.items, line.latest, line.state[RANKED]
    i, full = 0, filled + wanted
    for j in range(ranked + 1):
        if j < ranked and band.buffer[line.hot[j]].expiry < start:
            continue
        stop = line.place[j] if j < ranked else band.counts[kskyband_kernels.SIZE]
        while i < stop and filled < full:
            end = min(stop, (i // BLOCK + 1) * BLOCK)
            if latest[i // BLOCK] >= start:
                for place in range(i, end):
                    objects[filled] = items[place].tie
                    scores[filled] = items[place].score
                    filled += items[place].expiry >= start
            i = end
        if filled >= full:
            return
        mine = band.buffer[line.hot[j]]
        objects[filled] = mine.tie
        scores[filled] = mine.score
        filled += 1
