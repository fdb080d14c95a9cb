"""PaneBand's delay line: rows wait, unranked, until most of them turn out to be in no answer.

A view that begins at s or before holds all kept objects of panes from s on, and all rows that came since. So a row that
the k-th best of those beats, the *gate*, is in no answer of such a view, and need not be looked at before one is due
that begins after s: by then most such rows have been beaten by k later ones and are dropped unranked. The others,
*hot*, are ranked at the next answer.

A view of a few hundred rows would come too soon for that. It has a list of its own, `best`, and nothing waits for it.
"""

from typing import Any, NamedTuple

import numpy as np
from skyband.arrays import Int64
from skyband.kernels import kskyband_kernels
from skyband.kernels.nested import nested_njit, shared_njit
from skyband.kernels.selection import select

from skyband_workload import radix
from skyband_workload.thinning import thin

PANE, PANE_AT, RAISE_AT, HOT, MOST_HOT, RANKED, GATE, LAST_START, BEGAN, CAME, MOST, LONGEST, SHORTEST, TIE = range(14)
"""Where a state keeps, in turn: the pane of the last row, the place in the line of its first row, and how many rows in
the line raise its limit; how many rows are hot, may be, and are ranked; the gate's place among the kept objects, and
where views begin at the latest that it is for; when the line began, how many rows came since, and how many it may hold;
the longest window, and the shortest that is answered from what is kept; and the object up to which rows of the limit's
score are let in."""

BEST, MOST_BEST, BEST_FROM, BEST_TO, BEST_USED = range(14, 19)
"""How many rows are in `best`, and may be; the pane from which on they are the best, the first row of the line that
they have not been compared with, and whether this line had an answer from them."""

NO_GATE = NEVER = np.iinfo(np.int64).max
"""Without a gate every row is hot."""

SHARE = 3
"""The line is at most this part of the shortest window that has no list: a half to a quarter cost the same."""

SHORT, FEW_WANTED = 256, 16
"""Rows of a view that has a list of its own, and how many of them are wanted at most."""

BEST_ROOM = 3 * FEW_WANTED
"""Three times as many are kept as are wanted: they last for two windows until they have to be found anew."""

ENOUGH = 256
"""Rows that a line has to be expected to hold: the gate costs more than it saves on fewer."""

ROOM = 3
"""Rows in the line for each object kept."""

LEAST_HOT, FLUSH_AT = 64, 1024
"""Hot rows between flushes, half as many as objects kept: more make a flush rarer and an answer dearer."""

FEW, SORTED = 32, 256
"""Hot rows put in their places without memory for a sort, and by a sort; the line is flushed before more are ranked."""

BLOCK = 64
"""Kept objects that an answer skips at once where all lie before its view."""

_FIRST = np.iinfo(np.int64).min
_LARGE = 1 << 40


class Line(NamedTuple):
    """What goes with a band whose buffer is the line: its first PENDING items, in order of arrival.

    state: int64[19], see above. limit: float64[1], the score below which a row of the last pane is in no answer.
    hot: int64[2 FLUSH_AT], indices into the buffer, in order of rank as far as state[RANKED], then of arrival; its
    second half is for those being ranked. place, scores: int64[FLUSH_AT] and float64[FLUSH_AT], how many of the kept
    objects rank before each that is ranked, and its score. latest: int64[blocks], the latest pane of every BLOCK
    objects kept. best: ITEM[BEST_ROOM], the best of the youngest rows, whether they are in the line or kept, in order
    of rank. windows: int64[w], ascending, those that may be short, then a longer one or NEVER.
    """

    state: Any
    limit: Any
    hot: Any
    place: Any
    scores: Any
    latest: Any
    best: Any
    windows: Any


def new(pane: int, window: Int64, k: Int64) -> Line:
    """A line that holds nothing, beside an empty band, for queries of these windows and numbers of objects."""
    most = window[k > FEW_WANTED].min(initial=NEVER)
    windows = np.append(np.unique(window[window < most]), most)
    state = np.zeros(19, np.int64)
    state[[PANE, MOST_HOT, MOST, LONGEST]] = pane, LEAST_HOT, ROOM * FLUSH_AT, window.max()
    state[[RAISE_AT, GATE, LAST_START, TIE, BEST_FROM]] = NEVER
    hot, place, latest = np.empty(2 * FLUSH_AT, np.int64), np.empty(FLUSH_AT, np.int64), np.empty(1, np.int64)
    best = np.empty(BEST_ROOM, kskyband_kernels.ITEM)
    return Line(state, np.array([-np.inf]), hot, place, np.empty(FLUSH_AT, np.float64), latest, best, windows)


@nested_njit
def flushed(band: Any, line: Any, now: int, rows: int) -> tuple[Any, Any]:
    """What the line leaves of so many rows is in the band, and another line begins at `now`."""
    if line.state[HOT] < rows or 2 * line.state[RANKED] < rows:  # most are not ranked
        thin(band)
        ranking = radix.ranking(band.buffer, band.counts[kskyband_kernels.PENDING])
    else:
        rank_hot(band, line)
        ranking = line.hot
    oldest = now - line.state[LONGEST]
    if oldest < now:  # else 64 bits do not reach it
        kskyband_kernels.advance(band, oldest)
    band = kskyband_kernels.flush_ranked(band, ranking)
    return band, begin(band, line, now, rows)


@shared_njit
def begin(band: Any, line: Any, now: int, rows: int) -> Any:
    """Begin an empty line at `now`, for the band as it is; the line before held `rows` rows."""
    state, size, passed = line.state, band.counts[kskyband_kernels.SIZE], now - line.state[BEGAN]
    shortest = 0
    while shortest < len(line.windows) - 1 and float(state[CAME]) * line.windows[shortest] <= float(SHORT) * passed:
        shortest += 1
    state[SHORTEST] = line.windows[shortest] if state[CAME] else 0
    delay = state[SHORTEST] // SHARE
    state[HOT] = state[RANKED] = state[CAME] = state[BEST_TO] = 0
    if not state[BEST_USED]:
        state[BEST_FROM] = NEVER
    state[BEST_USED] = 0
    state[BEGAN], state[LAST_START], state[GATE] = now, NEVER, NO_GATE
    state[MOST], state[MOST_HOT] = ROOM * max(size, FLUSH_AT), min(max(size // 2, LEAST_HOT), FLUSH_AT)
    enter_pane(band, line, state[PANE])
    since = now - (state[SHORTEST] - delay)
    gate = band.counts[kskyband_kernels.K] - 1 + kskyband_kernels.ended(band, since if since <= now else _FIRST)
    if gate < size and state[SHORTEST] != NEVER and float(rows) * delay >= float(ENOUGH) * passed:
        state[GATE], state[LAST_START] = gate, since if since <= now else _FIRST
    latest = _latest_panes(band, line.latest)
    return Line(state, line.limit, line.hot, line.place, line.scores, latest, line.best, line.windows)


@nested_njit
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


@nested_njit
def enter_pane(band: Any, line: Any, pane: int) -> None:
    """Rows to come are of `pane`: those below its limit, or of its score and a later object, are beaten by k of it."""
    line.state[PANE] = pane
    position = band.counts[kskyband_kernels.K] - 1 + kskyband_kernels.ended(band, pane)
    line.limit[0], line.state[TIE] = -np.inf, NEVER
    if position < band.counts[kskyband_kernels.SIZE]:
        line.limit[0], line.state[TIE] = band.items[position].score, band.items[position].tie
    _measure_pane(band, line, band.counts[kskyband_kernels.PENDING])


@nested_njit
def _measure_pane(band: Any, line: Any, first: int) -> None:
    """Let the pane's rows in the line count from `first`, and twice k of them raise its limit."""
    line.state[PANE_AT] = first
    line.state[RAISE_AT] = first + max(2 * min(band.counts[kskyband_kernels.K], _LARGE), LEAST_HOT)


@nested_njit
def raise_limit(band: Any, line: Any) -> None:
    """Let the k-th best of the pane's rows in the line be its limit."""
    state, buffer, k = line.state, band.buffer, band.counts[kskyband_kernels.K]
    first, rows = state[PANE_AT], band.counts[kskyband_kernels.PENDING] - state[PANE_AT]
    scores, ties = np.empty(rows, np.float64), np.empty(rows, np.int64)
    for i in range(rows):
        scores[i], ties[i] = buffer[first + i].score, buffer[first + i].tie
    select(scores, ties, k)
    score, tie = scores[k - 1], ties[k - 1]
    if score > line.limit[0] or (score == line.limit[0] and tie < state[TIE]):
        line.limit[0], state[TIE] = score, tie
    state[RAISE_AT] += rows


@nested_njit
def close(band: Any, line: Any, now: int) -> bool:
    """End the line before an answer at `now`: few rows left of it become hot. False where many are to be flushed."""
    state = line.state
    if state[HOT] < band.counts[kskyband_kernels.PENDING]:
        thin(band)
        left = band.counts[kskyband_kernels.PENDING]
        if left > state[MOST_HOT] // 2:
            return False
        for i in range(left):
            line.hot[i] = i
        state[HOT], state[RANKED], state[BEST_TO] = left, 0, left
        _measure_pane(band, line, left)
    state[BEGAN], state[CAME], state[GATE], state[LAST_START] = now, 0, NO_GATE, NEVER
    return True


@nested_njit
def compare(band: Any, line: Any) -> None:
    """Put the rows of the line that `best` has not been compared with among them, if they are."""
    if line.state[BEST_FROM] == NEVER:
        return
    state, best, buffer, rows = line.state, line.best, band.buffer, band.counts[kskyband_kernels.PENDING]
    count, most = state[BEST], state[MOST_BEST]
    bar = best[most - 1].score if count == most else -np.inf
    for i in range(state[BEST_TO], rows):
        if buffer[i].score < bar or (count == most and not kskyband_kernels.ranks_before(buffer[i], best[most - 1])):
            continue
        place = min(count, most - 1)
        while place > 0 and kskyband_kernels.ranks_before(buffer[i], best[place - 1]):
            best[place] = best[place - 1]
            place -= 1
        best[place] = buffer[i]
        count = min(count + 1, most)
        if count == most:
            bar = best[most - 1].score
    state[BEST], state[BEST_TO] = count, rows


@nested_njit
def with_room(band: Any, most: int) -> Any:
    """The band with twice the room in its line, or room for `most` rows."""
    buffer = kskyband_kernels.grown(band.buffer, len(band.buffer), min(2 * len(band.buffer), most))
    return kskyband_kernels.Band(band.counts, band.items, band.order, band.ends, buffer)


@nested_njit
def spread(line: Any) -> bool:
    """Let twice as many rows be hot if few of them had to be ranked, as for short views; False where that is all."""
    state = line.state
    if 2 * state[RANKED] > state[HOT] or state[MOST_HOT] >= FLUSH_AT:
        return False
    state[MOST_HOT] = min(2 * state[MOST_HOT], FLUSH_AT)
    return True


@nested_njit
def rank_hot(band: Any, line: Any) -> None:
    """Rank the rows that became hot since the last answer, and put them among those ranked before."""
    ranked, total = line.state[RANKED], line.state[HOT]
    if total - ranked <= FEW:
        rank_few(band, line)
        return
    fresh = kskyband_kernels.ranked(band.buffer, line.hot[ranked:total].copy())
    for i in range(len(fresh)):
        line.hot[FLUSH_AT + i] = fresh[i]
    _merge_hot(band, line, len(fresh))


@nested_njit
def rank_few(band: Any, line: Any) -> None:
    """`rank_hot` where they are few: sorted by insertion, which takes no memory."""
    ranked, fresh, buffer, hot = line.state[RANKED], line.state[HOT] - line.state[RANKED], band.buffer, line.hot
    for i in range(fresh):
        mine, place = hot[ranked + i], FLUSH_AT + i
        while place > FLUSH_AT and kskyband_kernels.ranks_before(buffer[mine], buffer[hot[place - 1]]):
            hot[place] = hot[place - 1]
            place -= 1
        hot[place] = mine
    _merge_hot(band, line, fresh)


@nested_njit
def _merge_hot(band: Any, line: Any, fresh: int) -> None:
    """Merge the rest of the hot rows, in order of rank from FLUSH_AT on, from the back into those ranked before."""
    hot, place, scores, buffer = line.hot, line.place, line.scores, band.buffer
    i, below = line.state[RANKED] - 1, band.counts[kskyband_kernels.SIZE]
    for j in range(fresh - 1, -1, -1):
        mine = hot[FLUSH_AT + j]
        score = buffer[mine].score
        while i >= 0 and score >= scores[i]:
            if score == scores[i] and not kskyband_kernels.ranks_before(buffer[mine], buffer[hot[i]]):
                break
            below = place[i]
            hot[i + j + 1], place[i + j + 1], scores[i + j + 1] = hot[i], below, scores[i]
            i -= 1
        below = _place(band.items, place[i] if i >= 0 else 0, below, buffer[mine])
        hot[i + j + 1], place[i + j + 1], scores[i + j + 1] = mine, below, score
    line.state[RANKED] = line.state[HOT]


@nested_njit
def _place(items: Any, low: int, high: int, item: Any) -> int:
    """How many of the kept objects rank before `item`, which is from `low` to `high`."""
    while low < high:
        middle = (low + high) >> 1
        if kskyband_kernels.ranks_before(items[middle], item):
            low = middle + 1
        else:
            high = middle
    return low
