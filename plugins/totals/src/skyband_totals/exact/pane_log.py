"""The log of closed panes: what each added to which slot, so that a pane can be removed from a window again.

One log serves all windows. Entries are numbered continuously from 0 and are in a ring that grows by quarters; panes are
in a list that is compacted now and then. A pane without rows is not in the log.

ends: int64[4], indexed by HEAD and TAIL, the numbers of the oldest entry and the next one, and by OLDEST and NEXT, the
places of the oldest pane and the next one in the list.
"""

from typing import Any

import numpy as np
from skyband.kernels.nested import nested_njit

HEAD, TAIL, OLDEST, NEXT = range(4)
ENDS = 4
NUMBER, START = range(2)
"""Columns of the list of panes: the pane's number (its time divided by the length of a pane), and its first entry."""
ROOM = 16


def ring_size(room: int, ends: Any, more: int) -> int:
    """The new size of a ring that has no room for `more` further entries."""
    return max(int(ends[TAIL] - ends[HEAD]) + more, room + room // 4, ROOM)


def larger_ring(ring: Any, ends: Any, larger: int) -> Any:
    """The ring with a larger size, every entry at the place of its number."""
    new, room = np.empty(larger, ring.dtype), len(ring)
    number, tail = int(ends[HEAD]), int(ends[TAIL])
    while number < tail:  # part by part: an index array would take more memory than the ring
        source, target = number % room, number % larger
        count = min(tail - number, room - source, larger - target)
        new[target : target + count] = ring[source : source + count]
        number += count
    return new


@nested_njit
def has_pane_room(panes: Any, ends: Any, spans: Any, first: int) -> bool:
    """Whether the list of panes, whose places are in the column `first` of `spans`, has room for one more, if necessary
    after removing panes that no window holds. Amortised O(1)."""
    if ends[NEXT] < len(panes):
        return True
    if 2 * (ends[NEXT] - ends[OLDEST]) > len(panes):
        return False
    panes_now = ends[NEXT] - ends[OLDEST]
    for number in range(panes_now):
        for column in range(2):
            panes[number, column] = panes[ends[OLDEST] + number, column]
    for window in range(len(spans)):
        spans[window, first] -= ends[OLDEST]
    ends[OLDEST], ends[NEXT] = 0, panes_now
    return True


def more_panes(panes: Any, ends: Any, spans: Any, first: int) -> Any:
    """The list of panes with twice the room."""
    panes_now = ends[NEXT] - ends[OLDEST]
    larger = np.empty((2 * len(panes), 2), np.int64)
    larger[:panes_now] = panes[ends[OLDEST] : ends[NEXT]]
    spans[:, first] -= ends[OLDEST]
    ends[OLDEST], ends[NEXT] = 0, panes_now
    return larger


@nested_njit
def after(panes: Any, ends: Any, place: int) -> Any:
    """The number of the first entry after the pane at a place."""
    return panes[place + 1, START] if place + 1 < ends[NEXT] else ends[TAIL]


@nested_njit(forceinline=True)
def release(panes: Any, ends: Any, spans: Any, first: int) -> None:
    """Drop the panes that no window holds."""
    oldest = ends[NEXT]
    for window in range(len(spans)):
        oldest = min(oldest, spans[window, first])
    if oldest != ends[OLDEST]:
        ends[OLDEST] = oldest
        ends[HEAD] = panes[oldest, START] if oldest < ends[NEXT] else ends[TAIL]
