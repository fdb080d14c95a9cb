"""Compiled code that walks the entries of small groups of totals.

The entries of a group are sorted by object; those of an object by time, or by value for distinct values.
"""

from typing import Any

import numpy as np
from numba import njit
from skyband.arrays import TIME_MIN, Array, Int64
from skyband.groups.small_groups.kernels import copy_times, copy_values, count_since, longer, move_up, oldest_needed
from skyband.kernels.nested import nested_njit

from skyband_totals.fixed_point import MOST_TOGETHER
from skyband_totals.selection import count_large, in_order, offer
from skyband_totals.share_kernels import least_total

_MOST_ROOM = 1 << 20
_BLOCK = 64
"""Entries that are copied at once if all of them are kept."""
_LARGE = 256
"""With this many entries, new ones wait until there are several, or an answer is due."""
_MOST_WAITING = 64


@nested_njit
def end_of(object_: Any, amount: Any, size: int, new_object: Any, value: Any, distinct: bool) -> int:
    """The end of the entries of an object; for distinct values, of its values up to this one."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        other = object_[middle]
        if other < new_object or (other == new_object and (not distinct or amount[middle] <= value)):
            low = middle + 1
        else:
            high = middle
    return low


@nested_njit
def _place_of(object_: Any, time: Any, amount: Any, size: int, row: Any, pane: Any, phase: Any, distinct: bool) -> int:
    """Add a row (object, time, amount) to an entry, and return -1; if there is none, return the place of its own.

    A row adds to the entry of its object and pane, up to 2^51 units; for an object and value the latest time is kept.
    """
    new_object, new_time, new = row
    end = end_of(object_, amount, size, new_object, new, distinct)
    before = end - 1
    if before >= 0 and object_[before] == new_object:
        if distinct:
            if amount[before] == new:
                time[before] = new_time
                return -1
        elif (time[before] - phase) // pane == (new_time - phase) // pane and amount[before] <= MOST_TOGETHER - new:
            time[before] = new_time
            amount[before] += new
            return -1
    return end


@nested_njit
def _insert(object_: Any, time: Any, amount: Any, size: int, place: int, row: Any) -> None:
    """Insert an entry for a row. O(entries after it)."""
    move_up(object_, place, size)
    move_up(time, place, size)
    move_up(amount, place, size)
    object_[place], time[place], amount[place] = row


@nested_njit
def _add(
    object_: Any, time: Any, amount: Any, size: int, waiting: Any, waits: int, row: Any,
    pane: Any, phase: Any, distinct: bool,
) -> Any:  # fmt: skip
    """Add a row; returns the number of entries, and how many of these wait.

    O(log entries) if it adds to an entry or waits, else O(entries).
    """
    if not distinct and row[2] == 0:
        return size, waits
    if size - waits < _LARGE:
        place = _place_of(object_, time, amount, size, row, pane, phase, distinct)
        if place >= 0:
            _insert(object_, time, amount, size, place, row)
            size += 1
        return size, waits
    # With many entries, new ones are inserted several at a time: those that wait follow all others of their object.
    place = _place_of(*waiting, waits, row, pane, phase, distinct)
    if place < 0:
        return size, waits
    if (distinct or place == 0 or waiting[0][place - 1] != row[0]) and _place_of(
        object_, time, amount, size - waits, row, pane, phase, distinct
    ) < 0:
        return size, waits
    _insert(*waiting, waits, place, row)
    return size + 1, waits + 1


@nested_njit
def _put_waiting(object_: Any, time: Any, amount: Any, size: int, waiting: Any, waits: int, distinct: bool) -> None:
    """Merge the entries that wait into the others; `size` counts all. O(entries)."""
    to_object, to_time, to_amount = waiting
    entry, place = size - waits - 1, size - 1
    if waits == 1:
        end = end_of(object_, amount, place, to_object[0], to_amount[0], distinct)
        _insert(object_, time, amount, place, end, (to_object[0], to_time[0], to_amount[0]))
        return
    for number in range(waits - 1, -1, -1):
        new_object, new = to_object[number], to_amount[number]
        end = end_of(object_, amount, entry + 1, new_object, new, distinct)
        while entry >= end:
            object_[place], time[place], amount[place] = object_[entry], time[entry], amount[entry]
            entry -= 1
            place -= 1
        object_[place], time[place], amount[place] = new_object, to_time[number], new
        place -= 1


@nested_njit
def _forget(object_: Any, time: Any, amount: Any, size: int, before: Any) -> int:
    """Keep the entries at or after `before`; returns their number."""
    count = 0
    for entry in range(size):
        if time[entry] >= before:
            object_[count], time[count], amount[count] = object_[entry], time[entry], amount[entry]
            count += 1
    return count


@nested_njit
def _write(object_: Any, time: Any, amount: Any, size: int, before: Any, entries: Any, end: int) -> int:
    """Copy the entries at or after `before` to the places from `end` on; returns the new end."""
    to_object, to_time, to_amount = entries
    for start in range(0, size, _BLOCK):
        stop = min(start + _BLOCK, size)
        if stop - start == _BLOCK and count_since(time, start, stop, before) == _BLOCK:
            copy_values(object_, start, _BLOCK, to_object, end)
            copy_values(time, start, _BLOCK, to_time, end)
            copy_values(amount, start, _BLOCK, to_amount, end)
            end += _BLOCK
            continue
        for entry in range(start, stop):
            if time[entry] >= before:
                to_object[end], to_time[end], to_amount[end] = object_[entry], time[entry], amount[entry]
                end += 1
    return end


@nested_njit
def _worths(time: Any, amount: Any, size: int, since: Any, distinct: bool, worth: Any) -> Any:
    """Write what each entry adds to its object since a moment; returns the grand total. O(size), vectorised."""
    grand = np.int64(0)
    if distinct:
        for entry in range(np.uint64(size)):
            worth[entry] = time[entry] >= since
    else:
        for entry in range(np.uint64(size)):
            worth[entry] = amount[entry] if time[entry] >= since else 0
    for entry in range(np.uint64(size)):
        grand += worth[entry]
    return grand


@nested_njit
def _rank(object_: Any, worth: Any, size: int, k: int, lowest: Any, best_total: Any, best_object: Any) -> Any:
    """Write the objects with the largest totals that are at least `lowest`, in order; returns their number, and that of
    all objects. O(entries + objects that were among the k largest so far · log k).
    """
    count, object_count, total, owner, bar = 0, 0, np.int64(0), object_[0], max(lowest - 1, np.int64(0))
    for entry in range(np.uint64(size)):
        current = object_[entry]
        if current != owner:
            object_count += int(total > 0)
            # Objects ascend: if an answer is full, an object with the same total as its last is not in it.
            if total > bar:
                count = offer(best_total, best_object, count, k, total, owner)
                if count == k:
                    bar = max(bar, best_total[0])
            owner, total = current, np.int64(0)
        total += worth[entry]
    object_count += int(total > 0)
    if total > bar:
        count = offer(best_total, best_object, count, k, total, owner)
    in_order(best_total, best_object, count)
    return count, object_count


@njit(cache=True)
def rank_totals(  # noqa: C901 - a numeric kernel is one loop
    firsts: Int64, sizes: Int64, starts: Int64, stops: Int64, ended: Array, begins: Int64, ends: Int64,
    old: Any, entries: Any, times: Any, objects: Any, amounts: Any, at: Any, since: Any, beats: Any,
    pane: int, phase: int, ks: Int64, least: Any, distinct: bool, oldest: Any, most: int, rest: bool,
    has_gaps: bool,
) -> Any:  # fmt: skip
    """Add rows and answer moments over every window, session by session.

    old: the columns of the entries; entries: the columns to write all remaining entries to, with room for the old ones
    and the rows; since: int64[m, w], the start of each window of a moment; ks: int64[m], the most objects in an answer.
    Returns, for each session, the number of entries and the first row not added because there were more than `most`
    (-1: all were added). For each row of the answers it returns the session, the numbers of the moment and the window,
    the rank from 1, object, total and grand total. With `rest`, a row of rank 0 follows each answer, with the number
    and the total of the other objects; with `has_gaps`, not at a moment at which all windows are empty.
    O(rows · log entries of a group), O(its entries) for some rows with new ones, and for each answer as `_rank`.
    """
    old_object, old_time, old_amount = old
    stretches = len(firsts)
    new_size, grown = np.zeros(stretches, np.int64), np.full(stretches, -1, np.int64)
    room = 64
    for number in range(stretches):
        room += ends[number] - begins[number]
    room = min(room, _MOST_ROOM)
    owner, moments, window_of = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    ranks, answer_object = np.empty(room, np.int64), np.empty(room, np.int64)
    answer_total, answer_grand = np.empty(room, np.int64), np.empty(room, np.int64)
    object_, time, amount = np.empty(most + 1, np.int64), np.empty(most + 1, np.int64), np.empty(most + 1, np.int64)
    best_total, best_object = np.empty(most + 1, np.int64), np.empty(most + 1, np.int64)
    worth, lowest = np.empty(most + 1, np.int64), np.int64(least[2])
    waiting = np.empty(_MOST_WAITING, np.int64), np.empty(_MOST_WAITING, np.int64), np.empty(_MOST_WAITING, np.int64)
    answer_count, end, waits = 0, 0, 0
    for number in range(stretches):
        # All groups use the same few arrays for their entries, which stay in the cache.
        size = sizes[number]
        latest = copy_times(old_time, firsts[number], size, time)
        copy_values(old_object, firsts[number], size, object_, 0)
        copy_values(old_amount, firsts[number], size, amount, 0)
        row, stop, moment = starts[number], stops[number], begins[number]
        while True:
            more = moment < ends[number]
            while row < stop and not (more and times[row] >= at[moment]):
                new = (objects[row], times[row], amounts[row])
                size, waits = _add(object_, time, amount, size, waiting, waits, new, pane, phase, distinct)
                latest = times[row]
                row += 1
                if waits == _MOST_WAITING or (waits > 0 and size > most):
                    _put_waiting(object_, time, amount, size, waiting, waits, distinct)
                    waits = 0
                # Too many, perhaps only because old entries have not been dropped since the last moment.
                if size > most:
                    size = _forget(object_, time, amount, size, oldest_needed(times[row - 1], beats))
                    if size > most:
                        grown[number] = row
                        break
            if waits > 0:
                _put_waiting(object_, time, amount, size, waiting, waits, distinct)
                waits = 0
            if not more or grown[number] >= 0:
                break
            silent = has_gaps and latest < since[moment].min()
            for window in range(since.shape[1]):
                start = since[moment, window]
                if latest < start and (silent or not rest):
                    continue
                grand = _worths(time, amount, size, start, distinct, worth)
                count, object_count = 0, 0
                if size > 0:
                    count, object_count = _rank(object_, worth, size, ks[moment], lowest, best_total, best_object)
                count = count_large(best_total, count, least, grand)
                if answer_count + count >= room:
                    room = 2 * room + count
                    owner, moments, window_of = longer(owner, room), longer(moments, room), longer(window_of, room)
                    ranks, answer_object = longer(ranks, room), longer(answer_object, room)
                    answer_total, answer_grand = longer(answer_total, room), longer(answer_grand, room)
                others = grand
                for rank in range(count + int(rest)):
                    place = answer_count
                    owner[place], moments[place], window_of[place] = number, moment, window
                    ranks[place], answer_object[place], answer_total[place] = 0, object_count - count, others
                    if rank < count:
                        ranks[place], answer_object[place] = rank + 1, best_object[rank]
                        answer_total[place] = best_total[rank]
                        others -= best_total[rank]
                    answer_grand[place] = grand
                    answer_count += 1
            moment += 1
        before = end
        if grown[number] >= 0:
            end = _write(object_, time, amount, size, TIME_MIN, entries, end)
        elif not ended[number]:
            end = _write(object_, time, amount, size, oldest[number], entries, end)
        new_size[number] = end - before
    which = owner[:answer_count], moments[:answer_count], window_of[:answer_count], ranks[:answer_count]
    totals = answer_object[:answer_count], answer_total[:answer_count], answer_grand[:answer_count]
    return new_size, grown, (*which, *totals)


@njit(cache=True)
def least_totals(least: Any, grands: Int64) -> Any:
    """int64[n]: the least total that is large enough (`shares.Least`) for each of these grand totals."""
    totals = np.empty(len(grands), np.int64)
    for number in range(len(grands)):
        totals[number] = least_total(least, grands[number])
    return totals
