"""PaneBand's result extractor: walks the kept and the hot objects in parallel, and takes those in the view."""

from typing import Any

from skyband.arrays import Float64, Int64
from skyband.kernels import kskyband_kernels
from skyband.kernels.nested import nested_njit

from skyband_workload.delay_line import BEST, BEST_FROM, BEST_TO, BEST_USED, BLOCK, MOST_BEST, RANKED, compare


@nested_njit
def first_in_line(band: Any, start: int) -> int:
    """The first row of the line in the view that begins at `start`. The line's panes ascend."""
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
    """The number of objects, kept or from `first` on in the line, in the view that begins at `start`.

    Rows of the line that are not hot count too: then there is a gate, and so k kept objects in the view anyway.
    """
    waiting = band.counts[kskyband_kernels.PENDING] - first
    if first > 0:  # kept objects are older than the line
        return int(waiting)
    return int(waiting + band.counts[kskyband_kernels.SIZE] - kskyband_kernels.ended(band, start))


@nested_njit
def extract_best(band: Any, line: Any, start: int, wanted: int, objects: Int64, scores: Float64, filled: int) -> int:
    """Like `extract`, from the best of the youngest rows; returns their number, which may be too few."""
    compare(band, line)
    best, count = line.best, 0
    line.state[BEST_USED] = 1
    for i in range(line.state[BEST]):
        objects[filled + count], scores[filled + count] = best[i].tie, best[i].score
        count += best[i].expiry >= start
        if count == wanted:
            break
    return count


@nested_njit
def find_best(band: Any, line: Any, start: int, first: int, k: int) -> None:
    """Find the best rows of a view of k; its rows in the line, from `first` on, are compared with them later."""
    state, best, items, count, i = line.state, line.best, band.items, 0, 0
    most = 3 * k
    size = band.counts[kskyband_kernels.SIZE] if first == 0 else 0
    while i < size and count < most:
        if i % BLOCK == 0 and line.latest[i // BLOCK] < start:
            i += BLOCK
            continue
        if items[i].expiry >= start:
            best[count] = items[i]
            count += 1
        i += 1
    state[BEST], state[MOST_BEST], state[BEST_FROM], state[BEST_TO] = count, most, start, first


@nested_njit
def extract(band: Any, line: Any, start: int, wanted: int, objects: Int64, scores: Float64, filled: int) -> None:
    """Write the best `wanted` objects of the view that begins at `start`, from place `filled` on.

    Whether an object is in the view is unpredictable, so it is always written, and the place only advances if it
    counts: there is no branch to mispredict. Up to BLOCK places after `wanted` may be overwritten.
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
        item = band.buffer[line.hot[j]]
        objects[filled] = item.tie
        scores[filled] = item.score
        filled += 1
