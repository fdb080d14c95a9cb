# mypy: disable-error-code="untyped-decorator"
"""Totals by rows and by weight, exactly: a row costs one slot, a pane one log entry an object, a moment a few."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from skyband.kernels.nested import kernel_njit, nested_njit

from skyband_totals import bar, pane_log, slots
from skyband_totals import candidates as bars
from skyband_totals import written_answers as answers
from skyband_totals.bar import FAR, FIRST, GRAND, PANES
from skyband_totals.pane_log import HEAD, NEXT, NUMBER, START, TAIL
from skyband_totals.selection import best_of
from skyband_totals.slots import CURRENT, FLAGS, KEY, TOTAL
from skyband_totals.sum_steps import (
    COUNTS,
    DONE,
    FULL,
    LENGTH,
    LONGEST,
    MOMENT,
    PANE,
    PANE_BEGINS,
    PANES_END,
    ROW,
    TOUCHED,
    USED,
    WINDOW,
    K,
    evict,
    go_on,
    is_sparse,
)

_ONE = np.int64(1)


class Ledger(NamedTuple):
    """The state, for compiled code.

    counts:     int64[10], indexed by the ends of the log and USED (slots), TOUCHED (objects of the running pane),
                PANE (its number), LENGTH (of a pane), LONGEST (the longest window), K (objects in an answer, at most)
    hot:        the table of objects
    touched:    int32[slots / 2], the slots that the running pane has added to
    log, sums:  int32[room] slots and int64[room] what a closed pane added to each, a ring
    panes:      int64[room, 2], the closed panes in the log
    spans, candidates: of each window
    """

    counts: Any
    hot: Any
    touched: Any
    log: Any
    sums: Any
    panes: Any
    spans: Any
    candidates: Any


def new(windows: list[int], length: int, k: int) -> Ledger:
    """An empty ledger: windows in panes of this length, answers of at most k objects."""
    counts = np.zeros(COUNTS, np.int64)
    counts[LENGTH], counts[LONGEST], counts[K] = length, int(np.argmax(windows)), k
    room = max(slots.FEWEST, min(4 * k + 64, 1024))
    return Ledger(
        counts,
        slots.new(slots.FEWEST, slots.columns_for(len(windows))),
        np.empty(slots.FEWEST // 2 + 1, np.int32),
        np.empty(pane_log.ROOM, np.int32),
        np.empty(pane_log.ROOM, np.int64),
        np.empty((pane_log.ROOM, 2), np.int64),
        bar.new_spans(windows),
        bar.no_candidates(len(windows), room),
    )


@nested_njit
def renew(ledger: Any) -> Any:
    """The ledger with a table of what is alive only, and room for as much again."""
    counts, log, touched = ledger.counts, ledger.log, ledger.touched
    hot, moved, alive = slots.renewed(ledger.hot, TOTAL + counts[LONGEST])
    place = counts[HEAD] % len(log)
    for _ in range(counts[TAIL] - counts[HEAD]):
        log[place] = moved[log[place]]
        place = place + 1 if place + 1 < len(log) else 0
    new_touched = np.empty(len(hot) // 2 + 1, np.int32)
    for number in range(counts[TOUCHED]):
        new_touched[number] = moved[touched[number]]
    bars.follow(ledger.candidates.near, ledger.spans, moved)
    counts[USED] = alive
    return Ledger(counts, hot, new_touched, log, ledger.sums, ledger.panes, ledger.spans, ledger.candidates)


@nested_njit
def close(ledger: Any) -> Any:
    """Close the running pane: log what it added, and add that to the totals of all windows."""
    counts, spans = ledger.counts, ledger.spans
    count = counts[TOUCHED]
    if count == 0:
        return ledger
    log, sums = pane_log.ring_with_room(ledger.log, ledger.sums, counts, count)
    panes = pane_log.panes_with_room(ledger.panes, counts, spans, FIRST)
    panes[counts[NEXT], NUMBER], panes[counts[NEXT], START] = counts[PANE], counts[TAIL]
    counts[NEXT] += 1
    risen = np.empty((count * len(spans), 2), np.int32)
    ready = _add_pane(ledger.hot, ledger.touched, count, log, sums, counts[TAIL] % len(log), spans, risen)
    candidates = ledger.candidates
    for number in range(ready):
        window, slot = np.int64(risen[number, 0]), np.int64(risen[number, 1])
        if bar.is_before_bar(spans, window, ledger.hot[slot, TOTAL + window], ledger.hot[slot, KEY]):
            candidates = bars.enter(ledger.hot, candidates, spans, window, slot, counts[K])
    counts[TAIL] += count
    counts[TOUCHED] = 0
    return Ledger(counts, ledger.hot, ledger.touched, log, sums, panes, spans, candidates)


@nested_njit
def _add_pane(hot: Any, touched: Any, count: int, log: Any, sums: Any, place: int, spans: Any, risen: Any) -> int:
    """Log the running pane from a place on, add it to all totals; returns how many (window, slot) rose to a bar."""
    windows, room = len(spans), len(log)
    grand = np.int64(0)
    ready = 0
    for number in range(count):
        slot = touched[number]
        added = hot[slot, CURRENT]
        flags = hot[slot, FLAGS]
        hot[slot, CURRENT] = 0
        grand += added
        log[place], sums[place] = slot, added
        place += 1
        if place == room:
            place = 0
        for window in range(windows):
            total = hot[slot, TOTAL + window] + added
            hot[slot, TOTAL + window] = total
            if (
                total >= spans[window, FAR]
                and flags >> window & _ONE == 0
                and bar.rises(spans, window, total, hot[slot, KEY])
            ):
                risen[ready, 0], risen[ready, 1] = window, slot
                ready += 1
    for window in range(windows):
        spans[window, GRAND] += grand
    return ready


@nested_njit
def _reach(ledger: Any, pane: int, first: int) -> Any:
    """Come to a moment: the running pane is closed if it ends before, and what no window holds then is forgotten.

    The moment is in `pane`, and the first pane that begins then or later is `first`: that one, or the next.
    """
    counts, spans = ledger.counts, ledger.spans
    if counts[PANE] < pane:
        ledger = close(ledger)
    for window in range(len(spans)):
        evict(ledger, window, first - spans[window, PANES])
    pane_log.release(ledger.panes, counts, spans, FIRST)
    return ledger


@kernel_njit
def run(ledger: Any, times: Any, objects: Any, units: Any, moments: Any, only: int, share: float) -> Any:
    """Take in rows, and come to moments on the way: answers for one window, all (−1) or none (−2).

    Where there are answers, moments are multiples of a pane's length.

    Returns the ledger and, by moment and window: int64[q · m + 1] offsets of answers, their objects and totals, and
    int64[q · m] grand totals and the largest total of what is in no answer.
    """
    counts, spans = ledger.counts, ledger.spans
    begin, end = (only, only + 1) if only >= 0 else (0, len(spans) if only == -1 else 0)
    written = answers.room_for(len(moments) * (end - begin))
    cursor = np.array([0, 0, begin], np.int64)
    while True:
        stopped = go_on(ledger, written, times, objects, units, moments, begin, end, share, cursor)
        if stopped == DONE:
            return ledger, answers.cut(written)
        begins, full = stopped == PANE_BEGINS, stopped == FULL
        if begins or stopped == PANES_END:  # each called from one place, as it is compiled for each
            time = times[cursor[ROW]] if begins else moments[cursor[MOMENT]]
            pane = time // counts[LENGTH]
            ledger = _reach(ledger, pane, pane if begins or time == pane * counts[LENGTH] else pane + 1)
            counts[PANE] = pane if begins else counts[PANE]
            full = is_sparse(counts, ledger.hot)
        elif not full:
            written, candidates = answers.prepare(
                written, ledger.hot, ledger.candidates, spans, cursor[WINDOW], counts[K], counts[USED]
            )
            ledger = with_candidates(ledger, candidates)
        if full:
            ledger = renew(ledger)


@nested_njit
def with_candidates(ledger: Any, candidates: Any) -> Any:
    """The ledger with these candidates."""
    return Ledger(
        ledger.counts, ledger.hot, ledger.touched, ledger.log, ledger.sums, ledger.panes, ledger.spans, candidates
    )


@njit(cache=True)
def entries(ledger: Any) -> Any:
    """All that the ledger holds, oldest first: int64[n] pane numbers, objects and sums."""
    counts, hot, log, sums, panes = ledger.counts, ledger.hot, ledger.log, ledger.sums, ledger.panes
    held = counts[TAIL] - counts[HEAD]
    size = held + counts[TOUCHED]
    numbers, keys, totals = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    place = counts[HEAD] % len(log)
    entry = 0
    for pane in range(counts[pane_log.OLDEST], counts[NEXT]):
        for _ in range(pane_log.after(panes, counts, pane) - panes[pane, START]):
            numbers[entry], keys[entry], totals[entry] = panes[pane, NUMBER], hot[log[place], KEY], sums[place]
            place = place + 1 if place + 1 < len(log) else 0
            entry += 1
    for number in range(counts[TOUCHED]):
        slot = ledger.touched[number]
        numbers[entry], keys[entry], totals[entry] = counts[PANE], hot[slot, KEY], hot[slot, CURRENT]
        entry += 1
    return numbers, keys, totals


@njit(cache=True)
def since(ledger: Any, pane: int, share: float) -> Any:
    """The answer over the panes from this number on, the running one too: objects, totals, grand total and rest."""
    counts, hot, log, sums, panes = ledger.counts, ledger.hot, ledger.log, ledger.sums, ledger.panes
    totals = np.zeros(len(hot), np.int64)
    grand = np.int64(0)
    first = counts[pane_log.OLDEST]
    while first < counts[NEXT] and panes[first, NUMBER] < pane:
        first += 1
    start = panes[first, START] if first < counts[NEXT] else counts[TAIL]
    place = start % len(log)
    for _ in range(counts[TAIL] - start):
        totals[log[place]] += sums[place]
        grand += sums[place]
        place = place + 1 if place + 1 < len(log) else 0
    if counts[PANE] >= pane:
        for number in range(counts[TOUCHED]):
            slot = ledger.touched[number]
            totals[slot] += hot[slot, CURRENT]
            grand += hot[slot, CURRENT]
    objects, best, rest = best_of(hot, totals, counts[K], share, grand)
    return objects, best, grand, rest
