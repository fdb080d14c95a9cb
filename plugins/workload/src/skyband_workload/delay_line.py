"""PaneBand's delay line: rows wait, unranked, until most of them turn out to be in no answer.

Let no answer be due after `deadline` and s be `deadline` less the shortest window. Then every view answered until the
deadline holds all kept objects of panes from s on, and all rows that came since. So a row that the k-th best of those
beats, the *gate*, is in no answer until then, and need not be looked at before: at the deadline most such rows have
been beaten by k later ones and are dropped unranked. The others, *hot*, are ranked at the next answer.
"""

# mypy: disable-error-code="untyped-decorator"

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from skyband.arrays import Int64
from skyband.kernels import kskyband_kernels

from skyband_workload import radix

PANE, PANE_AT, RAISE_AT, HOT, MOST_HOT, RANKED, GATE, BEGAN, DEADLINE, MOST, LONGEST, SHORTEST = range(12)
"""Where a state keeps, in turn: the pane of the last row, the place in the line of its first row, and how many rows in
the line raise its limit; how many rows are hot, may be, and are ranked; the gate's place among the kept objects; when
the line began, its deadline, and how many rows it may hold; the longest and the shortest window."""

NO_GATE = NEVER = np.iinfo(np.int64).max
"""Without a gate every row is hot, and the line has no deadline."""

SHARE = 3
"""The line is at most this part of the shortest window: a half to a quarter cost the same."""

ENOUGH = 256
"""Rows that a line has to be expected to hold: the gate costs more than it saves on fewer."""

ROOM = 3
"""Rows in the line for each object kept."""

LEAST_HOT, FLUSH_AT = 64, 1024
"""Hot rows between flushes, half as many as objects kept: more make a flush rarer and an answer dearer."""

FEW = 4
"""Hot rows put in their places one by one, without a sort."""

BLOCK = 64
"""Kept objects that an answer skips at once where all lie before its view."""

_FIRST = np.iinfo(np.int64).min
_LARGE = 1 << 40


class Line(NamedTuple):
    """What goes with a band whose buffer is the line: its first PENDING items, in order of arrival.

    state: int64[12], see above. limit: float64[1], the score below which a row of the last pane is in no answer.
    hot: int64[FLUSH_AT], indices into the buffer, in order of rank as far as state[RANKED], then of arrival. place:
    int64[FLUSH_AT], how many of the kept objects rank before each that is ranked. latest: int64[blocks], the latest
    pane of every BLOCK objects kept.
    """

    state: Any
    limit: Any
    hot: Any
    place: Any
    latest: Any


def new(pane: int, longest: int, shortest: int) -> Line:
    """A line that holds nothing, beside an empty band."""
    state = np.array([pane, 0, NEVER, 0, LEAST_HOT, 0, NO_GATE, 0, NEVER, ROOM * FLUSH_AT, longest, shortest])
    hot, place, latest = np.empty(FLUSH_AT, np.int64), np.empty(FLUSH_AT, np.int64), np.empty(1, np.int64)
    return Line(state, np.array([-np.inf]), hot, place, latest)


@njit(cache=True)
def flushed(band: Any, line: Any, now: int) -> tuple[Any, Any]:
    """What the line leaves is in the band, and another line begins at `now`."""
    rows = band.counts[kskyband_kernels.PENDING]
    if line.state[HOT] < rows:
        thin(band)
        ranking = radix.ranking(band.buffer, band.counts[kskyband_kernels.PENDING])
    else:
        rank_hot(band, line)
        ranking = line.hot
    return _flushed(band, line, ranking, now, rows)


@njit(cache=True)
def _flushed(band: Any, line: Any, ranking: Int64, now: int, rows: int) -> tuple[Any, Any]:
    oldest = now - line.state[LONGEST]
    if oldest < now:  # else 64 bits do not reach it
        kskyband_kernels.advance(band, oldest)
    band = kskyband_kernels.flush_ranked(band, ranking)
    return band, begin(band, line, now, rows)


@njit(cache=True)
def begin(band: Any, line: Any, now: int, rows: int) -> Any:
    """Begin an empty line at `now`, for the band as it is; the line before held `rows` rows."""
    state, size = line.state, band.counts[kskyband_kernels.SIZE]
    delay, passed = state[SHORTEST] // SHARE, now - state[BEGAN]
    state[HOT] = state[RANKED] = 0
    state[BEGAN], state[DEADLINE], state[GATE] = now, NEVER, NO_GATE
    state[MOST], state[MOST_HOT] = ROOM * max(size, FLUSH_AT), min(max(size // 2, LEAST_HOT), FLUSH_AT)
    enter_pane(band, line, state[PANE])
    since = now - (state[SHORTEST] - delay)
    gate = band.counts[kskyband_kernels.K] - 1 + kskyband_kernels.ended(band, since if since <= now else _FIRST)
    if gate < size and now <= NEVER - delay and float(rows) * delay >= float(ENOUGH) * passed:
        state[GATE], state[DEADLINE] = gate, now + delay
    return Line(state, line.limit, line.hot, line.place, _latest_panes(band, line.latest))


@njit(cache=True)
def _latest_panes(band: Any, latest: Any) -> Any:
    """The latest pane of every BLOCK objects kept, in `latest` where that is long enough."""
    items, size = band.items, band.counts[kskyband_kernels.SIZE]
    blocks = (size + BLOCK - 1) // BLOCK
    if blocks > len(latest):
        latest = np.empty(2 * blocks, np.int64)
    for block in range(blocks):
        pane = items[block * BLOCK].expiry
        for i in range(block * BLOCK + 1, min((block + 1) * BLOCK, size)):
            pane = max(pane, items[i].expiry)
        latest[block] = pane
    return latest


@njit(cache=True)
def enter_pane(band: Any, line: Any, pane: int) -> None:
    """Rows to come are of `pane`: those below its limit are beaten by k objects of it."""
    line.state[PANE] = pane
    position = band.counts[kskyband_kernels.K] - 1 + kskyband_kernels.ended(band, pane)
    line.limit[0] = band.items[position].score if position < band.counts[kskyband_kernels.SIZE] else -np.inf
    _measure_pane(band, line, band.counts[kskyband_kernels.PENDING])


@njit(cache=True)
def _measure_pane(band: Any, line: Any, first: int) -> None:
    """Let the pane's rows in the line count from `first`, and twice k of them raise its limit."""
    line.state[PANE_AT] = first
    line.state[RAISE_AT] = first + max(2 * min(band.counts[kskyband_kernels.K], _LARGE), LEAST_HOT)


@njit(cache=True)
def raise_limit(band: Any, line: Any) -> None:
    """Let the k-th best of the pane's rows in the line be its limit."""
    state, buffer, k = line.state, band.buffer, band.counts[kskyband_kernels.K]
    first, rows = state[PANE_AT], band.counts[kskyband_kernels.PENDING] - state[PANE_AT]
    scores, ties = np.empty(rows, np.float64), np.zeros(rows, np.int64)
    for i in range(rows):
        scores[i] = buffer[first + i].score
    _select(scores, ties, k)
    line.limit[0] = max(line.limit[0], scores[k - 1])
    state[RAISE_AT] += rows


@njit(cache=True)
def close(band: Any, line: Any, now: int) -> tuple[Any, Any]:
    """End the line before an answer at `now`: few rows left of it become hot, many are flushed."""
    state, rows = line.state, band.counts[kskyband_kernels.PENDING]
    if state[HOT] < rows:
        thin(band)
        left = band.counts[kskyband_kernels.PENDING]
        if left > state[MOST_HOT] // 2:
            return _flushed(band, line, radix.ranking(band.buffer, left), now, rows)
        for i in range(left):
            line.hot[i] = i
        state[HOT], state[RANKED] = left, 0
        _measure_pane(band, line, left)
    state[BEGAN], state[GATE], state[DEADLINE] = now, NO_GATE, NEVER
    return band, line


@njit(cache=True)
def with_room(band: Any, most: int) -> Any:
    """The band with twice the room in its line, or room for `most` rows."""
    buffer = kskyband_kernels.grown(band.buffer, len(band.buffer), min(2 * len(band.buffer), most))
    return kskyband_kernels.Band(band.counts, band.items, band.order, band.ends, buffer)


@njit(cache=True)
def thin(band: Any) -> None:
    """Drop rows of the line that k later ones rank before, all that blocks of 2k show. O(rows)."""
    buffer, total, k = band.buffer, band.counts[kskyband_kernels.PENDING], band.counts[kskyband_kernels.K]
    if total <= k:
        return
    scores, ties = np.empty(2 * k, np.float64), np.empty(2 * k, np.int64)
    best, kept = 0, total
    bar, bar_tie = -np.inf, NEVER
    for i in range(total - 1, -1, -1):
        score, tie = buffer[i].score, buffer[i].tie
        if score < bar or (score == bar and tie > bar_tie):
            continue
        kept -= 1
        if kept != i:
            buffer[kept] = buffer[i]
        scores[best], ties[best] = score, tie
        best += 1
        if best == 2 * k:
            _select(scores, ties, k)
            best = k
            bar, bar_tie = scores[k - 1], ties[k - 1]
    band.counts[kskyband_kernels.PENDING] = total - kept
    for i in range(total - kept):
        buffer[i] = buffer[kept + i]


@njit(cache=True)
def _select(scores: Any, ties: Any, k: int) -> None:
    """Put the k best first, the least of them at k − 1: quickselect."""
    low, high = 0, len(scores) - 1
    while low < high:
        middle = (low + high) >> 1
        score, tie = scores[middle], ties[middle]
        i, j = low, high
        while i <= j:
            while scores[i] > score or (scores[i] == score and ties[i] < tie):
                i += 1
            while scores[j] < score or (scores[j] == score and ties[j] > tie):
                j -= 1
            if i <= j:
                scores[i], scores[j] = scores[j], scores[i]
                ties[i], ties[j] = ties[j], ties[i]
                i += 1
                j -= 1
        if k - 1 <= j:
            high = j
        elif k - 1 >= i:
            low = i
        else:
            return


@njit(cache=True)
def rank_hot(band: Any, line: Any) -> None:
    """Rank the rows that became hot since the last answer, and put them among those ranked before."""
    ranked, total = line.state[RANKED], line.state[HOT]
    if total - ranked > FEW:
        _merge_hot(band, line, kskyband_kernels.ranked(band.buffer, line.hot[ranked:total].copy()))
        return
    hot, place, buffer = line.hot, line.place, band.buffer
    for out in range(ranked, total):
        mine, below = hot[out], band.counts[kskyband_kernels.SIZE]
        while out > 0 and kskyband_kernels.ranks_before(buffer[mine], buffer[hot[out - 1]]):
            out -= 1
            hot[out + 1], place[out + 1] = hot[out], place[out]
            below = place[out]
        hot[out] = mine
        place[out] = _place(band.items, place[out - 1] if out > 0 else 0, below, buffer[mine])
    line.state[RANKED] = total


@njit(cache=True)
def _merge_hot(band: Any, line: Any, fresh: Int64) -> None:
    """Merge the rest of the hot rows, in order of rank, from the back into those ranked before."""
    hot, place, buffer = line.hot, line.place, band.buffer
    i, j, below = line.state[RANKED] - 1, len(fresh) - 1, band.counts[kskyband_kernels.SIZE]
    for out in range(line.state[HOT] - 1, -1, -1):
        if j < 0:
            break
        if i >= 0 and kskyband_kernels.ranks_before(buffer[fresh[j]], buffer[hot[i]]):
            hot[out], place[out] = hot[i], place[i]
            i -= 1
        else:
            hot[out] = fresh[j]
            place[out] = _place(band.items, place[i] if i >= 0 else 0, below, buffer[fresh[j]])
            j -= 1
        below = place[out]
    line.state[RANKED] = line.state[HOT]


@njit(cache=True)
def _place(items: Any, low: int, high: int, item: Any) -> int:
    """How many of the kept objects rank before `item`, which is from `low` to `high`."""
    while low < high:
        middle = (low + high) >> 1
        if kskyband_kernels.ranks_before(items[middle], item):
            low = middle + 1
        else:
            high = middle
    return low
