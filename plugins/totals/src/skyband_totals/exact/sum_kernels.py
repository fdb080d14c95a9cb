"""Kernels of exact totals by rows and by weight: a row updates one slot, and a pane logs one entry for each object."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from skyband.kernels.nested import kernel_njit, nested_njit

from skyband_totals import slots
from skyband_totals.exact import bar, pane_log
from skyband_totals.exact import candidates as bars
from skyband_totals.exact import written_answers as answers
from skyband_totals.exact.pane_log import HEAD, NEXT, NUMBER, START, TAIL
from skyband_totals.exact.sum_steps import (
    ANSWER,
    COUNTS,
    LENGTH,
    LONGEST,
    NEAR,
    PANE,
    STOCK,
    TABLE,
    TOUCHED,
    USED,
    WINDOW,
    WRITTEN,
    K,
    resume,
)
from skyband_totals.selection import best_of
from skyband_totals.slots import CURRENT, KEY, TOTAL


class Ledger(NamedTuple):
    """The state, for compiled code.

    counts:     int64[11], indexed by the ends of the log and USED (slots), TOUCHED (objects of the running pane),
                PANE (its number), LENGTH (of a pane), LONGEST (the longest window), K (the most objects in an answer),
                PREFETCH (no meaning)
    hot:        the table of objects
    touched:    int32[slots / 2], the slots that the running pane has added to
    log, sums:  int32[room] slots and int64[room] what a closed pane added to each, a ring
    panes:      int64[room, 2], the closed panes in the log
    spans, candidates: for each window
    """

    counts: Any
    hot: Any
    touched: Any
    log: Any
    sums: Any
    panes: Any
    spans: Any
    candidates: Any


def new_touched(size: int) -> Any:
    """Room for the slots that a pane can add to, in a table of `size` slots."""
    return np.empty(size // 2 + 1, np.int32)


def new(windows: list[int], length: int, k: int, least: int) -> Ledger:
    """An empty ledger: windows in panes of this length, answers of at most k objects with at least the least total."""
    counts = np.zeros(COUNTS, np.int64)
    counts[LENGTH], counts[LONGEST], counts[K] = length, int(np.argmax(windows)), k
    room = max(slots.FEWEST, min(4 * k + 64, 1024))
    return Ledger(
        counts,
        slots.new(slots.FEWEST, slots.columns_for(len(windows))),
        new_touched(slots.FEWEST),
        np.empty(pane_log.ROOM, np.int32),
        np.empty(pane_log.ROOM, np.int64),
        np.empty((pane_log.ROOM, 2), np.int64),
        bar.new_spans(windows, least),
        bar.no_candidates(len(windows), room),
    )


@kernel_njit
def run(
    ledger: Any, table: Any, touched: Any, written: Any, times: Any, objects: Any, units: Any, moments: Any,
    begin: int, end: int, least: Any, cursor: Any,
) -> Any:  # fmt: skip
    """Add rows, and answer for windows begin..end at the moments in between, as far as there is room.

    Moments of answers are multiples of a pane's length. `table` and `touched` are those of the ledger, or new ones of
    another size, to which everything moves first and which the ledger uses from then on.

    Returns DONE and 0, or what needs more room, and how much, before the next call; `cursor` says where to resume.
    """
    counts, spans = ledger.counts, ledger.spans
    renews = len(table) != len(ledger.hot)
    while True:
        if renews:  # one call, because each call compiles it again
            _move(ledger, table, touched)
            ledger = Ledger(counts, table, touched, ledger.log, ledger.sums, ledger.panes, spans, ledger.candidates)
        stopped = resume(ledger, written, times, objects, units, moments, begin, end, least, cursor)
        renews = stopped == TABLE
        if renews:
            needed = slots.slots_for_alive(ledger.hot, TOTAL + counts[LONGEST])
            if needed != len(ledger.hot):
                return TABLE, needed
        elif stopped == ANSWER:
            stop = answers.end_of_next(written, counts[K], counts[USED])
            if stop > len(written.totals):
                return WRITTEN, stop
            most = min(counts[K], counts[USED])
            near, stock = bars.prepare(ledger.hot, ledger.candidates, spans, cursor[WINDOW], most)
            if near + stock > 0:
                return (NEAR if near > 0 else STOCK), near + stock
        else:
            return stopped, np.int64(0)


@nested_njit
def _move(ledger: Any, table: Any, touched: Any) -> None:
    """Move the objects that are alive to this table."""
    counts, log = ledger.counts, ledger.log
    moved, alive = slots.move_alive(ledger.hot, table, TOTAL + counts[LONGEST])
    place = counts[HEAD] % len(log)
    for _ in range(counts[TAIL] - counts[HEAD]):
        log[place] = moved[log[place]]
        place = place + 1 if place + 1 < len(log) else 0
    for number in range(counts[TOUCHED]):
        touched[number] = moved[ledger.touched[number]]
    bars.follow(ledger.candidates.near, ledger.spans, moved)
    counts[USED] = alive


@njit(cache=True)
def entries(ledger: Any) -> Any:
    """All entries of the ledger, oldest first: int64[n] pane numbers, objects and sums."""
    counts, hot, log, sums, panes = ledger.counts, ledger.hot, ledger.log, ledger.sums, ledger.panes
    size = counts[TAIL] - counts[HEAD] + counts[TOUCHED]
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
def since(ledger: Any, pane: int, least: Any) -> Any:
    """The answer over the panes from this number on, including the running one: objects, totals, grand total, rest, and
    the number of objects."""
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
    objects, best, rest, count = best_of(hot, totals, counts[K], least, grand)
    return objects, best, grand, rest, count
