"""Steps of a `sum_kernels.Ledger` that allocate no memory: rows, ends of panes and answers, one by one.

Without allocations, the references to a ledger's eight arrays are not counted, which would be most of the work if each
row has an answer. Passing these arrays on, each as seven numbers, would be much of the rest, so that steps are inlined.
"""

from typing import Any

import numpy as np
from skyband.kernels.nested import nested_njit

from skyband_totals import slots
from skyband_totals.exact import pane_log
from skyband_totals.exact import written_answers as answers
from skyband_totals.exact.bar import FAR, FIRST, GRAND, OBJECTS, PANES, most_candidates, rises
from skyband_totals.exact.candidates import drop_fallen, enter, keep_few
from skyband_totals.exact.pane_log import ENDS, HEAD, NEXT, NUMBER, START, TAIL
from skyband_totals.selection import first_from
from skyband_totals.slots import CURRENT, FLAGS, KEY, TOTAL

USED, TOUCHED, PANE, LENGTH, LONGEST, K, PREFETCH = range(ENDS, ENDS + 7)
COUNTS = ENDS + 7
"""PREFETCH only holds the result of `_prefetch`, so that the compiler keeps the call."""

DONE, TABLE, LOG, ANSWER, WRITTEN, NEAR, STOCK = range(7)
"""Why `resume` stops: all is done, the table must be rebuilt, a pane cannot end, or an answer is not ready.

`sum_kernels.run` says what lacks room for an answer: those written, the candidates, or their stock.
"""
ROW, MOMENT, WINDOW = range(3)
"""The progress, in int64[3]: rows added, moments answered, and the next window to answer."""
_ONE = np.int64(1)
_CACHED = 2**18
"""Tables with more numbers than this do not fit the second-level cache."""
_AHEAD = 32
"""Rows whose slots are prefetched together."""
_LONG_AGO, _NEVER = np.int64(-(2**63)), np.int64(2**63 - 1)


@nested_njit
def resume(
    ledger: Any, written: Any, times: Any, objects: Any, units: Any, moments: Any, begin: int, end: int, least: Any,
    cursor: Any,
) -> int:  # fmt: skip
    """Add rows and answer moments for windows begin..end until something needs memory; returns what."""
    counts = ledger.counts
    length, pane = counts[LENGTH], counts[PANE]
    opens, reached = pane * length, _LONG_AGO
    while True:
        row, last = cursor[ROW], cursor[MOMENT] == len(moments)
        moment = _NEVER if last else moments[cursor[MOMENT]]
        is_row = row < len(times) and times[row] < moment
        if last and not is_row:
            return DONE
        time = times[row] if is_row else moment
        if not 0 <= time - opens < length:
            pane = time // length
            opens = pane * length
        first = pane if is_row else pane + (time > opens)  # the first pane that begins then or later
        ends = counts[PANE] < pane and counts[TOUCHED] > 0
        if ends or first > reached:
            if ends and not _close(ledger):
                return LOG
            _evict_all(ledger, first)
            if is_sparse(counts, ledger.hot):
                return TABLE
            reached = first
        if is_row:
            counts[PANE] = pane
            stop = first_from(times, row, min(moment, opens + length))
            cursor[ROW] = add(ledger.hot, ledger.touched, counts, objects, units, row, stop)
            if cursor[ROW] < stop and not _make_room(ledger):
                return TABLE
            continue
        while cursor[WINDOW] < end:
            if not answers.write(
                written, ledger.hot, ledger.candidates, ledger.spans, cursor[WINDOW], counts[K], counts[USED], least
            ):
                return ANSWER
            cursor[WINDOW] += 1
        cursor[MOMENT] += 1
        cursor[WINDOW] = begin


@nested_njit
def _make_room(ledger: Any) -> bool:
    """Free the slots of objects that have left all windows; returns whether this made enough room to be worth it."""
    counts, spans, hot = ledger.counts, ledger.spans, ledger.hot
    for window in range(len(spans)):
        drop_fallen(hot, ledger.candidates, spans, window)
    counts[USED] = slots.sweep(hot, TOTAL + counts[LONGEST])
    return bool(16 * counts[USED] <= 7 * len(hot))  # at most 16 slots are swept for each new object


@nested_njit(forceinline=True)
def _close(ledger: Any) -> bool:
    """Close the running pane: log what it added, and add it to the totals of all windows. False if there is no room."""
    counts, spans, log, hot, candidates = ledger.counts, ledger.spans, ledger.log, ledger.hot, ledger.candidates
    count, windows = counts[TOUCHED], len(spans)
    if counts[TAIL] - counts[HEAD] + count > len(log) or most_candidates(spans) + count > candidates.near.shape[1]:
        return False
    if not pane_log.has_pane_room(ledger.panes, counts, spans, FIRST):
        return False
    ledger.panes[counts[NEXT], NUMBER], ledger.panes[counts[NEXT], START] = counts[PANE], counts[TAIL]
    counts[NEXT] += 1
    place, grand = counts[TAIL] % len(log), np.int64(0)
    for number in range(count):
        slot = ledger.touched[number]
        added = hot[slot, CURRENT]
        hot[slot, CURRENT] = 0
        grand += added
        log[place], ledger.sums[place] = slot, added
        place = place + 1 if place + 1 < len(log) else 0
        for window in range(windows):
            total = hot[slot, TOTAL + window] + added
            hot[slot, TOTAL + window] = total
            spans[window, OBJECTS] += total == added
            if (
                total >= spans[window, FAR]
                and hot[slot, FLAGS] >> window & _ONE == 0
                and rises(spans, window, total, hot[slot, KEY])
            ):
                enter(hot, candidates, spans, window, slot)
    for window in range(windows):
        spans[window, GRAND] += grand
    counts[TAIL] += count
    counts[TOUCHED] = 0
    keep_few(hot, candidates, spans, counts[K])
    return True


@nested_njit
def is_sparse(counts: Any, hot: Any) -> bool:
    """Whether the table must be rebuilt, because most of its objects have left all windows."""
    return bool(len(hot) > 1024 and 16 * (counts[TAIL] - counts[HEAD] + counts[TOUCHED]) < len(hot))


@nested_njit(forceinline=True)
def _evict_all(ledger: Any, first: int) -> None:
    """Forget what no window holds when a pane of this number begins."""
    spans = ledger.spans
    for window in range(len(spans)):
        _evict(ledger, window, first - spans[window, PANES])
    pane_log.release(ledger.panes, ledger.counts, spans, FIRST)


@nested_njit(forceinline=True)
def _evict(ledger: Any, window: int, pane: int) -> None:
    """Remove the panes before this number from a window."""
    counts, panes, spans = ledger.counts, ledger.panes, ledger.spans
    first = spans[window, FIRST]
    if first == counts[NEXT] or panes[first, NUMBER] >= pane:
        return
    start = panes[first, START]
    while first < counts[NEXT] and panes[first, NUMBER] < pane:
        first += 1
    stop = panes[first, START] if first < counts[NEXT] else counts[TAIL]
    place = start % len(ledger.log)
    removed, emptied = _take_out(ledger.hot, TOTAL + window, ledger.log, ledger.sums, place, stop - start)
    spans[window, GRAND] -= removed
    spans[window, OBJECTS] -= emptied
    spans[window, FIRST] = first


@nested_njit(forceinline=True)
def _take_out(hot: Any, column: int, log: Any, sums: Any, place: int, count: int) -> Any:
    """Subtract entries of the log from the totals in a column; returns their sum, and the number of totals now 0."""
    removed, emptied, room = np.int64(0), np.int64(0), len(log)
    for _ in range(count):
        total = hot[log[place], column] - sums[place]
        hot[log[place], column] = total
        removed += sums[place]
        emptied += total == 0
        place += 1
        if place == room:
            place = 0
    return removed, emptied


@nested_njit(forceinline=True)
def _prefetch(hot: Any, objects: Any, start: int, stop: int, mask: int) -> Any:
    """Read a slot of each row, so that cache misses overlap. The result has no meaning."""
    mixture = np.int64(0)
    for row in range(start, stop):
        mixture ^= hot[slots.place(objects[row], mask), FLAGS]
    return mixture


@nested_njit(forceinline=True)
def add(hot: Any, touched: Any, counts: Any, objects: Any, units: Any, start: int, stop: int) -> int:
    """Add rows start..stop to the running pane; returns the row before which the table is full, or `stop`."""
    mask, most = len(hot) - 1, len(hot) >> 1
    used, count = counts[USED], counts[TOUCHED]
    weighed, large = len(units) > 0, len(hot) * hot.shape[1] > _CACHED
    row, until = start, start
    while row == until and row < stop:
        until = stop
        if large:
            until = min(row + _AHEAD, stop)
            counts[PREFETCH] = _prefetch(hot, objects, row, until, mask)
        while row < until:
            key = objects[row]
            slot = slots.place(key, mask)
            while hot[slot, FLAGS] != 0 and hot[slot, KEY] != key:
                slot = (slot + 1) & mask
            added = units[row] if weighed else 1
            current = hot[slot, CURRENT]
            if current == 0 and added != 0:
                if hot[slot, FLAGS] == 0:
                    if used >= most:
                        break
                    slots.take(hot, slot, key)
                    used += 1
                touched[count] = slot
                count += 1
            hot[slot, CURRENT] = current + added
            row += 1
    counts[USED], counts[TOUCHED] = used, count
    return row
