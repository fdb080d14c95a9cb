"""The compiled pass of small workloads through their sessions."""

from typing import Any

import numpy as np
from numba import njit
from skyband.arrays import TIME_MIN
from skyband.groups.small_groups.kernels import copy_entries, longer, oldest_needed, rows_before, without_spare_room
from skyband.groups.small_groups.passes import SessionSpans
from skyband.kernels.nested import nested_njit

from skyband_workload.top_k_workload.small_group_rows import forget_rows, merge_rows, take_row

_MOST_ROOM = 1 << 20
_LEAST_MERGED = 8
"""The least rows that are merged into a large group together: added singly, each would move a part of the entries."""
_MOST_SMALL = 64
"""The most entries of a group to which rows are always added singly."""


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
    old: Any,
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
    """Add rows and answer moments, session by session.

    old: the columns of the entries. Each group keeps the rows that fewer than `most_k` later ones beat, by rank. The
    answer of a moment is the best `ks` rows since `since`, with `once` one of each object. Returns, for each session,
    the number of entries and the first row not added because it had more than `most` (-1: all were); the columns of
    all entries; and for each row of the answers the session, the moment's number, the rank from 1, object and score.
    O(entries of the group + rows · log rows) for the rows between two moments, with `once` O(entries) a row, and
    O(entries) for each answer, with `once` times `ks`.
    """
    firsts, sizes, starts, stops, ended, begins, ends, oldest = sessions
    session_count = len(firsts)
    new_size, grown = np.zeros(session_count, np.int64), np.full(session_count, -1, np.int64)
    room = len(old[0]) + len(times)
    score, object_ = np.empty(room, np.float64), np.empty(room, np.int64)
    time, beaten = np.empty(room, np.int64), np.empty(room, np.int32)
    # At first, the arrays have room for one row per answer, up to _MOST_ROOM; when full, they double.
    room = 64
    for session in range(session_count):
        room += ends[session] - begins[session]
    room = min(room, _MOST_ROOM)
    owner, moments, ranks = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    top_object, top_score = np.empty(room, np.int64), np.empty(room, np.float64)
    spare = (np.empty(most, np.float64), np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int32))
    rows, own = (scores, objects, times), (score, object_, time, beaten)
    written, end = 0, 0
    for session in range(session_count):
        # A group's entries are changed in their final place, first..end, after those of earlier groups.
        first, place, size, latest = end, firsts[session], sizes[session], TIME_MIN
        for entry in range(place, place + size):
            latest = max(latest, old[2][entry])
        row, stop, moment, alone = starts[session], stops[session], begins[session], np.int64(0)
        until = rows_before(times, row, stop, at, moment, ends[session])
        if not once and size > _MOST_SMALL and 0 < until - row <= most - size:
            end = merge_rows(own, first, old, place, size, rows, row, until, most_k)
            latest = times[until - 1]
            row = until
        else:
            copy_entries(old, place, own, first, size)
            end = first + size
        while True:
            # First the rows before the next moment, then its answer: windows are half open.
            more, until = moment < ends[session], rows_before(times, row, stop, at, moment, ends[session])
            if until > row:
                latest = times[until - 1]
            while row < until:
                if (
                    not once
                    and row >= alone
                    and until - row >= _LEAST_MERGED
                    and end - first + until - row > _MOST_SMALL
                ):
                    if end - first + until - row > most:
                        before = oldest_needed(times[row], slides)
                        end = forget_rows(score, object_, time, beaten, first, end, before)
                    size = end - first
                    fitting = min(until - row, most - size)
                    if fitting >= _LEAST_MERGED:
                        copy_entries(own, first, spare, 0, size)
                        end = merge_rows(own, first, spare, 0, size, rows, row, row + fitting, most_k)
                        row += fitting
                        continue
                    alone = until  # there is hardly any room left
                new = scores[row], objects[row], times[row]
                end = take_row(score, object_, time, beaten, first, end, new, most_k, once)
                row += 1
                # Too many, but perhaps only because old ones were not dropped since the last moment.
                if end - first > most:
                    before = oldest_needed(times[row - 1], slides)
                    end = forget_rows(score, object_, time, beaten, first, end, before)
                    if end - first > most:
                        grown[session] = row
                        break
            if not more or grown[session] >= 0:
                break
            if latest < since[moment]:  # many windows of rules have no rows of a group
                moment += 1
                continue
            if written + min(ks[moment], end - first) > room:
                room = 2 * room + end - first
                owner, moments, ranks = longer(owner, room), longer(moments, room), longer(ranks, room)
                top_object, top_score = longer(top_object, room), longer(top_score, room)
            # Entries are ordered by rank: the first `ks` that are recent enough are the answer.
            rank, entry = np.int64(0), first
            while rank < ks[moment] and entry < end:
                if time[entry] >= since[moment] and not (
                    once and _is_in(top_object, written - rank, written, object_[entry])
                ):
                    rank += 1
                    owner[written], moments[written], ranks[written] = session, moment, rank
                    top_object[written], top_score[written] = object_[entry], score[entry]
                    written += 1
                entry += 1
            moment += 1
        # Entries that no later moment needs are dropped; a group that is too large continues elsewhere, with all.
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
    answers = owner[:written], moments[:written], ranks[:written], top_object[:written], top_score[:written]
    return new_size, grown, entries, answers
