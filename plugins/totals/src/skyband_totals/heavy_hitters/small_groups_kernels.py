# mypy: disable-error-code="untyped-decorator"
"""The walk of small groups of totals through their stretches, in compiled code.

The entries of a group stand by object; those of one object by time, or by value where distinct values count.
"""

from typing import Any

import numpy as np
from numba import njit
from skyband.arrays import TIME_MIN, Array, Int64
from skyband.groups.small_groups_kernels import longer, oldest_needed
from skyband.kernels.nested import nested_njit

from skyband_totals.selection import count_large, in_order, offer
from skyband_totals.share_kernels import least_total
from skyband_totals.unit_worth import MOST_TOGETHER

_MOST_ROOM = 1 << 20


@nested_njit
def _end_of(object_: Any, amount: Any, size: int, new_object: Any, value: Any, distinct: bool) -> int:
    """Where the entries of an object end; where distinct values count, those of its values up to this one."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        here = object_[middle]
        if here < new_object or (here == new_object and (not distinct or amount[middle] <= value)):
            low = middle + 1
        else:
            high = middle
    return low


@nested_njit
def _add(object_: Any, time: Any, amount: Any, size: int, row: Any, pane: Any, phase: Any, distinct: bool) -> int:
    """Take in a row (object, time, amount); returns how many entries there are. O(entries).

    A row adds to the entry of its object and pane, up to 2^51 units; of an object and value the latest time is kept.
    """
    new_object, new_time, new = row
    if not distinct and new == 0:
        return size
    end = _end_of(object_, amount, size, new_object, new, distinct)
    before = end - 1
    if before >= 0 and object_[before] == new_object:
        if distinct:
            if amount[before] == new:
                time[before] = new_time
                return size
        elif (time[before] - phase) // pane == (new_time - phase) // pane and amount[before] <= MOST_TOGETHER - new:
            time[before] = new_time
            amount[before] += new
            return size
    # By insertion: entries stand by object, so that an answer adds up each object's in one walk.
    for entry in range(size - 1, end - 1, -1):
        object_[entry + 1], time[entry + 1], amount[entry + 1] = object_[entry], time[entry], amount[entry]
    object_[end], time[end], amount[end] = new_object, new_time, new
    return size + 1


@nested_njit
def _forget(object_: Any, time: Any, amount: Any, size: int, before: Any) -> int:
    """Keep the entries that are not before; returns how many."""
    count = 0
    for entry in range(size):
        if time[entry] >= before:
            object_[count], time[count], amount[count] = object_[entry], time[entry], amount[entry]
            count += 1
    return count


@nested_njit
def _rank(
    object_: Any, time: Any, amount: Any, size: int, since: Any,
    k: int, least: Any, distinct: bool, best_total: Any, best_object: Any,
) -> Any:  # fmt: skip
    """Write the objects of an answer and their totals in order; returns how many, of how many, and the grand total.

    O(entries · log k).
    """
    found, some, entry, grand = 0, 0, 0, np.int64(0)
    while entry < size:
        owner, total = object_[entry], np.int64(0)
        while entry < size and object_[entry] == owner:
            if time[entry] >= since:
                total += 1 if distinct else amount[entry]
            entry += 1
        grand += total
        if total > 0:
            some += 1
            found = offer(best_total, best_object, found, k, total, owner)
    in_order(best_total, best_object, found)
    return count_large(best_total, found, least, grand), some, grand


@njit(cache=True)
def rank_totals(  # noqa: C901 - a numeric kernel is one loop
    firsts: Int64, sizes: Int64, starts: Int64, stops: Int64, ended: Array, begins: Int64, ends: Int64,
    held: Any, times: Any, objects: Any, amounts: Any, at: Any, since: Any, beats: Any,
    pane: int, phase: int, ks: Int64, least: Any, distinct: bool, oldest: Any, most: int, rest: bool,
) -> Any:  # fmt: skip
    """Take rows in and answer moments over every window, stretch by stretch.

    held: the columns of the entries held; since: int64[m, w], where each window of a moment begins; ks: int64[m], how
    many objects its answers have at most. Returns of each
    stretch the number of entries and the first row not taken in, as it had more than `most` (-1: never); the columns of
    all entries; and of each row of the answers the stretch, the moment's number, the window's, the rank from 1, object,
    total and grand total; with `rest` after each answer one of rank 0, the number and the total of the other objects.
    O(rows · entries of a group) and, for each answer, O(entries of the group · log k).
    """
    held_object, held_time, held_amount = held
    stretches = len(firsts)
    new_size, grown = np.zeros(stretches, np.int64), np.full(stretches, -1, np.int64)
    room = len(held_time) + len(times)
    new_object, new_time, new_amount = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    room = 64
    for number in range(stretches):
        room += ends[number] - begins[number]
    room = min(room, _MOST_ROOM)
    owner, moments, window_of = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    ranks, found_object = np.empty(room, np.int64), np.empty(room, np.int64)
    found_total, found_grand = np.empty(room, np.int64), np.empty(room, np.int64)
    object_, time, amount = np.empty(most + 1, np.int64), np.empty(most + 1, np.int64), np.empty(most + 1, np.int64)
    best_total, best_object = np.empty(most + 1, np.int64), np.empty(most + 1, np.int64)
    given, written = 0, 0
    for number in range(stretches):
        # A group's entries are worked on in the same few arrays as those of the group before, which stay in the cache.
        size, first, latest = sizes[number], firsts[number], TIME_MIN
        for entry in range(size):
            latest = max(latest, held_time[first + entry])
            object_[entry], time[entry] = held_object[first + entry], held_time[first + entry]
            amount[entry] = held_amount[first + entry]
        row, stop, moment = starts[number], stops[number], begins[number]
        while True:
            more = moment < ends[number]
            while row < stop and not (more and times[row] >= at[moment]):
                new = (objects[row], times[row], amounts[row])
                size = _add(object_, time, amount, size, new, pane, phase, distinct)
                latest = times[row]
                row += 1
                # Too many, though perhaps only because old ones were not looked at since the last moment.
                if size > most:
                    size = _forget(object_, time, amount, size, oldest_needed(times[row - 1], beats))
                    if size > most:
                        grown[number] = row
                        break
            if not more or grown[number] >= 0:
                break
            for window in range(since.shape[1]):
                start = since[moment, window]
                if latest < start and not rest:
                    continue
                found, some, grand = _rank(
                    object_, time, amount, size, start, ks[moment], least, distinct, best_total, best_object
                )
                if given + found >= room:
                    room = 2 * room + found
                    owner, moments, window_of = longer(owner, room), longer(moments, room), longer(window_of, room)
                    ranks, found_object = longer(ranks, room), longer(found_object, room)
                    found_total, found_grand = longer(found_total, room), longer(found_grand, room)
                others = grand
                for rank in range(found + int(rest)):
                    owner[given], moments[given], window_of[given] = number, moment, window
                    ranks[given], found_object[given], found_total[given] = 0, some - found, others
                    if rank < found:
                        ranks[given], found_object[given] = rank + 1, best_object[rank]
                        found_total[given] = best_total[rank]
                        others -= best_total[rank]
                    found_grand[given] = grand
                    given += 1
            moment += 1
        if grown[number] < 0:
            size = 0 if ended[number] else _forget(object_, time, amount, size, oldest[number])
        new_size[number] = size
        for entry in range(size):
            new_object[written], new_time[written], new_amount[written] = object_[entry], time[entry], amount[entry]
            written += 1
    entries = new_object[:written].copy(), new_time[:written].copy(), new_amount[:written].copy()
    which = owner[:given], moments[:given], window_of[:given], ranks[:given]
    return new_size, grown, entries, (*which, found_object[:given], found_total[:given], found_grand[:given])


@njit(cache=True)
def least_totals(least: Any, grands: Int64) -> Any:
    """int64[n]: the least total that is large enough (`shares.Least`) beside each of these grand totals."""
    totals = np.empty(len(grands), np.int64)
    for number in range(len(grands)):
        totals[number] = least_total(least, grands[number])
    return totals
