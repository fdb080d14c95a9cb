"""PaneBand's result extractor: down the kept objects and the hot ones at once, taking what lies in the view."""

# mypy: disable-error-code="untyped-decorator"

from typing import Any

from numba import njit
from skyband.arrays import Float64, Int64
from skyband.kernels import kskyband_kernels

from skyband_workload.delay_line import BLOCK, RANKED


@njit(cache=True)
def alive(band: Any, start: int) -> int:
    """How many objects, kept or in the line, lie in the view that begins at `start`. The line's panes ascend.

    Those of the line count too that are not hot: there is a gate then, so that k kept ones lie in the view anyway.
    """
    low, high = 0, band.counts[kskyband_kernels.PENDING]
    while low < high:
        middle = (low + high) >> 1
        if band.buffer[middle].expiry < start:
            low = middle + 1
        else:
            high = middle
    kept = band.counts[kskyband_kernels.SIZE] - kskyband_kernels.ended(band, start)
    return int(kept + band.counts[kskyband_kernels.PENDING] - low)


@njit(cache=True)
def extract(band: Any, line: Any, start: int, wanted: int, objects: Int64, scores: Float64) -> None:
    """Write the best `wanted` objects of the view that begins at `start`.

    Whether an object lies in it is as good as random, so it is always written and the place moves on only if it
    counts: no branch to guess wrong. Up to BLOCK places after `wanted` may be written.
    """
    items, latest, ranked = band.items, line.latest, line.state[RANKED]
    i, filled = 0, 0
    for j in range(ranked + 1):
        if j < ranked and band.buffer[line.hot[j]].expiry < start:
            continue
        stop = line.place[j] if j < ranked else band.counts[kskyband_kernels.SIZE]
        while i < stop and filled < wanted:
            end = min(stop, (i // BLOCK + 1) * BLOCK)
            if latest[i // BLOCK] >= start:
                for place in range(i, end):
                    objects[filled] = items[place].tie
                    scores[filled] = items[place].score
                    filled += items[place].expiry >= start
            i = end
        if filled >= wanted:
            return
        mine = band.buffer[line.hot[j]]
        objects[filled] = mine.tie
        scores[filled] = mine.score
        filled += 1
