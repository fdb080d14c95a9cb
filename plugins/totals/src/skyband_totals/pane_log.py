# mypy: disable-error-code="untyped-decorator"
"""The log of closed panes: what each added to which slot, so that a pane can be taken out of a window again.

One log serves all windows. Entries are numbered from 0 for ever and stand in a ring that grows by quarters; panes are a
list that begins anew now and then. A pane without rows has no place in the log.

ends: int64[4], indexed by
    HEAD, TAIL    numbers of the oldest entry and of the next OLDEST, NEXT  places of the oldest pane and of the next in
    the list
"""

from typing import Any

import numpy as np
from skyband.kernels.nested import nested_njit

HEAD, TAIL, OLDEST, NEXT = range(4)
ENDS = 4
NUMBER, START = range(2)
"""Columns of the list of panes: the pane's number (its time over the length of a pane), and its first entry."""
ROOM = 16


@nested_njit
def ring_with_room(slots: Any, sums: Any, ends: Any, more: int) -> Any:
    """The ring (slots and sums) with room for `more` entries after those it holds."""
    held = ends[TAIL] - ends[HEAD]
    room = len(slots)
    if held + more <= room:
        return slots, sums
    larger = max(held + more, room + room // 4, ROOM)
    return larger_ring(slots, ends, larger), larger_ring(sums, ends, larger)


@nested_njit
def larger_ring(ring: Any, ends: Any, larger: int) -> Any:
    """The ring in so much room, every entry at its number's place."""
    room = len(ring)
    new = np.empty(larger, ring.dtype)
    source, target = ends[HEAD] % room, ends[HEAD] % larger
    for _ in range(ends[TAIL] - ends[HEAD]):
        new[target] = ring[source]
        source = source + 1 if source + 1 < room else 0
        target = target + 1 if target + 1 < larger else 0
    return new


@nested_njit
def has_pane_room(panes: Any, ends: Any, spans: Any, first: int) -> bool:
    """Whether the list of panes has room for one more, if need be where panes were that no window holds any more.

    `first` is the column of `spans` that holds places in the list. Amortised O(1).
    """
    if ends[NEXT] < len(panes):
        return True
    if 2 * (ends[NEXT] - ends[OLDEST]) > len(panes):
        return False
    _move_panes(panes, panes, ends, spans, first)
    return True


@nested_njit
def panes_with_room(panes: Any, ends: Any, spans: Any, first: int) -> Any:
    """The list of panes with room for one more."""
    if has_pane_room(panes, ends, spans, first):
        return panes
    larger = np.empty((2 * len(panes), 2), np.int64)
    _move_panes(panes, larger, ends, spans, first)
    return larger


@nested_njit
def _move_panes(panes: Any, target: Any, ends: Any, spans: Any, first: int) -> None:
    """Write the panes of a list to the front of another, or of itself."""
    held = ends[NEXT] - ends[OLDEST]
    for number in range(held):
        for column in range(2):
            target[number, column] = panes[ends[OLDEST] + number, column]
    for window in range(len(spans)):
        spans[window, first] -= ends[OLDEST]
    ends[OLDEST], ends[NEXT] = 0, held


@nested_njit
def after(panes: Any, ends: Any, place: int) -> Any:
    """The number of the first entry after the pane at a place."""
    return panes[place + 1, START] if place + 1 < ends[NEXT] else ends[TAIL]


@nested_njit(forceinline=True)
def release(panes: Any, ends: Any, spans: Any, first: int) -> None:
    """Let go of the panes that no window holds."""
    oldest = ends[NEXT]
    for window in range(len(spans)):
        oldest = min(oldest, spans[window, first])
    if oldest != ends[OLDEST]:
        ends[OLDEST] = oldest
        ends[HEAD] = panes[oldest, START] if oldest < ends[NEXT] else ends[TAIL]
