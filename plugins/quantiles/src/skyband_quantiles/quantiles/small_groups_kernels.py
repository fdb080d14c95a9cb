# mypy: disable-error-code="untyped-decorator"
"""The walk of small groups of numbers through their stretches, in compiled code. A group's entries stand by value."""

from typing import Any

import numpy as np
from skyband.arrays import TIME_MIN
from skyband.groups.small_group_pass import SessionSpans
from skyband.groups.small_groups_kernels import longer, oldest_needed
from skyband.kernels.nested import kernel_njit, nested_njit

from skyband_quantiles.compiled_ranks import rank_of

_MOST_ROOM = 1 << 20


@nested_njit
def _add(value: Any, time: Any, size: int, new_value: float, new_time: int) -> Any:
    """Take in a row, after those of the same value; returns how many entries there are. O(entries)."""
    low, high = 0, size
    while low < high:
        middle = (low + high) >> 1
        if value[middle] <= new_value:
            low = middle + 1
        else:
            high = middle
    for entry in range(size - 1, low - 1, -1):
        value[entry + 1], time[entry + 1] = value[entry], time[entry]
    value[low], time[low] = new_value, new_time
    return size + 1


@nested_njit
def _forget(value: Any, time: Any, size: int, before: Any) -> Any:
    """Keep the entries that are not before; returns how many."""
    size_after = 0
    for entry in range(size):
        if time[entry] >= before:
            value[size_after], time[size_after] = value[entry], time[entry]
            size_after += 1
    return size_after


@nested_njit
def _answer(value: Any, time: Any, size: int, since: Any, parts: Any, ascending: Any, limits: Any, found: Any) -> Any:
    """Write quantiles, in the order of `parts`, then shares above the limits; returns how many rows there are."""
    rows = 0
    for entry in range(size):
        rows += time[entry] >= since
    if rows == 0:
        return 0
    # One pass over the entries serves all quantiles, as they are asked for in ascending order.
    entry, seen = -1, 0
    for turn in range(len(ascending)):
        rank = rank_of(parts[ascending[turn]], rows)
        while seen < rank:
            entry += 1
            seen += time[entry] >= since
        found[ascending[turn]] = value[entry]
    for place in range(len(limits)):
        # From the largest down: only those above the limit are looked at.
        above, entry = 0, size - 1
        while entry >= 0 and value[entry] > limits[place]:
            above += time[entry] >= since
            entry -= 1
        found[len(parts) + place] = above / rows
    return rows


@kernel_njit
def walk_numbers(  # noqa: C901 - a numeric kernel is one loop
    sessions: SessionSpans, held_value: Any, held_time: Any, times: Any, values: Any, at: Any, since: Any, beats: Any,
    parts: Any, ascending: Any, limits: Any, most: int,
) -> Any:  # fmt: skip
    """Take rows in and answer moments over every window, stretch by stretch.

    since: int64[m, w], where each window of a moment begins. Returns of each stretch the number of entries and the
    first row not taken in, as it had more than `most` (-1: never); the columns of all entries; and of each answer its
    stretch, the numbers of moment and window, the rows, and float64[a, q + l] quantiles and shares. O(rows + answers)
    times the entries of a group.
    """
    firsts, sizes, starts, stops, ended, begins, ends, oldest = sessions
    stretches, windows, each = len(firsts), since.shape[1], len(parts) + len(limits)
    new_size, grown = np.zeros(stretches, np.int64), np.full(stretches, -1, np.int64)
    new_value, new_time = np.empty(len(held_time) + len(times)), np.empty(len(held_time) + len(times), np.int64)
    room = 64
    for number in range(stretches):
        room += (ends[number] - begins[number]) * windows
    room = min(room, _MOST_ROOM)
    owner, moment_of, window_of = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    rows, numbers = np.empty(room, np.int64), np.empty(room * each)
    value, time = np.empty(most + 1), np.empty(most + 1, np.int64)
    answer_count, written = 0, 0
    for number in range(stretches):
        size, first, latest = sizes[number], firsts[number], TIME_MIN
        for entry in range(size):
            latest = max(latest, held_time[first + entry])
            value[entry], time[entry] = held_value[first + entry], held_time[first + entry]
        row, stop, moment = starts[number], stops[number], begins[number]
        while True:
            more = moment < ends[number]
            while row < stop and not (more and times[row] >= at[moment]):
                size = _add(value, time, size, values[row], times[row])
                latest = times[row]
                row += 1
                # Too many, though perhaps only because old ones were not looked at since the last moment.
                if size > most:
                    size = _forget(value, time, size, oldest_needed(times[row - 1], beats))
                    if size > most:
                        grown[number] = row
                        break
            if not more or grown[number] >= 0:
                break
            if answer_count + windows > room:
                room = 2 * room + windows
                owner, moment_of, window_of = longer(owner, room), longer(moment_of, room), longer(window_of, room)
                rows, numbers = longer(rows, room), longer(numbers, room * each)
            for window in range(windows):
                if latest < since[moment, window]:
                    continue
                place = answer_count * each
                count = _answer(
                    value, time, size, since[moment, window], parts, ascending, limits, numbers[place : place + each]
                )  # fmt: skip
                if count:
                    owner[answer_count], moment_of[answer_count], window_of[answer_count], rows[answer_count] = (
                        number,
                        moment,
                        window,
                        count,
                    )
                    answer_count += 1
            moment += 1
        if grown[number] < 0:
            size = 0 if ended[number] else _forget(value, time, size, oldest[number])
        new_size[number] = size
        for entry in range(size):
            new_value[written], new_time[written] = value[entry], time[entry]
            written += 1
    entries = new_value[:written].copy(), new_time[:written].copy()
    which = owner[:answer_count], moment_of[:answer_count], window_of[:answer_count], rows[:answer_count]
    return new_size, grown, entries, (*which, numbers[: answer_count * each].reshape((answer_count, each)))
