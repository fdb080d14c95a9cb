# mypy: disable-error-code="untyped-decorator"
"""What the totals of a `sum_kernels.Ledger` do without taking memory: rows, ends of panes and answers, one by one.

What takes no memory counts no references to arrays, of which a ledger has eight: where an answer follows each row
that is most of the work. Much of the rest would be handing those arrays on, each as seven numbers: what a moment or a
row takes is inlined.
"""

from typing import Any

import numpy as np
from skyband.kernels.nested import nested_njit

from skyband_totals import pane_log, slots
from skyband_totals import written_answers as answers
from skyband_totals.bar import FAR, FIRST, GRAND, PANES, SIZE, has_room, rises
from skyband_totals.candidates import drop_fallen
from skyband_totals.pane_log import ENDS, HEAD, NEXT, NUMBER, START, TAIL
from skyband_totals.selection import first_from
from skyband_totals.slots import CURRENT, FLAGS, KEY, TOTAL

USED, TOUCHED, PANE, LENGTH, LONGEST, K = range(ENDS, ENDS + 6)
COUNTS = ENDS + 6

DONE, PANE_BEGINS, FULL, PANES_END, ANSWER = range(5)
"""Why `go_on` stops: all is done, or else what needs memory comes next."""
ROW, MOMENT, WINDOW = range(3)
"""How far it has come, in int64[3]: rows taken, moments answered, and the window to be answered next."""
_ONE = np.int64(1)


@nested_njit
def go_on(
    ledger: Any, written: Any, times: Any, objects: Any, units: Any, moments: Any, begin: int, end: int, share: float,
    cursor: Any,
) -> int:  # fmt: skip
    """Take in rows and answer moments for windows begin..end until something needs memory; returns what."""
    counts = ledger.counts
    while True:
        last = cursor[MOMENT] == len(moments)
        asked = np.int64(0) if last else moments[cursor[MOMENT]]
        stop = len(times) if last else first_from(times, cursor[ROW], asked)
        stopped = _feed_at_hand(ledger, times, objects, units, stop, cursor)
        if stopped != DONE:
            return stopped
        if last:
            return DONE
        pane = asked // counts[LENGTH]
        if not _reach_at_hand(ledger, pane, pane + (asked > pane * counts[LENGTH])):
            return PANES_END
        while cursor[WINDOW] < end:
            if not answers.write(
                written, ledger.hot, ledger.candidates, ledger.spans, cursor[WINDOW], counts[K], counts[USED], share
            ):
                return ANSWER
            cursor[WINDOW] += 1
        cursor[MOMENT] += 1
        cursor[WINDOW] = begin


@nested_njit(forceinline=True)
def _feed_at_hand(ledger: Any, times: Any, objects: Any, units: Any, stop: int, cursor: Any) -> int:
    """Take in the rows before `stop`; returns what needs memory, or else DONE."""
    counts = ledger.counts
    while cursor[ROW] < stop:
        pane = times[cursor[ROW]] // counts[LENGTH]
        if counts[PANE] != pane or counts[TOUCHED] == 0:
            if not _reach_at_hand(ledger, pane, pane):
                return PANE_BEGINS
            counts[PANE] = pane
        until = min(stop, first_from(times, cursor[ROW], (pane + 1) * counts[LENGTH]))
        cursor[ROW] = add(ledger.hot, ledger.touched, counts, objects, units, cursor[ROW], until)
        if cursor[ROW] < until and not _make_room(ledger):
            return FULL
    return DONE


@nested_njit
def _make_room(ledger: Any) -> bool:
    """Free the slots of objects that are in no window any more; whether that left room for long enough to pay."""
    counts, spans, hot = ledger.counts, ledger.spans, ledger.hot
    for window in range(len(spans)):
        drop_fallen(hot, ledger.candidates, spans, window)
    counts[USED] = slots.sweep(hot, TOTAL + counts[LONGEST])
    return bool(16 * counts[USED] <= 7 * len(hot))  # so a new object pays for a look at 16 slots at most


@nested_njit(forceinline=True)
def _reach_at_hand(ledger: Any, pane: int, first: int) -> bool:
    """`sum_kernels._reach`, where that takes no memory; otherwise False, and it has still to be done."""
    counts, spans = ledger.counts, ledger.spans
    if counts[PANE] < pane and counts[TOUCHED] > 0 and not _close_at_hand(ledger):
        return False
    for window in range(len(spans)):
        evict(ledger, window, first - spans[window, PANES])
    pane_log.release(ledger.panes, counts, spans, FIRST)
    return not is_sparse(counts, ledger.hot)


@nested_njit(forceinline=True)
def _close_at_hand(ledger: Any) -> bool:
    """`sum_kernels.close` of a pane that has rows, where there is room; otherwise False, and nothing has changed."""
    counts, spans, log, hot, candidates = ledger.counts, ledger.spans, ledger.log, ledger.hot, ledger.candidates
    count, windows = counts[TOUCHED], len(spans)
    if counts[TAIL] - counts[HEAD] + count > len(log) or counts[NEXT] == len(ledger.panes):
        return False
    for window in range(windows):
        if not has_room(candidates, spans, window, count, counts[K]):
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
            if (
                total >= spans[window, FAR]
                and hot[slot, FLAGS] >> window & _ONE == 0
                and rises(spans, window, total, hot[slot, KEY])
            ):
                hot[slot, FLAGS] |= _ONE << window
                candidates.near[window, spans[window, SIZE]] = slot
                spans[window, SIZE] += 1
    for window in range(windows):
        spans[window, GRAND] += grand
    counts[TAIL] += count
    counts[TOUCHED] = 0
    return True


@nested_njit
def is_sparse(counts: Any, hot: Any) -> bool:
    """Whether the table is to be made anew, as most of what it holds is in no window any more."""
    return bool(len(hot) > 1024 and 16 * (counts[TAIL] - counts[HEAD] + counts[TOUCHED]) < len(hot))


@nested_njit(forceinline=True)
def evict(ledger: Any, window: int, pane: int) -> None:
    """Take the panes before this number out of a window."""
    counts, panes, spans = ledger.counts, ledger.panes, ledger.spans
    first = spans[window, FIRST]
    if first == counts[NEXT] or panes[first, NUMBER] >= pane:
        return
    start = panes[first, START]
    while first < counts[NEXT] and panes[first, NUMBER] < pane:
        first += 1
    stop = panes[first, START] if first < counts[NEXT] else counts[TAIL]
    place = start % len(ledger.log)
    spans[window, GRAND] -= _take_out(ledger.hot, TOTAL + window, ledger.log, ledger.sums, place, stop - start)
    spans[window, FIRST] = first


@nested_njit(forceinline=True)
def _take_out(hot: Any, column: int, log: Any, sums: Any, place: int, count: int) -> Any:
    """Subtract entries of the log from the totals in a column; returns their sum."""
    gone, room = np.int64(0), len(log)
    for _ in range(count):
        hot[log[place], column] -= sums[place]
        gone += sums[place]
        place += 1
        if place == room:
            place = 0
    return gone


@nested_njit(forceinline=True)
def add(hot: Any, touched: Any, counts: Any, objects: Any, units: Any, start: int, stop: int) -> int:
    """Add rows start..stop to the running pane; returns the row before which the table is full, or `stop`."""
    mask, most = len(hot) - 1, len(hot) >> 1
    used, count = counts[USED], counts[TOUCHED]
    weighed = len(units) > 0
    row = start
    while row < stop:
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
