"""Compiled code that adds rows to the panes of small groups, and lists the entries of each answer.

The entries of a group are sorted by object; those of an object by time, or by amount if pairs count.
"""

from typing import Any

import numpy as np
from numba import njit
from skyband.arrays import TIME_MIN
from skyband.groups.small_groups.kernels import longer, oldest_needed
from skyband.groups.small_groups.passes import SessionSpans
from skyband.kernels.nested import nested_njit

from skyband_totals.heavy_hitters.small_groups_kernels import end_of


@nested_njit
def _add(entries: Any, size: int, row: Any, pane: Any, phase: Any, pairs: bool, apart: bool, together: Any) -> int:
    """Add a row (object, time, amount, other); returns the number of entries. O(entries).

    A row adds to the entry of its object and pane, up to `together`; for a pair the latest time and other are kept.
    """
    objects, times, amounts, others = entries
    object_, time, amount, other = row
    if not pairs and amount == 0:
        return size
    end = end_of(objects, amounts, size, object_, amount, pairs)
    last = end - 1
    if last >= 0 and objects[last] == object_:
        if pairs:
            if amounts[last] == amount:
                times[last], others[last] = time, max(others[last], other)
                return size
        elif (
            (times[last] - phase) // pane == (time - phase) // pane
            and amounts[last] <= together - amount
            and not (apart and (others[last] > 0) != (other > 0))
        ):
            times[last] = time
            amounts[last] += amount
            others[last] += other
            return size
    # By insertion: entries are sorted by object, so that an answer adds up each object's in one walk.
    for entry in range(size - 1, end - 1, -1):
        objects[entry + 1], times[entry + 1] = objects[entry], times[entry]
        amounts[entry + 1], others[entry + 1] = amounts[entry], others[entry]
    objects[end], times[end], amounts[end], others[end] = object_, time, amount, other
    return size + 1


@nested_njit
def _forget(entries: Any, size: int, before: Any, pairs: bool) -> int:
    """Keep the entries at or after `before`, and for pairs reset earlier other times; returns their number."""
    objects, times, amounts, others = entries
    count = 0
    for entry in range(size):
        if times[entry] >= before:
            objects[count], times[count] = objects[entry], times[entry]
            amounts[count], others[count] = amounts[entry], others[entry]
            if pairs and others[count] < before:
                others[count] = TIME_MIN
            count += 1
    return count


@njit(cache=True)
def entries_of_answers(  # noqa: C901 - a numeric kernel is one loop
    sessions: SessionSpans, old: Any, rows: Any, at: Any, since: Any, slides: Any,
    pane: int, phase: int, pairs: bool, apart: bool, together: Any, most: int,
) -> Any:  # fmt: skip
    """Add rows, session by session, and list the entries of each moment's answer.

    old: objects, times, amounts and others of the entries; rows: times, objects, amounts and others of the rows; at,
    since: int64[m], the moments and the start of the longest window of each. Returns, for each session, the number of
    entries and the first row not added because there were more than `most` (-1: all were added); the columns of all
    entries; for each answer its session and the moment's number; and for each entry in an answer, the answer's number
    and the entry's columns. O(rows · entries of a group + entries listed).
    """
    old_objects, old_times, old_amounts, old_others = old
    times, objects, amounts, others = rows
    count = len(sessions.first)
    sizes, outgrew = np.zeros(count, np.int64), np.full(count, -1, np.int64)
    room, answer_room, list_room = 0, 0, 64
    for session in range(count):
        largest = sessions.size[session] + sessions.stop[session] - sessions.start[session]
        room += largest
        answer_room += sessions.end[session] - sessions.begin[session]
        list_room += largest
    new_objects, new_times = np.empty(room, np.int64), np.empty(room, np.int64)
    new_amounts, new_others = np.empty(room, old_amounts.dtype), np.empty(room, np.int64)
    owner, moment_of = np.empty(answer_room, np.int64), np.empty(answer_room, np.int64)
    of, its_object = np.empty(list_room, np.int64), np.empty(list_room, np.int64)
    its_time, its_other = np.empty(list_room, np.int64), np.empty(list_room, np.int64)
    its_amount = np.empty(list_room, old_amounts.dtype)
    entries = (
        np.empty(most + 1, np.int64), np.empty(most + 1, np.int64),
        np.empty(most + 1, old_amounts.dtype), np.empty(most + 1, np.int64),
    )  # fmt: skip
    entry_count, answers, list_size = 0, 0, 0
    for session in range(count):
        # All groups use the same few arrays for their entries, which stay in the cache.
        size, first = sessions.size[session], sessions.first[session]
        for entry in range(size):
            entries[0][entry], entries[1][entry] = old_objects[first + entry], old_times[first + entry]
            entries[2][entry], entries[3][entry] = old_amounts[first + entry], old_others[first + entry]
        row, stop, moment = sessions.start[session], sessions.stop[session], sessions.begin[session]
        while True:
            more = moment < sessions.end[session]
            while row < stop and not (more and times[row] >= at[moment]):
                new = (objects[row], times[row], amounts[row], others[row])
                size = _add(entries, size, new, pane, phase, pairs, apart, together)
                row += 1
                # Too many, perhaps only because old entries have not been dropped since the last moment.
                if size > most:
                    size = _forget(entries, size, oldest_needed(times[row - 1], slides), pairs)
                    if size > most:
                        outgrew[session] = row
                        break
            if not more or outgrew[session] >= 0:
                break
            if list_size + size > list_room:
                list_room = 2 * list_room + size
                of, its_object = longer(of, list_room), longer(its_object, list_room)
                its_time, its_other = longer(its_time, list_room), longer(its_other, list_room)
                its_amount = longer(its_amount, list_room)
            for entry in range(size):
                if entries[1][entry] >= since[moment]:
                    of[list_size], its_object[list_size] = answers, entries[0][entry]
                    its_time[list_size], its_amount[list_size] = entries[1][entry], entries[2][entry]
                    its_other[list_size] = entries[3][entry]
                    list_size += 1
            owner[answers], moment_of[answers] = session, moment
            answers += 1
            moment += 1
        if outgrew[session] < 0:
            size = 0 if sessions.ended[session] else _forget(entries, size, sessions.oldest[session], pairs)
        sizes[session] = size
        for entry in range(size):
            new_objects[entry_count], new_times[entry_count] = entries[0][entry], entries[1][entry]
            new_amounts[entry_count], new_others[entry_count] = entries[2][entry], entries[3][entry]
            entry_count += 1
    columns = new_objects[:entry_count], new_times[:entry_count], new_amounts[:entry_count], new_others[:entry_count]
    where = owner[:answers], moment_of[:answers]
    return sizes, outgrew, columns, where, (
        of[:list_size], its_object[:list_size], its_time[:list_size], its_amount[:list_size], its_other[:list_size]
    )  # fmt: skip
