"""PaneBand's executor loop: rows wait in a line, the remaining ones enter a k-skyband, and answers come from both."""

from typing import Any

import numpy as np
from skyband.arrays import Float64, Int64
from skyband.kernels import kskyband_kernels
from skyband.kernels.nested import kernel_njit, nested_njit, shared_njit

from skyband_workload.delay_line import (
    BEST_FROM,
    BLOCK,
    CAME,
    FEW,
    FEW_WANTED,
    GATE,
    HOT,
    LAST_START,
    MOST,
    MOST_HOT,
    NO_GATE,
    PANE,
    RAISE_AT,
    RANKED,
    SHORT,
    SHORTEST,
    SORTED,
    TIE,
    close,
    compare,
    enter_pane,
    flushed,
    raise_limit,
    rank_few,
    rank_hot,
    spread,
    with_room,
)
from skyband_workload.pane_answers import alive, extract, extract_best, find_best, first_in_line
from skyband_workload.table import Rows

DONE, LINE_FULL, LINE_OVER, MANY_HOT, ANSWERS_FULL = range(5)
"""Why `_resume` stops: all is done, or the next step needs memory."""
MOMENT, ROW, ENTERED, FILLED = range(4)
"""The progress of `_resume`, in int64[4]: moments answered, rows added, panes entered, objects of answers written."""


@kernel_njit
def run(
    band: Any, line: Any, panes: Int64, rows: Rows, before: Int64, at: Int64, start: Int64, k: Int64,
    settles: bool, now: int, cursor: Int64, sizes: Int64, objects: Int64, scores: Float64,
) -> tuple[Any, Any]:  # fmt: skip
    """Add rows and answer moments, in order of time, until all are answered or an answer has no room.

    panes: the view starts after the last row's pane, ascending. before: the number of rows before each moment. settles:
    whether the line is emptied at the end, as of `now`. cursor: int64[4], the progress. Writes sizes, the size of each
    answer, and objects and scores, those of all answers one after the other. Returns the new band and line.
    """
    settled = not settles
    while True:
        stopped = _resume(band, line, panes, rows, before, at, start, k, cursor, sizes, objects, scores)
        compare(band, line)
        if stopped == ANSWERS_FULL or (stopped == DONE and settled):
            return band, line
        pending, flushes, moment = band.counts[kskyband_kernels.PENDING], False, now
        if stopped == LINE_FULL:
            if pending == line.state[RAISE_AT]:
                raise_limit(band, line)
            elif pending == len(band.buffer) and pending < line.state[MOST]:
                band = with_room(band, line.state[MOST])
            elif pending == len(band.buffer) or not spread(line):
                flushes, moment = True, rows.time[cursor[ROW]]
        elif stopped == LINE_OVER:
            moment = at[cursor[MOMENT]]
            flushes = not close(band, line, moment)
        elif stopped == DONE:
            flushes = settled = True
        elif stopped == MANY_HOT and line.state[HOT] - line.state[RANKED] > SORTED:
            flushes, moment = True, at[cursor[MOMENT]]
        elif stopped == MANY_HOT:
            rank_hot(band, line)
        if flushes:
            band, line = flushed(band, line, moment, pending)


@nested_njit
def _resume(
    band: Any, line: Any, panes: Int64, rows: Rows, before: Int64, at: Int64, start: Int64, k: Int64,
    cursor: Int64, sizes: Int64, objects: Int64, scores: Float64,
) -> int:  # fmt: skip
    """Add rows and answer moments until something needs memory; returns what.

    Without allocations, the references to two dozen arrays are not counted, which took nine tenths of the time if each
    row was followed by an answer.
    """
    state = line.state
    while True:
        m = cursor[MOMENT]
        last = before[m] if m < len(before) else len(rows.time)
        row = cursor[ROW]
        if row < last:
            has_room = _take(band, line, panes, rows, last, cursor)
            state[CAME] += cursor[ROW] - row
            if not has_room:
                return LINE_FULL
        if m == len(before):
            return DONE
        filled, wanted = cursor[FILLED], k[m]
        few = wanted <= FEW_WANTED and filled + wanted + BLOCK <= len(objects)
        while True:
            if (
                few
                and start[m] >= state[BEST_FROM]
                and extract_best(band, line, start[m], wanted, objects, scores, filled) == wanted
            ):
                break
            first = first_in_line(band, start[m])
            wanted = min(wanted, alive(band, start[m], first))
            if filled + wanted + BLOCK > len(objects):
                return ANSWERS_FULL
            in_line = first > 0 and band.counts[kskyband_kernels.PENDING] - first <= SHORT
            if few and (in_line or at[m] - start[m] < state[SHORTEST]):
                find_best(band, line, start[m], first, k[m])
                continue
            if start[m] > state[LAST_START]:
                return LINE_OVER
            if state[HOT] - state[RANKED] > FEW:
                return MANY_HOT
            if state[RANKED] < state[HOT]:
                rank_few(band, line)
            extract(band, line, start[m], wanted, objects, scores, filled)
            break
        cursor[FILLED] = filled + wanted
        cursor[MOMENT] = m + 1
        sizes[m] = wanted


@nested_njit
def _take(band: Any, line: Any, panes: Int64, rows: Rows, last: int, cursor: Int64) -> bool:
    """Add rows up to `last`; most are stored after two comparisons. False if there is no room."""
    state, times, scores = line.state, rows.time, rows.score
    r, entered = cursor[ROW], cursor[ENTERED]
    while r < last:
        ahead = entered < len(panes)
        until = panes[entered] if ahead else 0
        if ahead and times[r] >= until:
            enter_pane(band, line, until)
            entered += 1
            continue
        pane, limit, tie, gate = state[PANE], line.limit[0], state[TIE], state[GATE]
        bar = band.items[gate].score if gate != NO_GATE else -np.inf
        buffer, pending, hot, most_hot = band.buffer, band.counts[kskyband_kernels.PENDING], state[HOT], state[MOST_HOT]
        room = min(len(buffer), state[RAISE_AT])
        while r < last and not (ahead and times[r] >= until):
            score = scores[r]
            if score > limit or (score == limit and rows.object[r] <= tie):
                if pending == room:
                    break
                if score >= bar and (
                    score > bar or kskyband_kernels.precedes(band, gate, score, rows.object[r], rows.arrival[r])
                ):
                    if hot == most_hot:
                        break
                    line.hot[hot] = pending
                    hot += 1
                slot = buffer[pending]
                slot.score = score
                slot.expiry = pane
                slot.tie = rows.object[r]
                slot.key = rows.arrival[r]
                pending += 1
            r += 1
        band.counts[kskyband_kernels.PENDING], state[HOT] = pending, hot
        if r < last and not (ahead and times[r] >= until):
            cursor[ROW], cursor[ENTERED] = r, entered
            return False
    cursor[ROW], cursor[ENTERED] = r, entered
    return True


@shared_njit
def filled(band: Any, items: Any) -> Any:
    """The band with these items added, and flushed."""
    for item in items:
        if kskyband_kernels.is_full(band):
            band = kskyband_kernels.flush(band)
        kskyband_kernels.add(band, item.score, item.expiry, item.tie, item.key)
    return kskyband_kernels.flush(band)
