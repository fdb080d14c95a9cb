"""Grows arrays within a kernel by loops, because slices would take numba two seconds longer to compile."""

from typing import Any

import numpy as np
from skyband.kernels.nested import nested_njit

from skyband_totals.exact.bar import Candidates
from skyband_totals.exact.pane_log import HEAD, NEXT, OLDEST, TAIL
from skyband_totals.exact.written_answers import Written


@nested_njit
def larger_ring(ring: Any, ends: Any, larger: int) -> Any:
    """`pane_log.larger_ring`."""
    room = len(ring)
    new = np.empty(larger, ring.dtype)
    source, target = ends[HEAD] % room, ends[HEAD] % larger
    for _ in range(ends[TAIL] - ends[HEAD]):
        new[target] = ring[source]
        source = source + 1 if source + 1 < room else 0
        target = target + 1 if target + 1 < larger else 0
    return new


@nested_njit
def more_panes(panes: Any, ends: Any, spans: Any, first: int) -> Any:
    """`pane_log.more_panes`."""
    panes_now = ends[NEXT] - ends[OLDEST]
    larger = np.empty((2 * len(panes), 2), np.int64)
    for number in range(panes_now):
        for column in range(2):
            larger[number, column] = panes[ends[OLDEST] + number, column]
    for window in range(len(spans)):
        spans[window, first] -= ends[OLDEST]
    ends[OLDEST], ends[NEXT] = 0, panes_now
    return larger


@nested_njit
def with_room(candidates: Any, room: int) -> Any:
    """`candidates.with_room`."""
    near = candidates.near
    larger = np.empty((near.shape[0], room), np.int32)
    for window in range(near.shape[0]):
        for number in range(near.shape[1]):
            larger[window, number] = near[window, number]
    return Candidates(larger, candidates.stock)


@nested_njit
def with_stock(candidates: Any, room: int) -> Any:
    """`candidates.with_stock`."""
    stock = candidates.stock
    larger = np.empty((2, stock.shape[1], room), np.int64)
    for half in range(2):
        for window in range(stock.shape[1]):
            for number in range(stock.shape[2]):
                larger[half, window, number] = stock[half, window, number]
    return Candidates(candidates.near, larger)


@nested_njit
def with_answers(written: Any, stop: int) -> Any:
    """`written_answers.with_room`."""
    objects, totals = np.empty(2 * stop, np.int64), np.empty(2 * stop, np.int64)
    for number in range(written.offsets[written.size[0]]):
        objects[number], totals[number] = written.objects[number], written.totals[number]
    return Written(written.size, written.offsets, objects, totals, written.grand, written.rest, written.object_counts)
