# mypy: disable-error-code="untyped-decorator"
"""Totals of distinct values, exactly: every (object, value) pair with its last pane.

A pair is in a window iff its last pane is. So the first time it comes in a pane, it is logged, and counts for each
window that did not hold it; when a window leaves that pane, it counts no more, unless it has come again since.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from skyband_totals import candidates as bars
from skyband_totals import pane_log, slots
from skyband_totals.candidates import BAR, FIRST, GRAND, PANES
from skyband_totals.pane_log import ENDS, HEAD, NEXT, NUMBER, START, TAIL
from skyband_totals.selection import first_from, grown
from skyband_totals.slots import FLAGS, KEY, TOTAL
from skyband_totals.sum_kernels import best_of

USED, PAIRS, PANE, LENGTH, LONGEST, K = range(ENDS, ENDS + 6)
COUNTS = ENDS + 6
HASH, LAST, OBJECT = range(3)
NEVER = np.int64(-(2**63))
"""The last pane of no pair: it marks a free slot, whatever the hash."""
UNKNOWN = np.int64(-1)
"""The slot of an object that was let go of, its pairs having left every window."""
_ONE = np.int64(1)
_AT_ONCE = 256
"""Objects that may rise to a bar before they are made candidates."""
_MIX1, _MIX2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_27, _30, _31 = np.uint64(27), np.uint64(30), np.uint64(31)


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


def new(windows: list[int], length: int, k: int) -> Ledger:
    """An empty ledger: windows in panes of this length, answers of at most k objects."""
    counts = np.zeros(COUNTS, np.int64)
    counts[LENGTH], counts[LONGEST], counts[K], counts[PANE] = length, int(np.argmax(windows)), k, NEVER
    room = max(slots.FEWEST, min(4 * k + 64, 1024))
    return Ledger(
        counts,
        slots.empty(slots.FEWEST, slots.columns_for(len(windows))),
        no_pairs(slots.FEWEST),
        np.empty(pane_log.ROOM, np.int32),
        np.full(len(windows), NEVER + 1, np.int64),
        np.empty((pane_log.ROOM, 2), np.int64),
        bars.new_spans(windows),
        np.empty((len(windows), room), np.int32),
    )


@njit(cache=True)
def no_pairs(size: int) -> Any:
    """A table of free slots."""
    pairs = np.empty((size, 3), np.int64)
    for slot in range(size):
        pairs[slot, LAST] = NEVER
    return pairs


@njit(inline="always")
def mixed(word: Any) -> Any:
    """Sixty-four random bits out of a word: the finaliser of splitmix64."""
    word = (word ^ (word >> _30)) * _MIX1
    word = (word ^ (word >> _27)) * _MIX2
    return word ^ (word >> _31)


@njit(inline="always")
def hash_pair(key: Any, value: Any) -> Any:
    """64 bits that tell a pair: two values of one object never have the same, nor have two objects with one value."""
    return np.int64(mixed(value ^ mixed(np.uint64(key) + _GOLDEN)))


@njit(cache=True)
def find_pair(pairs: Any, word: int) -> Any:
    """The pair's slot, or the free one where it would go."""
    mask = len(pairs) - 1
    slot = word & mask
    while pairs[slot, LAST] != NEVER and pairs[slot, HASH] != word:
        slot = (slot + 1) & mask
    return slot


@njit(cache=True)
def renew_pairs(ledger: Any) -> Any:
    """The ledger with a table of the pairs that the longest window holds, and room for as many again."""
    counts, pairs, log = ledger.counts, ledger.pairs, ledger.log
    bound = ledger.bounds[counts[LONGEST]]
    alive = 0
    for slot in range(len(pairs)):
        alive += pairs[slot, LAST] >= bound
    size = slots.FEWEST
    while 3 * size < 8 * alive:
        size *= 2
    new_pairs = no_pairs(size)
    moved = np.full(len(pairs), -1, np.int32)
    for slot in range(len(pairs)):
        if pairs[slot, LAST] >= bound:
            target = find_pair(new_pairs, pairs[slot, HASH])
            for column in range(3):
                new_pairs[target, column] = pairs[slot, column]
            moved[slot] = target
    place = counts[HEAD] % len(log)
    for _ in range(counts[TAIL] - counts[HEAD]):
        log[place] = moved[log[place]]
        place = place + 1 if place + 1 < len(log) else 0
    counts[PAIRS] = alive
    return Ledger(
        counts, ledger.hot, new_pairs, log, ledger.bounds, ledger.panes, ledger.spans, ledger.candidates
    )  # fmt: skip


@njit(cache=True)
def renew_objects(ledger: Any) -> Any:
    """The ledger with a table of the objects that the longest window holds, and room for as many again."""
    counts, pairs = ledger.counts, ledger.pairs
    hot, moved, alive = slots.renewed(ledger.hot, TOTAL + counts[LONGEST])
    for slot in range(len(pairs)):
        if pairs[slot, LAST] != NEVER and pairs[slot, OBJECT] != UNKNOWN:
            pairs[slot, OBJECT] = moved[pairs[slot, OBJECT]]
    bars.follow(ledger.candidates, ledger.spans, moved)
    counts[USED] = alive
    return Ledger(
        counts, hot, pairs, ledger.log, ledger.bounds, ledger.panes, ledger.spans, ledger.candidates
    )  # fmt: skip


@njit(cache=True)
def evict(ledger: Any, window: int, pane: int) -> None:
    """Take the panes before this number out of a window."""
    counts, panes, spans = ledger.counts, ledger.panes, ledger.spans
    ledger.bounds[window] = max(ledger.bounds[window], pane)
    first = spans[window, FIRST]
    while first < counts[NEXT] and panes[first, NUMBER] < pane:
        start, count = panes[first, START], pane_log.after(panes, counts, first) - panes[first, START]
        place, column = start % len(ledger.log), TOTAL + window
        gone = _take_out(ledger.hot, column, ledger.pairs, ledger.log, place, count, panes[first, NUMBER])
        spans[window, GRAND] -= gone
        first += 1
    spans[window, FIRST] = first


@njit(cache=True)
def _take_out(hot: Any, column: int, pairs: Any, log: Any, place: int, count: int, pane: int) -> Any:
    """Let the pairs of a pane's log that came last in it count no more; returns how many."""
    gone, room = 0, len(log)
    for _ in range(count):
        pair = log[place]
        if pairs[pair, LAST] == pane:
            hot[pairs[pair, OBJECT], column] -= 1
            gone += 1
        place += 1
        if place == room:
            place = 0
    return gone


@njit(cache=True)
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


@njit(cache=True)
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


@njit(cache=True)
def begin_pane(ledger: Any, pane: int) -> Any:
    """The ledger with a pane of this number at the end of its log."""
    counts = ledger.counts
    panes = pane_log.panes_with_room(ledger.panes, counts, ledger.spans, FIRST)
    panes[counts[NEXT], NUMBER], panes[counts[NEXT], START] = pane, counts[TAIL]
    counts[NEXT] += 1
    counts[PANE] = pane
    return Ledger(
        counts, ledger.hot, ledger.pairs, ledger.log, ledger.bounds, panes, ledger.spans, ledger.candidates
    )  # fmt: skip


@njit(cache=True)
def sight(ledger: Any, objects: Any, values: Any, words: Any, start: int, stop: int) -> Any:
    """Take in rows start..stop of the last pane; `words` are the pairs' hashes where there are no values."""
    counts, spans, bounds = ledger.counts, ledger.spans, ledger.bounds
    risen = np.empty((_AT_ONCE + len(spans), 2), np.int32)
    while start < stop:
        start, ready = _sight(
            ledger.hot, ledger.pairs, ledger.log, counts, spans, bounds, objects, values, words, risen, start, stop
        )
        candidates = ledger.candidates
        for number in range(ready):
            window, slot = np.int64(risen[number, 0]), np.int64(risen[number, 1])
            candidates = bars.enter(ledger.hot, candidates, spans, window, slot, counts[K])
        log = ledger.log
        if counts[TAIL] - counts[HEAD] == len(log):
            log = _ring_with_room(log, counts)
        ledger = Ledger(counts, ledger.hot, ledger.pairs, log, bounds, ledger.panes, spans, candidates)
        if 2 * counts[PAIRS] >= len(ledger.pairs):
            ledger = renew_pairs(ledger)
        if 2 * counts[USED] >= len(ledger.hot):
            ledger = renew_objects(ledger)
    return ledger


@njit(cache=True)
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
                if total >= spans[window, BAR] and hot[home, FLAGS] >> window & _ONE == 0:
                    hot[home, FLAGS] |= _ONE << window
                    risen[ready, 0], risen[ready, 1] = window, home
                    ready += 1
        row += 1
    counts[PAIRS], counts[USED] = known, used
    counts[TAIL] = counts[HEAD] + room - left
    return row, ready


@njit(cache=True)
def _ring_with_room(log: Any, counts: Any) -> Any:
    """A ring a quarter larger."""
    room = len(log)
    larger = np.empty(room + room // 4, log.dtype)
    source, target = counts[HEAD] % room, counts[HEAD] % len(larger)
    for _ in range(counts[TAIL] - counts[HEAD]):
        larger[target] = log[source]
        source = source + 1 if source + 1 < room else 0
        target = target + 1 if target + 1 < len(larger) else 0
    return larger


@njit(cache=True)
def run(ledger: Any, times: Any, objects: Any, values: Any, moments: Any, only: int, share: float) -> Any:
    """As that of `sum_kernels`, of pairs."""
    counts, spans = ledger.counts, ledger.spans
    k, length = counts[K], counts[LENGTH]
    begin, end = (0, len(spans)) if only < 0 else (only, only + 1)
    width = end - begin
    offsets = np.zeros(len(moments) * width + 1, np.int64)
    grand, rest = np.zeros(len(moments) * width, np.int64), np.zeros(len(moments) * width, np.int64)
    objects_out, totals_out = np.empty(64, np.int64), np.empty(64, np.int64)
    start, number, written = 0, 0, 0
    for asked in moments:
        stop = first_from(times, start, asked)
        ledger = feed(ledger, times, objects, values, start, stop)
        start = stop
        ledger = forget(ledger, asked // length)
        for window in range(begin, end):
            most = min(k, counts[USED])
            if written + most > len(totals_out):
                room = 2 * (written + most)
                objects_out, totals_out = grown(objects_out, written, room), grown(totals_out, written, room)
            candidates, kept, rest[number] = bars.answer(
                ledger.hot, ledger.candidates, spans, window, k, share,
                totals_out[written : written + most], objects_out[written : written + most],
            )  # fmt: skip
            ledger = Ledger(
                counts, ledger.hot, ledger.pairs, ledger.log, ledger.bounds, ledger.panes, spans, candidates
            )  # fmt: skip
            grand[number] = spans[window, GRAND]
            written += kept
            number += 1
            offsets[number] = written
    ledger = feed(ledger, times, objects, values, start, len(times))
    return ledger, offsets, objects_out[:written], totals_out[:written], grand, rest


@njit(cache=True)
def since(ledger: Any, pane: int, share: float) -> Any:
    """The answer over the pairs whose last pane is this number or later: objects, totals, grand total and rest."""
    hot, pairs = ledger.hot, ledger.pairs
    totals = np.zeros(len(hot), np.int64)
    grand = np.int64(0)
    bound = max(pane, ledger.bounds[ledger.counts[LONGEST]])
    for slot in range(len(pairs)):
        if pairs[slot, LAST] >= bound:
            totals[pairs[slot, OBJECT]] += 1
            grand += 1
    objects, best, rest = best_of(hot, totals, ledger.counts[K], share, grand)
    return objects, best, grand, rest


@njit(cache=True)
def held(ledger: Any) -> Any:
    """The pairs of the longest window: int64[n] last panes, objects and hashes."""
    pairs, bound = ledger.pairs, ledger.bounds[ledger.counts[LONGEST]]
    size = 0
    for slot in range(len(pairs)):
        size += pairs[slot, LAST] >= bound
    panes, objects, hashes = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    size = 0
    for slot in range(len(pairs)):
        if pairs[slot, LAST] >= bound:
            panes[size], hashes[size] = pairs[slot, LAST], pairs[slot, HASH]
            objects[size] = ledger.hot[pairs[slot, OBJECT], KEY]
            size += 1
    return panes, objects, hashes


@njit(cache=True)
def load(ledger: Any, panes: Any, objects: Any, hashes: Any) -> Any:
    """Take in pairs (panes ascending) as `held` gave them, into an empty ledger."""
    values = np.empty(0, np.uint64)
    start = 0
    while start < len(panes):
        ledger = begin_pane(ledger, panes[start])
        stop = first_from(panes, start, panes[start] + 1)
        ledger = sight(ledger, objects, values, hashes, start, stop)
        start = stop
    return ledger
