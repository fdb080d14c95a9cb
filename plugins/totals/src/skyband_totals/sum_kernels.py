# mypy: disable-error-code="untyped-decorator"
"""Totals by rows and by weight, exactly: a row costs one slot, a pane one log entry an object, a moment a few."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from skyband.kernels.nested import nested_njit

from skyband_totals import candidates as bars
from skyband_totals import pane_log, slots
from skyband_totals import written_answers as answers
from skyband_totals.candidates import BAR, FIRST, GRAND, PANES
from skyband_totals.pane_log import HEAD, NEXT, NUMBER, START, TAIL
from skyband_totals.selection import best_of, first_from
from skyband_totals.slots import CURRENT, FLAGS, KEY, TOTAL
from skyband_totals.sum_steps import (
    COUNTS,
    DONE,
    LENGTH,
    LONGEST,
    MOMENT,
    PANE,
    PANES_END,
    ROW,
    ROWS,
    TOUCHED,
    USED,
    WINDOW,
    K,
    add,
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
        slots.empty(slots.FEWEST, slots.columns_for(len(windows))),
        np.empty(slots.FEWEST // 2 + 1, np.int32),
        np.empty(pane_log.ROOM, np.int32),
        np.empty(pane_log.ROOM, np.int64),
        np.empty((pane_log.ROOM, 2), np.int64),
        bars.new_spans(windows),
        np.empty((len(windows), room), np.int32),
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
    bars.follow(ledger.candidates, ledger.spans, moved)
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
        if bars.is_before_bar(spans, window, ledger.hot[slot, TOTAL + window], ledger.hot[slot, KEY]):
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
                total >= spans[window, BAR]
                and flags >> window & _ONE == 0
                and bars.is_before_bar(spans, window, total, hot[slot, KEY])
            ):
                risen[ready, 0], risen[ready, 1] = window, slot
                ready += 1
    for window in range(windows):
        spans[window, GRAND] += grand
    return ready


@njit(cache=True)
def forget(ledger: Any, pane: int) -> Any:
    """Take out of every window what it no longer holds at the start of a pane."""
    counts, spans = ledger.counts, ledger.spans
    for window in range(len(spans)):
        evict(ledger, window, pane - spans[window, PANES])
    pane_log.release(ledger.panes, counts, spans, FIRST)
    if is_sparse(counts, ledger.hot):
        ledger = renew(ledger)
    return ledger


@njit(cache=True)
def reach(ledger: Any, pane: int) -> Any:
    """Come to the start of a pane: what ran before it is closed, and what no window holds then is forgotten."""
    if ledger.counts[PANE] < pane:
        ledger = close(ledger)
    return forget(ledger, pane)


@nested_njit
def feed(ledger: Any, times: Any, objects: Any, units: Any, start: int, stop: int) -> Any:
    """Take in rows start..stop: an object a row, with units where there are any, otherwise each counting 1."""
    counts = ledger.counts
    while start < stop:
        pane = times[start] // counts[LENGTH]
        if counts[PANE] != pane or counts[TOUCHED] == 0:
            ledger = reach(ledger, pane)
            counts[PANE] = pane
        until = min(stop, first_from(times, start, (pane + 1) * counts[LENGTH]))
        while start < until:
            start = add(ledger.hot, ledger.touched, counts, objects, units, start, until)
            if start < until:
                ledger = renew(ledger)
    return ledger


@njit(cache=True)
def run(ledger: Any, times: Any, objects: Any, units: Any, moments: Any, only: int, share: float) -> Any:
    """Take in rows, and answer at moments (multiples of a pane's length) on the way, for one window or all (−1).

    Returns the ledger and, by moment and window: int64[q · m + 1] offsets of answers, their objects and totals, and
    int64[q · m] grand totals and the largest total of what is in no answer.
    """
    counts, spans = ledger.counts, ledger.spans
    begin, end = (0, len(spans)) if only < 0 else (only, only + 1)
    written = answers.room_for(len(moments) * (end - begin))
    cursor = np.array([0, 0, begin], np.int64)
    while True:
        stopped = go_on(ledger, written, times, objects, units, moments, begin, end, share, cursor)
        if stopped == DONE:
            return ledger, answers.cut(written)
        if stopped == ROWS:
            asked = moments[cursor[MOMENT]] if cursor[MOMENT] < len(moments) else 0
            stop = first_from(times, cursor[ROW], asked) if cursor[MOMENT] < len(moments) else len(times)
            ledger = feed(ledger, times, objects, units, cursor[ROW], stop)
            cursor[ROW] = stop
        elif stopped == PANES_END:
            ledger = reach(ledger, moments[cursor[MOMENT]] // counts[LENGTH])
        else:
            written, candidates = answers.write(
                written, ledger.hot, ledger.candidates, spans, cursor[WINDOW], counts[K], counts[USED], share
            )
            ledger = with_candidates(ledger, candidates)
            cursor[WINDOW] += 1


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
