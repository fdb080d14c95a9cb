"""What a history knows of the rows since a moment, from the sums that compiled code makes for an answer."""

import numpy as np
from skyband.arrays import Float64

from skyband_quantiles.buckets import kernels
from skyband_quantiles.buckets.history import NODE_START, NODES, NOTHING, RAW, RAW_START, History
from skyband_quantiles.buckets.reading import Reading, Sums

_NO_PARTS, _NO_LIMITS, _NO_ANSWERS = np.empty(0, np.int64), np.empty(0), np.empty((0, 3))


def reading_of(history: History, since: int, cuts: Float64) -> Reading:
    """The same as `reading.read` of its contents. O(buckets + raw rows + entries of the oldest node)."""
    numbers = history.numbers
    raw = slice(int(numbers[RAW_START]), int(numbers[RAW_START] + numbers[RAW]))
    nodes = slice(int(numbers[NODE_START]), int(numbers[NODE_START] + numbers[NODES]))
    values = history.values[raw]
    if nodes.stop == nodes.start or history.last[nodes.stop - 1] < since:
        values = np.sort(values[np.searchsorted(history.times[raw], since) :])
        return Reading(values, None, len(values), len(values), 0, [])
    kernels.ask(history, since, _NO_PARTS, _NO_PARTS, _NO_LIMITS, cuts, _NO_ANSWERS, _NO_ANSWERS)
    rows, sure, most = map(int, kernels.count(history, since))
    used = int(np.argmax(history.sure_below + history.maybe_below == most))
    places = history.touched[:used]
    below = (column[: used + 1].copy() for column in (history.sure_below, history.maybe_below, history.likely_below))
    sums = Sums(history.least[places], history.largest[places], *below)
    young = slice(nodes.start + int(history.passed[-1]), nodes.stop)
    return Reading(values.copy(), sums, rows, sure, most - sure, _rows_above(history, young, values, since, cuts))


def _rows_above(
    history: History, nodes: slice, values: Float64, since: int, cuts: Float64
) -> list[tuple[int, int, float] | None]:
    if not len(cuts):
        return []
    above, first, last = history.above[nodes], history.first[nodes], history.last[nodes].astype(np.float64)
    across = first < since
    parts = (last[across] - float(since) + 1.0) / (last[across] - first[across] + 1.0)
    sure = above[~across].sum(axis=0) + (values[:, None] > cuts).sum(axis=0)
    maybe, likely = above[across].sum(axis=0), (above[across] * parts[:, None]).sum(axis=0)
    counts = zip(sure.tolist(), maybe.tolist(), likely.tolist(), strict=True)
    unknown = (above == NOTHING).any(axis=0).tolist()
    return [None if missing else each for missing, each in zip(unknown, counts, strict=True)]
