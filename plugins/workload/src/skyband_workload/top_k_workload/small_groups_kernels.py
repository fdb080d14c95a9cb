"""The walk of small workloads through their sessions, in compiled code."""

from typing import Any

import numpy as np
from numba import njit
from skyband.arrays import TIME_MIN
from skyband.groups.small_groups.kernels import copy_entries, longer, oldest_needed, rows_before, without_spare_room
from skyband.groups.small_groups.passes import SessionSpans
from skyband.kernels.nested import nested_njit

from skyband_workload.top_k_workload.small_group_rows import forget_rows, merge_rows, take_row

_MOST_ROOM = 1 << 20
_MANY = 8
"""Rows that are merged into a group of many entries: one by one, each would move a part of them."""
_FEW = 64
"""Entries of a group that moves them for each row."""


@nested_njit
def _is_in(objects: Any, start: int, stop: int, object_: int) -> bool:
    """Whether an object is among those from `start` to `stop`."""
    place = start
    while place < stop and objects[place] != object_:
        place += 1
    return bool(place < stop)


@njit(cache=True)
def rank_rows(  # noqa: C901 - a numeric kernel is one loop
    sessions: SessionSpans,
    held: Any,
    times: Any,
    objects: Any,
    scores: Any,
    at: Any,
    since: Any,
    ks: Any,
    slides: Any,
    most_k: int,
    most: int,
    once: bool,
) -> Any:
    """Take rows in and answer moments, session by session.

    held: the columns of the entries. Each group keeps what fewer than `most_k` later rows beat, by rank. A moment
    answers with the best `ks` of the rows since `since`, with one of each object where `once`. Returns of each session
    the number of entries and the first row not taken in, as it had more than `most` (-1: never); the columns of all
    entries; and of each row of the answers the session, the moment's number, the rank from 1, object and score.
    O(entries of the group + rows · log rows) for the rows between two moments, where `once` O(entries) a row, and
    O(entries) for each answer, times `ks` where `once`.
    """
    firsts, sizes, starts, stops, ended, begins, ends, oldest = sessions
    session_count = len(firsts)
    new_size, grown = np.zeros(session_count, np.int64), np.full(session_count, -1, np.int64)
    room = len(held[0]) + len(times)
    score, object_ = np.empty(room, np.float64), np.empty(room, np.int64)
    time, beaten = np.empty(room, np.int64), np.empty(room, np.int32)
    # Room for one row of every answer at first, if these are not too many, and twice as much whenever that is full.
    room = 64
    for session in range(session_count):
        room += ends[session] - begins[session]
    room = min(room, _MOST_ROOM)
    owner, moments, ranks = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    found_object, found_score = np.empty(room, np.int64), np.empty(room, np.float64)
    spare = (np.empty(most, np.float64), np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int32))
    rows, own = (scores, objects, times), (score, object_, time, beaten)
    given, end = 0, 0
    for session in range(session_count):
        # A group's entries are worked on where they stay, first..end, behind those of the groups before.
        first, place, size, latest = end, firsts[session], sizes[session], TIME_MIN
        for entry in range(place, place + size):
            latest = max(latest, held[2][entry])
        row, stop, moment, alone = starts[session], stops[session], begins[session], np.int64(0)
        until = rows_before(times, row, stop, at, moment, ends[session])
        if not once and size > _FEW and 0 < until - row <= most - size:
            end = merge_rows(own, first, held, place, size, rows, row, until, most_k)
            latest = times[until - 1]
            row = until
        else:
            copy_entries(held, place, own, first, size)
            end = first + size
        while True:
            # Rows up to the next moment first, then its answer: windows are half open.
            more, until = moment < ends[session], rows_before(times, row, stop, at, moment, ends[session])
            if until > row:
                latest = times[until - 1]
            while row < until:
                if not once and row >= alone and until - row >= _MANY and end - first + until - row > _FEW:
                    if end - first + until - row > most:
                        before = oldest_needed(times[row], slides)
                        end = forget_rows(score, object_, time, beaten, first, end, before)
                    size = end - first
                    some = min(until - row, most - size)
                    if some >= _MANY:
                        copy_entries(own, first, spare, 0, size)
                        end = merge_rows(own, first, spare, 0, size, rows, row, row + some, most_k)
                        row += some
                        continue
                    alone = until  # there is hardly room for more
                new = scores[row], objects[row], times[row]
                end = take_row(score, object_, time, beaten, first, end, new, most_k, once)
                row += 1
                # Too many, though perhaps only because old ones were not looked at since the last moment.
                if end - first > most:
                    before = oldest_needed(times[row - 1], slides)
                    end = forget_rows(score, object_, time, beaten, first, end, before)
                    if end - first > most:
                        grown[session] = row
                        break
            if not more or grown[session] >= 0:
                break
            if latest < since[moment]:  # many a window of a rule holds none of a group's rows
                moment += 1
                continue
            if given + min(ks[moment], end - first) > room:
                room = 2 * room + end - first
                owner, moments, ranks = longer(owner, room), longer(moments, room), longer(ranks, room)
                found_object, found_score = longer(found_object, room), longer(found_score, room)
            # Entries stand by rank: the first `ks` that are young enough are the answer.
            rank, entry = np.int64(0), first
            while rank < ks[moment] and entry < end:
                if time[entry] >= since[moment] and not (
                    once and _is_in(found_object, given - rank, given, object_[entry])
                ):
                    rank += 1
                    owner[given], moments[given], ranks[given] = session, moment, rank
                    found_object[given], found_score[given] = object_[entry], score[entry]
                    given += 1
                entry += 1
            moment += 1
        # What no moment to come needs goes; a group that has outgrown goes on elsewhere, with all it has.
        if ended[session] and grown[session] < 0:
            end = first
        elif grown[session] < 0:
            end = forget_rows(score, object_, time, beaten, first, end, oldest[session])
        new_size[session] = end - first
    entries = (
        without_spare_room(score, end),
        without_spare_room(object_, end),
        without_spare_room(time, end),
        without_spare_room(beaten, end),
    )
    answers = (owner[:given], moments[:given], ranks[:given], found_object[:given], found_score[:given])
    return new_size, grown, entries, answers
