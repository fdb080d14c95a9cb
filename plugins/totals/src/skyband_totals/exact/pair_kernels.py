"""Totals of distinct values, exactly: every (object, value) pair with its last pane.

A pair is in a window iff its last pane is. So the first time it comes in a pane, it is logged, and counts for each
window that did not hold it; when a window leaves that pane, it counts no more, unless it has come again since.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from skyband.kernels.nested import kernel_njit, nested_njit, shared_njit

from skyband_totals import slots
from skyband_totals.exact import bar, pane_log
from skyband_totals.exact import candidates as bars
from skyband_totals.exact import growth_kernels as growth
from skyband_totals.exact import written_answers as answers
from skyband_totals.exact.bar import FAR, FIRST, GRAND, OBJECTS, PANES
from skyband_totals.exact.pane_log import ENDS, HEAD, NEXT, NUMBER, START, TAIL
from skyband_totals.pairs import HASH, LAST, NEVER, OBJECT, UNKNOWN, hash_pair, no_pairs, renewed_pairs
from skyband_totals.selection import best_of, first_from
from skyband_totals.slots import FLAGS, KEY, TOTAL

USED, PAIRS, PANE, LENGTH, LONGEST, K = range(ENDS, ENDS + 6)
COUNTS = ENDS + 6
_ONE = np.int64(1)
_AT_ONCE = 256
"""Objects that may rise to a bar before they are made candidates."""


class Ledger(NamedTuple):
    """The state, for compiled code.

    counts: int64[10], indexed by the ends of the log and USED (slots of objects), PAIRS (slots of pairs), PANE (the
            last), LENGTH (of a pane), LONGEST (the longest window), K (objects in an answer, at most)
    hot:    the table of objects
    pairs:  int64[slots, 3]: the hash of a pair, its last pane, and the slot of its object
    log:    int32[room]: slots of pairs, a ring
    bounds: int64[windows], the first pane that each window holds
    panes:  int64[room, 2], the panes in the log
    spans, candidates: of each window
    """

    counts: Any
    hot: Any
    pairs: Any
    log: Any
    bounds: Any
    panes: Any
    spans: Any
    candidates: Any


def new(windows: list[int], length: int, k: int, least: int) -> Ledger:
    """An empty ledger: windows in panes of this length, answers of at most k objects with the least total or more."""
    counts = np.zeros(COUNTS, np.int64)
    counts[LENGTH], counts[LONGEST], counts[K], counts[PANE] = length, int(np.argmax(windows)), k, NEVER
    room = max(slots.FEWEST, min(4 * k + 64, 1024))
    return Ledger(
        counts,
        slots.new(slots.FEWEST, slots.columns_for(len(windows))),
        no_pairs(slots.FEWEST),
        np.empty(pane_log.ROOM, np.int32),
        np.full(len(windows), NEVER + 1, np.int64),
        np.empty((pane_log.ROOM, 2), np.int64),
        bar.new_spans(windows, least),
        bar.no_candidates(len(windows), room),
    )


@nested_njit
def renew_pairs(ledger: Any) -> Any:
    """The ledger with a table of the pairs that the longest window holds, and room for as many again."""
    counts, pairs, log = ledger.counts, ledger.pairs, ledger.log
    bound = ledger.bounds[counts[LONGEST]]
    new_pairs, moved, alive = renewed_pairs(pairs, bound)
    place = counts[HEAD] % len(log)
    for _ in range(counts[TAIL] - counts[HEAD]):
        log[place] = moved[log[place]]
        place = place + 1 if place + 1 < len(log) else 0
    counts[PAIRS] = alive
    return Ledger(counts, ledger.hot, new_pairs, log, ledger.bounds, ledger.panes, ledger.spans, ledger.candidates)


@nested_njit
def renew_objects(ledger: Any) -> Any:
    """The ledger with a table of the objects that the longest window holds, and room for as many again."""
    counts, pairs = ledger.counts, ledger.pairs
    longest = TOTAL + counts[LONGEST]
    size = slots.slots_for_alive(ledger.hot, longest)
    hot = ledger.hot if size == len(ledger.hot) else slots.empty(size, ledger.hot.shape[1])
    moved, alive = slots.move_alive(ledger.hot, hot, longest)
    for slot in range(len(pairs)):
        if pairs[slot, LAST] != NEVER and pairs[slot, OBJECT] != UNKNOWN:
            pairs[slot, OBJECT] = moved[pairs[slot, OBJECT]]
    bars.follow(ledger.candidates.near, ledger.spans, moved)
    counts[USED] = alive
    return Ledger(counts, hot, pairs, ledger.log, ledger.bounds, ledger.panes, ledger.spans, ledger.candidates)


@nested_njit
def evict(ledger: Any, window: int, pane: int) -> None:
    """Take the panes before this number out of a window."""
    counts, panes, spans = ledger.counts, ledger.panes, ledger.spans
    ledger.bounds[window] = max(ledger.bounds[window], pane)
    first = spans[window, FIRST]
    while first < counts[NEXT] and panes[first, NUMBER] < pane:
        start, count = panes[first, START], pane_log.after(panes, counts, first) - panes[first, START]
        place, column = start % len(ledger.log), TOTAL + window
        gone, last_ones = _take_out(ledger.hot, column, ledger.pairs, ledger.log, place, count, panes[first, NUMBER])
        spans[window, GRAND] -= gone
        spans[window, OBJECTS] -= last_ones
        first += 1
    spans[window, FIRST] = first


@nested_njit
def _take_out(hot: Any, column: int, pairs: Any, log: Any, place: int, count: int, pane: int) -> Any:
    """Let the pairs of a pane's log that came last in it count no more; returns how many, and of how many objects they
    were the last.
    """
    gone, last_ones, room = 0, 0, len(log)
    for _ in range(count):
        pair = log[place]
        if pairs[pair, LAST] == pane:
            total = hot[pairs[pair, OBJECT], column] - 1
            hot[pairs[pair, OBJECT], column] = total
            gone += 1
            last_ones += total == 0
        place += 1
        if place == room:
            place = 0
    return gone, last_ones


@shared_njit
def forget(ledger: Any, pane: int) -> Any:
    """Take out of every window what it no longer holds at the start of a pane."""
    spans, counts = ledger.spans, ledger.counts
    for window in range(len(spans)):
        evict(ledger, window, pane - spans[window, PANES])
    pane_log.release(ledger.panes, counts, spans, FIRST)
    held = spans[counts[LONGEST], GRAND]
    if len(ledger.pairs) > 1024 and 16 * held < len(ledger.pairs):
        ledger = renew_pairs(ledger)
    if len(ledger.hot) > 1024 and 16 * held < len(ledger.hot):
        ledger = renew_objects(ledger)
    return ledger


@nested_njit
def feed(ledger: Any, times: Any, objects: Any, values: Any, start: int, stop: int) -> Any:
    """Take in rows start..stop, an (object, value) pair each."""
    counts = ledger.counts
    words = np.empty(0, np.int64)
    while start < stop:
        pane = times[start] // counts[LENGTH]
        if counts[PANE] != pane:
            ledger = begin_pane(forget(ledger, pane), pane)
        until = min(stop, first_from(times, start, (pane + 1) * counts[LENGTH]))
        ledger = sight(ledger, objects, values, words, start, until)
        start = until
    return ledger


@nested_njit
def begin_pane(ledger: Any, pane: int) -> Any:
    """The ledger with a pane of this number at the end of its log."""
    counts = ledger.counts
    panes = ledger.panes
    if not pane_log.has_pane_room(panes, counts, ledger.spans, FIRST):
        panes = growth.more_panes(panes, counts, ledger.spans, FIRST)
    panes[counts[NEXT], NUMBER], panes[counts[NEXT], START] = pane, counts[TAIL]
    counts[NEXT] += 1
    counts[PANE] = pane
    return Ledger(counts, ledger.hot, ledger.pairs, ledger.log, ledger.bounds, panes, ledger.spans, ledger.candidates)


@nested_njit
def sight(ledger: Any, objects: Any, values: Any, words: Any, start: int, stop: int) -> Any:
    """Take in rows start..stop of the last pane; `words` are the pairs' hashes where there are no values."""
    counts, spans, bounds = ledger.counts, ledger.spans, ledger.bounds
    risen = np.empty((_AT_ONCE + len(spans), 2), np.int32)
    while start < stop:
        start, ready = _sight(
            ledger.hot, ledger.pairs, ledger.log, counts, spans, bounds, objects, values, words, risen, start, stop
        )
        candidates = ledger.candidates
        if bar.most_candidates(spans) + ready > candidates.near.shape[1]:
            candidates = growth.with_room(
                candidates, bar.most_candidates(spans) + max(ready, candidates.near.shape[1] // 2)
            )
        for number in range(ready):
            window, slot = np.int64(risen[number, 0]), np.int64(risen[number, 1])
            bars.enter(ledger.hot, candidates, spans, window, slot)
        bars.keep_few(ledger.hot, candidates, spans, counts[K])
        log = ledger.log
        if counts[TAIL] - counts[HEAD] == len(log):
            log = growth.larger_ring(log, counts, len(log) + len(log) // 4)
        ledger = Ledger(counts, ledger.hot, ledger.pairs, log, bounds, ledger.panes, spans, candidates)
        if 2 * counts[PAIRS] >= len(ledger.pairs):
            ledger = renew_pairs(ledger)
        if 2 * counts[USED] >= len(ledger.hot):
            ledger = renew_objects(ledger)
    return ledger


@nested_njit
def _sight(
    hot: Any, pairs: Any, log: Any, counts: Any, spans: Any, bounds: Any,
    objects: Any, values: Any, words: Any, risen: Any, start: int, stop: int,
) -> Any:  # fmt: skip
    """`sight`, as far as there is room: returns the next row, and how many (window, object) rose to a bar."""
    pane, mask, room, windows = counts[PANE], len(pairs) - 1, len(log), len(spans)
    known, used, tail = counts[PAIRS], counts[USED], counts[TAIL]
    place, left = tail % room, room - (tail - counts[HEAD])
    ready, row = 0, start
    while row < stop:
        word = words[row] if len(words) > 0 else hash_pair(objects[row], values[row])
        slot = word & mask
        while pairs[slot, LAST] != NEVER and pairs[slot, HASH] != word:
            slot = (slot + 1) & mask
        before = pairs[slot, LAST]
        if before == pane:
            row += 1
            continue
        if left == 0 or ready >= _AT_ONCE or 2 * known >= len(pairs) or 2 * used >= len(hot):
            break
        if before == NEVER:
            pairs[slot, HASH], pairs[slot, OBJECT] = word, UNKNOWN
            known += 1
        home = pairs[slot, OBJECT]
        if home == UNKNOWN:
            home = slots.find(hot, objects[row])
            if hot[home, FLAGS] == 0:
                slots.take(hot, home, objects[row])
                used += 1
            pairs[slot, OBJECT] = home
        pairs[slot, LAST] = pane
        log[place] = slot
        place = place + 1 if place + 1 < room else 0
        left -= 1
        for window in range(windows):
            if before < bounds[window]:
                spans[window, GRAND] += 1
                total = hot[home, TOTAL + window] + 1
                hot[home, TOTAL + window] = total
                spans[window, OBJECTS] += total == 1
                if (
                    total >= spans[window, FAR]
                    and hot[home, FLAGS] >> window & _ONE == 0
                    and bar.rises(spans, window, total, hot[home, KEY])
                ):
                    hot[home, FLAGS] |= _ONE << window
                    risen[ready, 0], risen[ready, 1] = window, home
                    ready += 1
        row += 1
    counts[PAIRS], counts[USED] = known, used
    counts[TAIL] = counts[HEAD] + room - left
    return row, ready


@nested_njit
def _prepare(written: Any, hot: Any, candidates: Any, spans: Any, window: int, k: int, used: int) -> Any:
    """Take memory for an answer, or else find candidates for it; returns all answers, and the candidates."""
    stop = answers.end_of_next(written, k, used)
    if stop > len(written.totals):
        return growth.with_answers(written, stop), candidates
    near, stock = bars.prepare(hot, candidates, spans, window, min(k, used))
    if near > 0:
        candidates = growth.with_room(candidates, near)
    if stock > 0:
        candidates = growth.with_stock(candidates, stock)
    return written, candidates


@kernel_njit
def run(
    ledger: Any, written: Any, times: Any, objects: Any, values: Any, moments: Any, begin: int, end: int, least: Any
) -> Any:
    """Take in rows, and answer for windows begin..end at moments on the way; returns the ledger and what is written."""
    counts, spans = ledger.counts, ledger.spans
    start = 0
    for number in range(len(moments) + 1):
        last = number == len(moments)
        stop = len(times) if last else first_from(times, start, moments[number])
        ledger = feed(ledger, times, objects, values, start, stop)  # from one place, as it is compiled for each
        if last:
            break
        ledger = forget(ledger, moments[number] // counts[LENGTH])
        start = stop
        for window in range(begin, end):
            hot, k = ledger.hot, counts[K]
            while not answers.write(written, hot, ledger.candidates, spans, window, k, counts[USED], least):
                written, candidates = _prepare(written, hot, ledger.candidates, spans, window, k, counts[USED])
                ledger = Ledger(
                    counts, ledger.hot, ledger.pairs, ledger.log, ledger.bounds, ledger.panes, spans, candidates
                )
    return ledger, written


@njit(cache=True)
def since(ledger: Any, pane: int, least: Any) -> Any:
    """The answer over the pairs whose last pane is this number or later: objects, totals, grand total, rest, and
    how many objects there are."""
    hot, pairs = ledger.hot, ledger.pairs
    totals = np.zeros(len(hot), np.int64)
    grand = np.int64(0)
    bound = max(pane, ledger.bounds[ledger.counts[LONGEST]])
    for slot in range(len(pairs)):
        if pairs[slot, LAST] >= bound:
            totals[pairs[slot, OBJECT]] += 1
            grand += 1
    objects, best, rest, count = best_of(hot, totals, ledger.counts[K], least, grand)
    return objects, best, grand, rest, count


@njit(cache=True)
def load(ledger: Any, panes: Any, objects: Any, hashes: Any) -> Any:
    """Take in pairs (panes ascending) as `pairs.held` gave them, into an empty ledger."""
    values = np.empty(0, np.uint64)
    start = 0
    while start < len(panes):
        ledger = begin_pane(ledger, panes[start])
        stop = first_from(panes, start, panes[start] + 1)
        ledger = sight(ledger, objects, values, hashes, start, stop)
        start = stop
    return ledger
