"""PaneBand's result extractor: down the kept objects and the hot ones at once, taking what lies in the view."""

from typing import Any

from skyband.arrays import Float64, Int64
from skyband.kernels import kskyband_kernels
from skyband.kernels.nested import nested_njit

from skyband_workload.delay_line import BEST, BEST_FROM, BEST_TO, BEST_USED, BLOCK, MOST_BEST, RANKED, compare


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
def extract_best(band: Any, line: Any, start: int, wanted: int, objects: Int64, scores: Float64, filled: int) -> int:
    """As `extract`, from the best of the youngest rows; returns how many it found, which may be too few."""
    compare(band, line)
    best, found = line.best, 0
    line.state[BEST_USED] = 1
    for i in range(line.state[BEST]):
        objects[filled + found], scores[filled + found] = best[i].tie, best[i].score
        found += best[i].expiry >= start
        if found == wanted:
            break
    return found


@nested_njit
def find_best(band: Any, line: Any, start: int, first: int, k: int) -> None:
    """Find the best rows of a view of k; those of it in the line, from `first` on, are yet to be compared with them."""
    state, best, items, found, i = line.state, line.best, band.items, 0, 0
    most = 3 * k
    size = band.counts[kskyband_kernels.SIZE] if first == 0 else 0
    while i < size and found < most:
        if i % BLOCK == 0 and line.latest[i // BLOCK] < start:
            i += BLOCK
            continue
        if items[i].expiry >= start:
            best[found] = items[i]
            found += 1
        i += 1
    state[BEST], state[MOST_BEST], state[BEST_FROM], state[BEST_TO] = found, most, start, first


@nested_njit
def extract(band: Any, line: Any, start: int, wanted: int, objects: Int64, scores: Float64, filled: int) -> None:
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
