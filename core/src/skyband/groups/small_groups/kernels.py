"""Compiled code shared by passes over small groups."""

from typing import Any

import numpy as np

from skyband.arrays import TIME_MIN
from skyband.kernels.nested import nested_njit


@nested_njit
def oldest_needed(time: Any, slides: Any) -> Any:
    """`Schedule.oldest`: no moment after `time` needs rows before this. slides: int64[b, 3], slide, phase, window."""
    oldest = np.int64(2**63 - 1)
    # For each slide, take the next moment after `time` and its longest window: the earliest start decides.
    for number in range(len(slides)):
        slide, phase = slides[number, 0], slides[number, 1]
        oldest = min(oldest, (time - phase) // slide * slide + phase + slide - slides[number, 2])
    return oldest


@nested_njit
def longer(values: Any, length: int) -> Any:
    """The values in an array of `length`."""
    longer = np.empty(length, values.dtype)
    for place in range(len(values)):
        longer[place] = values[place]
    return longer


@nested_njit
def without_spare_room(values: Any, length: int) -> Any:
    """The first `length` values, copied if more than a quarter of the array would be unused."""
    return values[:length] if 4 * length >= 3 * len(values) else values[:length].copy()


@nested_njit
def rows_before(times: Any, row: int, stop: int, at: Any, moment: int, end: int) -> int:
    """The end of a session's rows before a moment, or of all its rows after its last moment."""
    if moment >= end:
        return stop
    while row < stop and times[row] < at[moment]:
        row += 1
    return row


# Places are unsigned: numba supports negative indices, and loops that may need that are not vectorized.


@nested_njit
def copy_values(source: Any, first: int, size: int, target: Any, place: int) -> None:
    """Copy `size` values from `first` to the target's `place`. O(size), vectorized."""
    begin, to = np.uint64(first), np.uint64(place)
    for number in range(np.uint64(size)):
        target[to + number] = source[begin + number]


@nested_njit
def copy_times(source: Any, first: int, size: int, target: Any) -> Any:
    """As `copy_values`, to the target's beginning; returns the latest of them, TIME_MIN without any."""
    begin, latest = np.uint64(first), TIME_MIN
    for number in range(np.uint64(size)):
        time = source[begin + number]
        latest = max(latest, time)
        target[number] = time
    return latest


@nested_njit
def move_up(values: Any, begin: int, end: int) -> None:
    """Move the values begin..end up by one place. O(end - begin), vectorized."""
    place, first, step = np.uint64(end), np.uint64(begin), np.uint64(1)
    while place > first:
        values[place] = values[place - step]
        place -= step


@nested_njit
def count_since(times: Any, begin: int, end: int, since: Any) -> int:
    """The number of times begin..end at `since` or later. O(end - begin), vectorized."""
    count = 0
    for place in range(np.uint64(begin), np.uint64(end)):
        count += times[place] >= since
    return count


SHORT = 32
"""Fewer entries are moved by one loop; more by one loop per array, which is vectorized."""


@nested_njit
def copy_entries(source: Any, first: int, entries: Any, begin: int, size: int) -> None:
    """Copy `size` entries in four arrays from `first` to the other arrays' `begin`."""
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
