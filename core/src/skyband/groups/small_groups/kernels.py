"""What the passes over small groups share, in compiled code."""

from typing import Any

import numpy as np

from skyband.arrays import TIME_MIN
from skyband.kernels.nested import nested_njit


@nested_njit
def oldest_needed(time: Any, slides: Any) -> Any:
    """`Schedule.oldest`: no moment after `time` needs rows before this. slides: int64[b, 3], slide, phase, window."""
    oldest = np.int64(2**63 - 1)
    # Of each slide the next moment after `time` and its longest window: the window that reaches back furthest decides.
    for number in range(len(slides)):
        slide, phase = slides[number, 0], slides[number, 1]
        oldest = min(oldest, (time - phase) // slide * slide + phase + slide - slides[number, 2])
    return oldest


@nested_njit
def longer(values: Any, length: int) -> Any:
    """The same values with room for `length`."""
    longer = np.empty(length, values.dtype)
    for place in range(len(values)):
        longer[place] = values[place]
    return longer


@nested_njit
def without_spare_room(values: Any, length: int) -> Any:
    """The first `length` of them, copied where a quarter of the array would stay unused for as long as they are."""
    return values[:length] if 4 * length >= 3 * len(values) else values[:length].copy()


@nested_njit
def rows_before(times: Any, row: int, stop: int, at: Any, moment: int, end: int) -> int:
    """Where the rows of a session end that come before a moment, or all do where it has no moment more."""
    if moment >= end:
        return stop
    while row < stop and times[row] < at[moment]:
        row += 1
    return row


# Places are unsigned here: numba adds the length to one below 0, and a loop in which it may does one value at a time.


@nested_njit
def copy_values(source: Any, first: int, size: int, target: Any, place: int) -> None:
    """Copy so many values, from `first` on, to where the target's `place` is. O(size), some at a time."""
    begin, to = np.uint64(first), np.uint64(place)
    for number in range(np.uint64(size)):
        target[to + number] = source[begin + number]


@nested_njit
def copy_times(source: Any, first: int, size: int, target: Any) -> Any:
    """As `copy_values`, to the target's beginning; returns the latest of them, TIME_MIN of none."""
    begin, latest = np.uint64(first), TIME_MIN
    for number in range(np.uint64(size)):
        time = source[begin + number]
        latest = max(latest, time)
        target[number] = time
    return latest


@nested_njit
def move_up(values: Any, begin: int, end: int) -> None:
    """Move the values begin..end a place up. O(end - begin), some at a time."""
    place, first, one = np.uint64(end), np.uint64(begin), np.uint64(1)
    while place > first:
        values[place] = values[place - one]
        place -= one


@nested_njit
def count_since(times: Any, begin: int, end: int, since: Any) -> int:
    """How many of the times begin..end are at `since` or later. O(end - begin), some at a time."""
    count = 0
    for place in range(np.uint64(begin), np.uint64(end)):
        count += times[place] >= since
    return count


SHORT = 32
"""Fewer entries are moved by one loop, more by one for each array, in which a processor does several at a time."""


@nested_njit
def copy_entries(source: Any, first: int, entries: Any, begin: int, size: int) -> None:
    """Copy `size` entries in four arrays that stand from `first` on to others' arrays, from `begin` on."""
    if size < SHORT:
        for place in range(size):
            entries[0][begin + place], entries[1][begin + place] = source[0][first + place], source[1][first + place]
            entries[2][begin + place], entries[3][begin + place] = source[2][first + place], source[3][first + place]
        return
    _copy(source[0], first, entries[0], begin, size)
    _copy(source[1], first, entries[1], begin, size)
    _copy(source[2], first, entries[2], begin, size)
    _copy(source[3], first, entries[3], begin, size)


@nested_njit(vectorized=True)
def _copy(source: Any, first: int, target: Any, begin: int, size: int) -> None:
    for place in range(size):
        target[begin + place] = source[first + place]
