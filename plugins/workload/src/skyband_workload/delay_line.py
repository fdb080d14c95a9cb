"""PaneBand's delay line: rows wait, unranked, until most of them turn out to be in no answer.

A view that begins at s or before has all kept objects of panes from s on, and all later rows. So a row that is beaten
by the k-th best of those, the *gate*, is in no answer of such a view, and can wait until a view is due that begins
after s. By then most such rows have been beaten by k later ones and are dropped unranked. The other rows, *hot*, are
ranked at the next answer. A view of a few hundred rows would be due too soon for that: it has its own list, `best`, and
does not shorten the wait.
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
"""The places in a state: the pane of the last row, the place of its first row in the line, and the number of rows that
raise its limit; the numbers of hot rows, possible hot rows and ranked ones; the place of the gate among the kept
objects, and the latest start of the views that it is for; when the line began, how many rows have arrived since, and
how many it may hold; the longest window, and the shortest that is answered from the kept objects; and the last object
whose rows with the limit's score may enter."""

BEST, MOST_BEST, BEST_FROM, BEST_TO, BEST_USED = range(14, 19)
"""The numbers of rows and possible rows in `best`; the pane since which they are the best, the first row of the line
that has not been compared with them, and whether this line used them for an answer."""

NO_GATE = NEVER = np.iinfo(np.int64).max
"""Without a gate every row is hot."""

SHARE = 3
"""The line is at most this part of the shortest window without a list: a half to a quarter cost the same."""
SHORT, FEW_WANTED = 256, 16
"""The rows and the largest k of a view with its own list."""
BEST_ROOM = 3 * FEW_WANTED
"""Three times k rows are kept: they last for two windows until they must be found again."""
ENOUGH = 256
"""The least expected rows of a line with a gate: with fewer, the gate costs more than it saves."""
ROOM = 3
"""The rows in the line for each kept object."""

LEAST_HOT, FLUSH_AT = 64, 1024
"""The hot rows between flushes, half as many as kept objects: more make flushes rarer but answers costlier."""
FEW, SORTED = 32, 256
"""Up to the first, hot rows are inserted without allocations; up to the second, sorted; if more, lines are flushed."""
BLOCK = 64
"""The kept objects that an answer skips at once if all are before its view."""

_FIRST = np.iinfo(np.int64).min
_LARGE = 1 << 40


class Line(NamedTuple):
    """Further state of a band whose buffer is the line: its first PENDING items, in order of arrival.

    state: int64[19], see above. limit: float64[1], the score below which a row of the last pane is in no answer.
    hot: int64[2 FLUSH_AT], indices into the buffer, in order of rank up to state[RANKED], then of arrival; the second
    half is for rows being ranked. place, scores: int64[FLUSH_AT] and float64[FLUSH_AT], the number of kept objects that
    rank before each ranked row, and its score. latest: int64[blocks], the latest pane of every BLOCK kept objects.
    best: ITEM[BEST_ROOM], the best of the youngest rows, in the line or kept, in order of rank. windows: int64[w],
    ascending, those that may be short, then a longer one or NEVER.
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
    """An empty line for an empty band, for queries with these windows and numbers of objects."""
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
    """Move the remaining ones of `rows` rows from the line to the band, and begin another line at `now`."""
    if line.state[HOT] < rows or 2 * line.state[RANKED] < rows:  # most are not ranked yet
        thin(band)
        ranking = radix.ranking(band.buffer, band.counts[kskyband_kernels.PENDING])
    else:
        rank_hot(band, line)
        ranking = line.hot
    oldest = now - line.state[LONGEST]
    if oldest < now:  # else it does not fit 64 bits
        kskyband_kernels.advance(band, oldest)
    band = kskyband_kernels.flush_ranked(band, ranking)
    return band, begin(band, line, now, rows)


@shared_njit
def begin(band: Any, line: Any, now: int, rows: int) -> Any:
    """Begin an empty line at `now`, for the current band; the line before held `rows` rows."""
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
    """The latest pane of every BLOCK kept objects, in `latest` if that is long enough."""
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
    """Start `pane` for further rows: those below its limit, or with its score and a later object, are beaten by k."""
    line.state[PANE] = pane
    position = band.counts[kskyband_kernels.K] - 1 + kskyband_kernels.ended(band, pane)
    line.limit[0], line.state[TIE] = -np.inf, NEVER
    if position < band.counts[kskyband_kernels.SIZE]:
        line.limit[0], line.state[TIE] = band.items[position].score, band.items[position].tie
    _measure_pane(band, line, band.counts[kskyband_kernels.PENDING])


@nested_njit
def _measure_pane(band: Any, line: Any, first: int) -> None:
    """Count the pane's rows in the line from `first` on; twice k of them raise its limit."""
    line.state[PANE_AT] = first
    line.state[RAISE_AT] = first + max(2 * min(band.counts[kskyband_kernels.K], _LARGE), LEAST_HOT)


@nested_njit
def raise_limit(band: Any, line: Any) -> None:
    """Set the limit of the pane to the k-th best of its rows in the line."""
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
    """End the line before an answer at `now`: its remaining rows become hot. False if many must be flushed."""
    state = line.state
    if state[HOT] < band.counts[kskyband_kernels.PENDING]:
        thin(band)
        count = band.counts[kskyband_kernels.PENDING]
        if count > state[MOST_HOT] // 2:
            return False
        for i in range(count):
            line.hot[i] = i
        state[HOT], state[RANKED], state[BEST_TO] = count, 0, count
        _measure_pane(band, line, count)
    state[BEGAN], state[CAME], state[GATE], state[LAST_START] = now, 0, NO_GATE, NEVER
    return True


@nested_njit
def compare(band: Any, line: Any) -> None:
    """Compare `best` with further rows of the line, and insert those that are better."""
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
    """Double the possible hot rows if few of them had to be ranked, as for short views; False at the maximum."""
    state = line.state
    if 2 * state[RANKED] > state[HOT] or state[MOST_HOT] >= FLUSH_AT:
        return False
    state[MOST_HOT] = min(2 * state[MOST_HOT], FLUSH_AT)
    return True


@nested_njit
def rank_hot(band: Any, line: Any) -> None:
    """Rank the rows that became hot since the last answer, and merge them with the ranked ones."""
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
    """`rank_hot` for few rows: an insertion sort, which allocates nothing."""
    ranked, fresh, buffer, hot = line.state[RANKED], line.state[HOT] - line.state[RANKED], band.buffer, line.hot
    for i in range(fresh):
        new, place = hot[ranked + i], FLUSH_AT + i
        while place > FLUSH_AT and kskyband_kernels.ranks_before(buffer[new], buffer[hot[place - 1]]):
            hot[place] = hot[place - 1]
            place -= 1
        hot[place] = new
    _merge_hot(band, line, fresh)


@nested_njit
def _merge_hot(band: Any, line: Any, fresh: int) -> None:
    """Merge the new hot rows, ranked from FLUSH_AT on, from the back into those that were ranked before."""
    hot, place, scores, buffer = line.hot, line.place, line.scores, band.buffer
    i, below = line.state[RANKED] - 1, band.counts[kskyband_kernels.SIZE]
    for j in range(fresh - 1, -1, -1):
        new = hot[FLUSH_AT + j]
        score = buffer[new].score
        while i >= 0 and score >= scores[i]:
            if score == scores[i] and not kskyband_kernels.ranks_before(buffer[new], buffer[hot[i]]):
                break
            below = place[i]
            hot[i + j + 1], place[i + j + 1], scores[i + j + 1] = hot[i], below, scores[i]
            i -= 1
        below = _place(band.items, place[i] if i >= 0 else 0, below, buffer[new])
        hot[i + j + 1], place[i + j + 1], scores[i + j + 1] = new, below, score
    line.state[RANKED] = line.state[HOT]


@nested_njit
def _place(items: Any, low: int, high: int, item: Any) -> int:
    """The number of kept objects that rank before `item`, between `low` and `high`."""
    while low < high:
        middle = (low + high) >> 1
        if kskyband_kernels.ranks_before(items[middle], item):
            low = middle + 1
        else:
            high = middle
    return low
