"""Kernels of exact totals of distinct values: every (object, value) pair with its last pane.

A pair is in a window iff its last pane is. So its first occurrence in a pane is logged, and counts for each window that
did not hold the pair. When a window leaves that pane, the pair no longer counts, unless it has occurred again since.
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
"""The most objects that rise to a bar before they become candidates."""


class Ledger(NamedTuple):
    """The state, for compiled code.

    counts: int64[10], indexed by the ends of the log and USED (slots of objects), PAIRS (slots of pairs), PANE (the
            last), LENGTH (of a pane), LONGEST (the longest window), K (the most objects in an answer)
    hot:    the table of objects
    pairs:  int64[slots, 3]: the hash of a pair, its last pane, and the slot of its object
    log:    int32[room]: slots of pairs, a ring
    bounds: int64[windows], the first pane in each window
    panes:  int64[room, 2], the panes in the log
    spans, candidates: for each window
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
    """An empty ledger: windows in panes of this length, answers of at most k objects with at least the least total."""
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
    """The ledger with a table of only the pairs in the longest window, and room for as many again."""
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
    """The ledger with a table of only the objects in the longest window, and room for as many again."""
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
    """Remove the panes before this number from a window."""
    counts, panes, spans = ledger.counts, ledger.panes, ledger.spans
    ledger.bounds[window] = max(ledger.bounds[window], pane)
    first = spans[window, FIRST]
    while first < counts[NEXT] and panes[first, NUMBER] < pane:
        start, count = panes[first, START], pane_log.after(panes, counts, first) - panes[first, START]
        place, column = start % len(ledger.log), TOTAL + window
        removed, emptied = _take_out(ledger.hot, column, ledger.pairs, ledger.log, place, count, panes[first, NUMBER])
        spans[window, GRAND] -= removed
        spans[window, OBJECTS] -= emptied
        first += 1
    spans[window, FIRST] = first


@nested_njit
def _take_out(hot: Any, column: int, pairs: Any, log: Any, place: int, count: int, pane: int) -> Any:
    """Subtract the pairs whose last pane this is; returns their number, and the number of objects left with none."""
    removed, emptied, room = 0, 0, len(log)
    for _ in range(count):
        pair = log[place]
        if pairs[pair, LAST] == pane:
            total = hot[pairs[pair, OBJECT], column] - 1
            hot[pairs[pair, OBJECT], column] = total
            removed += 1
            emptied += total == 0
        place += 1
        if place == room:
            place = 0
    return removed, emptied


@shared_njit
def forget(ledger: Any, pane: int) -> Any:
    """Remove from every window what it no longer holds at the start of a pane."""
    spans, counts = ledger.spans, ledger.counts
    for window in range(len(spans)):
        evict(ledger, window, pane - spans[window, PANES])
    pane_log.release(ledger.panes, counts, spans, FIRST)
    alive = spans[counts[LONGEST], GRAND]
    if len(ledger.pairs) > 1024 and 16 * alive < len(ledger.pairs):
        ledger = renew_pairs(ledger)
    if len(ledger.hot) > 1024 and 16 * alive < len(ledger.hot):
        ledger = renew_objects(ledger)
    return ledger


@nested_njit
def feed(ledger: Any, times: Any, objects: Any, values: Any, start: int, stop: int) -> Any:
    """Add rows start..stop, an (object, value) pair each."""
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
    """The ledger with a new pane of this number at the end of its log."""
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
    """Add rows start..stop of the last pane; `words` are the hashes of the pairs if there are no values."""
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
    """`sight`, as far as there is room: returns the next row, and the number of (window, object) that rose to a bar."""
    pane, mask, room, windows = counts[PANE], len(pairs) - 1, len(log), len(spans)
    pair_count, used, tail = counts[PAIRS], counts[USED], counts[TAIL]
    place, free = tail % room, room - (tail - counts[HEAD])
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
        if free == 0 or ready >= _AT_ONCE or 2 * pair_count >= len(pairs) or 2 * used >= len(hot):
            break
        if before == NEVER:
            pairs[slot, HASH], pairs[slot, OBJECT] = word, UNKNOWN
            pair_count += 1
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
        free -= 1
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
    counts[PAIRS], counts[USED] = pair_count, used
    counts[TAIL] = counts[HEAD] + room - free
    return row, ready


@nested_njit
def _prepare(written: Any, hot: Any, candidates: Any, spans: Any, window: int, k: int, used: int) -> Any:
    """Allocate memory for an answer, or find candidates for it; returns all answers, and the candidates."""
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
    """Add rows, and answer for windows begin..end at the moments in between; returns the ledger and the answers."""
    counts, spans = ledger.counts, ledger.spans
    start = 0
    for number in range(len(moments) + 1):
        last = number == len(moments)
        stop = len(times) if last else first_from(times, start, moments[number])
        ledger = feed(ledger, times, objects, values, start, stop)  # one call, because each call compiles it again
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
    """The answer over the pairs whose last pane is this number or later: objects, totals, grand total, rest, and the
    number of objects."""
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
    """Load pairs (panes ascending) that `pairs.entries_since` returned into an empty ledger."""
    values = np.empty(0, np.uint64)
    start = 0
    while start < len(panes):
        ledger = begin_pane(ledger, panes[start])
        stop = first_from(panes, start, panes[start] + 1)
        ledger = sight(ledger, objects, values, hashes, start, stop)
        start = stop
    return ledger
