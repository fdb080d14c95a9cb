"""The compiled pass of small groups of numbers through their sessions. A group's entries are sorted by value."""

from typing import Any

import numpy as np
from skyband.arrays import TIME_MIN
from skyband.groups.small_groups.kernels import copy_times, copy_values, count_since, longer, move_up, oldest_needed
from skyband.groups.small_groups.passes import SessionSpans
from skyband.kernels.nested import kernel_njit, nested_njit

from skyband_quantiles.compiled_ranks import rank_of

_MOST_ROOM = 1 << 20
_BLOCK = 64
"""The entries that are checked or copied at once."""
_LARGE = 256
"""The least entries of a group whose new ones wait until there are several, or an answer is due."""
_MOST_WAITING = 64


@nested_njit
def _end_of(value: Any, size: int, limit: float) -> int:
    """The number of values up to the limit. O(log size)."""
    low, high = 0, size
    while low < high:
        middle = (low + high) >> 1
        if value[middle] <= limit:
            low = middle + 1
        else:
            high = middle
    return low


@nested_njit
def _add(value: Any, time: Any, size: int, new_value: float, new_time: int) -> Any:
    """Add a row after those of the same value. O(entries after it)."""
    end = _end_of(value, size, new_value)
    move_up(value, end, size)
    move_up(time, end, size)
    value[end], time[end] = new_value, new_time


@nested_njit
def _put_waiting(value: Any, time: Any, size: int, waiting: Any, waits: int) -> None:
    """Insert the waiting rows, each after those of the same value. size: with waiting ones. O(entries)."""
    new_value, new_time = waiting
    entry, place = size - waits - 1, size - 1
    if waits == 1:
        _add(value, time, place, new_value[0], new_time[0])
        return
    for number in range(waits - 1, -1, -1):
        end = _end_of(value, entry + 1, new_value[number])
        while entry >= end:
            value[place], time[place] = value[entry], time[entry]
            entry -= 1
            place -= 1
        value[place], time[place] = new_value[number], new_time[number]
        place -= 1


@nested_njit
def _forget(value: Any, time: Any, size: int, before: Any) -> Any:
    """Drop the entries before `before`; returns the number of the others."""
    size_after = 0
    for entry in range(size):
        if time[entry] >= before:
            value[size_after], time[size_after] = value[entry], time[entry]
            size_after += 1
    return size_after


@nested_njit
def _write(value: Any, time: Any, size: int, before: Any, entries: Any, end: int) -> int:
    """Copy the entries that are not before `before` to `end` and beyond; returns their new end."""
    to_value, to_time = entries
    for start in range(0, size, _BLOCK):
        stop = min(start + _BLOCK, size)
        if stop - start == _BLOCK and count_since(time, start, stop, before) == _BLOCK:
            copy_values(value, start, _BLOCK, to_value, end)
            copy_values(time, start, _BLOCK, to_time, end)
            end += _BLOCK
            continue
        for entry in range(start, stop):
            if time[entry] >= before:
                to_value[end], to_time[end] = value[entry], time[entry]
                end += 1
    return end


@nested_njit
def _answer(value: Any, time: Any, size: int, since: Any, parts: Any, ascending: Any, limits: Any, found: Any) -> Any:
    """Write quantiles, in the order of `parts`, then shares above the limits; returns the number of rows."""
    rows = count_since(time, 0, size, since)
    if rows == 0:
        return 0
    # A single pass over the entries answers all quantiles, in ascending order.
    entry, before = -1, 0
    for turn in range(len(ascending)):
        rank = rank_of(parts[ascending[turn]], rows)
        while entry + _BLOCK < size:
            inside = count_since(time, entry + 1, entry + 1 + _BLOCK, since)
            if before + inside >= rank:
                break
            entry += _BLOCK
            before += inside
        while before < rank:
            entry += 1
            before += time[entry] >= since
        found[ascending[turn]] = value[entry]
    for place in range(len(limits)):
        found[len(parts) + place] = count_since(time, _end_of(value, size, limits[place]), size, since) / rows
    return rows


@kernel_njit
def walk_numbers(  # noqa: C901 - a numeric kernel is one loop
    sessions: SessionSpans, old: Any, entries: Any, times: Any, values: Any, at: Any, since: Any, beats: Any,
    parts: Any, ascending: Any, limits: Any, most: int,
) -> Any:  # fmt: skip
    """Add rows and answer moments over every window, session by session.

    old: the columns of the old entries; entries: those to write all remaining entries to, with room for old ones and
    rows; since: int64[m, w], the start of each window of a moment. Returns, for each session, the number of entries and
    the first row not added because it had more than `most` (-1: all were); and for each answer its session, the numbers
    of moment and window, the rows, and float64[a, q + l] quantiles and shares. O(rows + answers) times the entries of a
    group.
    """
    firsts, sizes, starts, stops, ended, begins, ends, oldest = sessions
    stretches, windows, each = len(firsts), since.shape[1], len(parts) + len(limits)
    new_size, grown = np.zeros(stretches, np.int64), np.full(stretches, -1, np.int64)
    held_value, held_time = old
    room = 64
    for number in range(stretches):
        room += (ends[number] - begins[number]) * windows
    room = min(room, _MOST_ROOM)
    owner, moment_of, window_of = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    rows, numbers = np.empty(room, np.int64), np.empty(room * each)
    value, time = np.empty(most + 1), np.empty(most + 1, np.int64)
    waiting = np.empty(_MOST_WAITING), np.empty(_MOST_WAITING, np.int64)
    answer_count, end, waits = 0, 0, 0
    for number in range(stretches):
        size = sizes[number]
        latest = copy_times(held_time, firsts[number], size, time)
        copy_values(held_value, firsts[number], size, value, 0)
        row, stop, moment = starts[number], stops[number], begins[number]
        while True:
            more = moment < ends[number]
            while row < stop and not (more and times[row] >= at[moment]):
                # In large groups, several new entries are inserted at once.
                if size - waits < _LARGE:
                    _add(value, time, size, values[row], times[row])
                else:
                    _add(*waiting, waits, values[row], times[row])
                    waits += 1
                size += 1
                latest = times[row]
                row += 1
                if waits == _MOST_WAITING or (waits > 0 and size > most):
                    _put_waiting(value, time, size, waiting, waits)
                    waits = 0
                # Too many, but perhaps only because old ones were not dropped since the last moment.
                if size > most:
                    size = _forget(value, time, size, oldest_needed(times[row - 1], beats))
                    if size > most:
                        grown[number] = row
                        break
            if waits > 0:
                _put_waiting(value, time, size, waiting, waits)
                waits = 0
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
                )
                if count:
                    owner[answer_count], moment_of[answer_count], window_of[answer_count], rows[answer_count] = (
                        number,
                        moment,
                        window,
                        count,
                    )
                    answer_count += 1
            moment += 1
        before = end
        if grown[number] >= 0:
            end = _write(value, time, size, TIME_MIN, entries, end)
        elif not ended[number]:
            end = _write(value, time, size, oldest[number], entries, end)
        new_size[number] = end - before
    which = owner[:answer_count], moment_of[:answer_count], window_of[:answer_count], rows[:answer_count]
    return new_size, grown, (*which, numbers[: answer_count * each].reshape((answer_count, each)))
