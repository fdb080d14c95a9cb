"""PaneBand's executor loop: rows wait in a line, what they leave goes into one k-skyband, answers come out of both."""

# mypy: disable-error-code="untyped-decorator"

from typing import Any

import numpy as np
from numba import njit
from skyband.arrays import Float64, Int64
from skyband.kernels import kskyband_kernels

from skyband_workload.delay_line import (
    BLOCK,
    DEADLINE,
    GATE,
    HOT,
    MOST,
    MOST_HOT,
    NO_GATE,
    PANE,
    RAISE_AT,
    RANKED,
    close,
    enter_pane,
    flushed,
    raise_limit,
    rank_hot,
    with_room,
)
from skyband_workload.pane_answers import alive, extract
from skyband_workload.table import Rows

MOST_ROOM = 1 << 20
"""Objects of answers that room is made for at once; beyond it grows by doubling."""


@njit(cache=True)
def run(
    band: Any, line: Any, panes: Int64, rows: Rows, before: Int64, at: Int64, start: Int64, k: Int64
) -> tuple[Any, Any, Int64, Int64, Float64]:
    """Take rows and answer moments, in order of time.

    panes: the view starts after the last row's pane, ascending. before: how many of the rows come before each moment.
    Returns band and line to go on with, the size of each answer, and their objects and scores one after the other.
    """
    sizes = np.zeros(len(before), np.int64)
    room = _answer_room(band, len(rows.time), k)
    objects, scores = np.empty(room, np.int64), np.empty(room, np.float64)
    filled, taken, entered = np.int64(0), np.int64(0), np.int64(0)  # a literal 0 would have `_take` compiled twice
    for m in range(len(before)):
        if before[m] > taken:
            band, line, entered = _take(band, line, panes, entered, rows, taken, before[m])
            taken = before[m]
        if at[m] > line.state[DEADLINE]:
            band, line = close(band, line, at[m])
        if line.state[RANKED] < line.state[HOT]:
            rank_hot(band, line)
        wanted = min(k[m], alive(band, start[m]))
        if filled + wanted + BLOCK > len(objects):
            larger = 2 * (filled + wanted) + BLOCK
            objects, scores = (
                kskyband_kernels.grown(objects, filled, larger),
                kskyband_kernels.grown(scores, filled, larger),
            )
        extract(band, line, start[m], wanted, objects[filled:], scores[filled:])
        filled += wanted
        sizes[m] = wanted
    band, line, _ = _take(band, line, panes, entered, rows, taken, len(rows.time))
    return band, line, sizes, objects[:filled], scores[:filled]


@njit(cache=True)
def _take(band: Any, line: Any, panes: Int64, entered: int, rows: Rows, first: int, last: int) -> tuple[Any, Any, int]:
    """Take rows first..last, `entered` of the panes being behind; most are written down after two comparisons."""
    state, times, scores = line.state, rows.time, rows.score
    r = first
    while r < last:
        ahead = entered < len(panes)
        until = panes[entered] if ahead else 0
        if ahead and times[r] >= until:
            enter_pane(band, line, until)
            entered += 1
            continue
        pane, limit, gate = state[PANE], line.limit[0], state[GATE]
        bar = band.items[gate].score if gate != NO_GATE else -np.inf
        buffer, pending, hot, most_hot = band.buffer, band.counts[kskyband_kernels.PENDING], state[HOT], state[MOST_HOT]
        room = min(len(buffer), state[RAISE_AT])
        while r < last and not (ahead and times[r] >= until):
            score = scores[r]
            if score >= limit:
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
            if pending == state[RAISE_AT]:
                raise_limit(band, line)
            elif pending == len(buffer) and pending < state[MOST]:
                band = with_room(band, state[MOST])
            else:
                band, line = flushed(band, line, times[r])
    return band, line, entered


@njit(cache=True)
def _answer_room(band: Any, rows: int, k: Int64) -> int:
    """Room enough for answers of size `k` where that is a few megabytes; memory costs nothing until it is written."""
    most = band.counts[kskyband_kernels.SIZE] + band.counts[kskyband_kernels.PENDING] + rows
    room = BLOCK
    for each in k:
        room += min(each, most)
    return min(room, MOST_ROOM)


@njit(cache=True)
def filled(band: Any, items: Any) -> Any:
    """The band with these items added, and flushed."""
    for item in items:
        if kskyband_kernels.is_full(band):
            band = kskyband_kernels.flush(band)
        kskyband_kernels.add(band, item.score, item.expiry, item.tie, item.key)
    return kskyband_kernels.flush(band)
