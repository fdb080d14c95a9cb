"""PaneBand's executor loop: rows go into one k-skyband, answers come out of it and of what it has buffered."""

# mypy: disable-error-code="untyped-decorator"

from typing import Any

import numpy as np
from numba import njit
from skyband import sweep
from skyband.arrays import Float64, Int64

from skyband_workload.table import Rows

PANE, NEXT_PANE, RANKED, LONGEST = 0, 1, 2, 3
"""Where a state keeps the pane of the last row, the index of the one after it in `panes`, how many of the buffered
objects are ranked, and the longest window, which no object outlives."""

FLUSH_AT = 1024
"""Objects buffered between flushes: more make a flush rarer and an answer dearer."""

MOST_ROOM = 1 << 20
"""Objects of answers that room is made for at once; beyond it grows by doubling."""


@njit(cache=True)
def run(
    band: Any, state: Int64, pending: Int64, panes: Int64, rows: Rows, before: Int64, start: Int64, k: Int64
) -> tuple[Any, Int64, Int64, Float64]:
    """Take rows and answer moments, in order of time.

    panes: the view starts after the last row's pane, ascending. pending: int64[FLUSH_AT], the buffered objects in
    order of rank, as far as state[RANKED]. before: how many of the rows come before each moment. Returns the band to
    go on with, the size of each answer, and their objects and scores one after the other.
    """
    sizes = np.zeros(len(before), np.int64)
    room = _answer_room(band, len(rows.time), k)
    objects, scores = np.empty(room, np.int64), np.empty(room, np.float64)
    filled, taken = np.int64(0), np.int64(0)  # a literal 0 would have `_take` compiled twice
    for m in range(len(before)):
        band = _take(band, state, pending, panes, rows, taken, before[m])
        taken = before[m]
        _rank_pending(band, state, pending)
        wanted = min(k[m], _alive(band, start[m]))
        if filled + wanted >= len(objects):
            larger = 2 * (filled + wanted) + 1
            objects, scores = sweep.grown(objects, filled, larger), sweep.grown(scores, filled, larger)
        _extract(band, pending, start[m], wanted, objects[filled:], scores[filled:])
        filled += wanted
        sizes[m] = wanted
    band = _take(band, state, pending, panes, rows, taken, len(rows.time))
    return band, sizes, objects[:filled], scores[:filled]


@njit(cache=True)
def _take(band: Any, state: Int64, pending: Int64, panes: Int64, rows: Rows, first: int, last: int) -> Any:
    """Take rows first..last; most pass by after one or two comparisons."""
    times, scores = rows.time, rows.score
    limit = _limit(band, state[PANE])
    r = first
    while True:
        ahead = state[NEXT_PANE] < len(panes)
        until = panes[state[NEXT_PANE]] if ahead else 0
        while r < last and scores[r] < limit and not (ahead and times[r] >= until):
            r += 1
        if r == last:
            return band
        if ahead and times[r] >= until:
            state[PANE] = until
            state[NEXT_PANE] += 1
            limit = _limit(band, until)
            continue
        if band.counts[sweep.PENDING] == FLUSH_AT:
            band = _flushed(band, state, pending, times[r])
            limit = _limit(band, state[PANE])
            continue
        sweep.add(band, scores[r], state[PANE], rows.object[r], rows.arrival[r])
        r += 1


@njit(cache=True)
def _answer_room(band: Any, rows: int, k: Int64) -> int:
    """Room enough for answers of size `k` where that is a few megabytes; memory costs nothing until it is written."""
    most = band.counts[sweep.SIZE] + band.counts[sweep.PENDING] + rows
    room = 1
    for each in k:
        room += min(each, most)
    return min(room, MOST_ROOM)


@njit(cache=True)
def filled(band: Any, items: Any) -> Any:
    """The band with these items added, and flushed."""
    for item in items:
        if sweep.is_full(band):
            band = sweep.flush(band)
        sweep.add(band, item.score, item.expiry, item.tie, item.key)
    return sweep.flush(band)


@njit(cache=True)
def _limit(band: Any, pane: int) -> float:
    """A score below this is beaten by k objects of the pane already, so it can be in no answer."""
    position = band.counts[sweep.K] - 1 + sweep.ended(band, pane)
    return band.items[position].score if position < band.counts[sweep.SIZE] else -np.inf


@njit(cache=True)
def _flushed(band: Any, state: Int64, pending: Int64, now: int) -> Any:
    oldest = now - state[LONGEST]
    if oldest < now:  # else 64 bits do not reach it
        sweep.advance(band, oldest)
    _rank_pending(band, state, pending)
    state[RANKED] = 0
    return sweep.flush_ranked(band, pending)


@njit(cache=True)
def _rank_pending(band: Any, state: Int64, pending: Int64) -> None:
    """Rank the objects buffered since the last answer, and merge them from the back into those ranked before."""
    ranked, total = state[RANKED], band.counts[sweep.PENDING]
    if ranked == total:
        return
    fresh = sweep.ranking(band.buffer[ranked:total], total - ranked)
    i, j = ranked - 1, total - ranked - 1
    for out in range(total - 1, -1, -1):
        if j < 0:
            break
        mine = fresh[j] + ranked
        if i >= 0 and sweep.ranks_before(band.buffer[mine], band.buffer[pending[i]]):
            pending[out] = pending[i]
            i -= 1
        else:
            pending[out] = mine
            j -= 1
    state[RANKED] = total


@njit(cache=True)
def _alive(band: Any, start: int) -> int:
    """How many objects, kept or buffered, lie in the view that begins at `start`. Buffered panes ascend."""
    low, high = 0, band.counts[sweep.PENDING]
    while low < high:
        middle = (low + high) >> 1
        if band.buffer[middle].expiry < start:
            low = middle + 1
        else:
            high = middle
    kept = band.counts[sweep.SIZE] - sweep.ended(band, start)
    return int(kept + band.counts[sweep.PENDING] - low)


@njit(cache=True)
def _extract(band: Any, pending: Int64, start: int, wanted: int, objects: Int64, scores: Float64) -> None:
    """The result extractor: down both ranked lists at once, taking what lies in the view.

    Whether an object lies in it is as good as random, so it is always written and the place moves on only if it
    counts: no branch to guess wrong. One place after `wanted` may be written.
    """
    items, buffer = band.items, band.buffer
    n, b = band.counts[sweep.SIZE], band.counts[sweep.PENDING]
    i, filled = 0, 0
    for j in range(b):
        mine = buffer[pending[j]]
        if mine.expiry < start:
            continue
        while i < n and filled < wanted and sweep.ranks_before(items[i], mine):
            objects[filled] = items[i].tie
            scores[filled] = items[i].score
            filled += items[i].expiry >= start
            i += 1
        if filled == wanted:
            return
        objects[filled] = mine.tie
        scores[filled] = mine.score
        filled += 1
    while filled < wanted:
        objects[filled] = items[i].tie
        scores[filled] = items[i].score
        filled += items[i].expiry >= start
        i += 1
