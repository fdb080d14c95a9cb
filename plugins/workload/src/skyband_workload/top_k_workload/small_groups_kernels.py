# mypy: disable-error-code="untyped-decorator"
"""The walk of small workloads through their sessions, in compiled code."""

from typing import Any

import numpy as np
from numba import njit
from skyband.arrays import TIME_MIN
from skyband.groups.small_group_pass import SessionSpans
from skyband.groups.small_groups_kernels import longer, oldest_needed
from skyband.kernels.nested import nested_njit

_MOST_ROOM = 1 << 20


@nested_njit
def _add(score: Any, object_: Any, time: Any, beaten: Any, size: int, row: Any, most_k: int, once: bool) -> int:
    """Take in a row (score, object, time) by rank: what it beats is beaten once more, and goes at the k-th time.

    once: an object is in an answer by its best row only. Then no object beats a row twice, and of an object's own rows
    those that it beats go. Returns how many entries there are. O(entries).
    """
    new_score, new_object, new_time = row
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if score[middle] > new_score or (score[middle] == new_score and object_[middle] < new_object):
            low = middle + 1
        else:
            high = middle
    # Rows up to `counted` are beaten by this object already: a row of it that ranks before them came since.
    counted = TIME_MIN
    if once:
        for entry in range(low):
            if object_[entry] == new_object:
                counted = max(counted, time[entry])
    # From there on all move down by one, the new row in front, but for those that go.
    kept = low
    moved_score, moved_object, moved_time, moved_beaten = new_score, new_object, new_time, np.int64(0)
    for entry in range(low, size):
        here_score, here_object = score[entry], object_[entry]
        here_time, here_beaten = time[entry], beaten[entry] + 1
        if once and here_object == new_object:
            counted = max(counted, here_time)
            continue
        if once and here_time <= counted:
            here_beaten -= 1
        if here_beaten >= most_k:
            continue
        score[kept], object_[kept], time[kept], beaten[kept] = moved_score, moved_object, moved_time, moved_beaten
        kept += 1
        moved_score, moved_object, moved_time, moved_beaten = here_score, here_object, here_time, here_beaten
    score[kept], object_[kept], time[kept], beaten[kept] = moved_score, moved_object, moved_time, moved_beaten
    return kept + 1


@nested_njit
def _forget(score: Any, object_: Any, time: Any, beaten: Any, size: int, before: Any) -> int:
    """Keep the entries that are not before; returns how many."""
    kept = 0
    for entry in range(size):
        if time[entry] >= before:
            if kept < entry:
                score[kept], object_[kept] = score[entry], object_[entry]
                time[kept], beaten[kept] = time[entry], beaten[entry]
            kept += 1
    return kept


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
    O(entries + rows · entries of a group) and, for each answer, O(entries of the group), times `ks` where `once`.
    """
    firsts, sizes, starts, stops, ended, begins, ends, oldest = sessions
    held_score, held_object, held_time, held_beaten = held
    session_count = len(firsts)
    new_size, grown = np.zeros(session_count, np.int64), np.full(session_count, -1, np.int64)
    room = len(held_score) + len(times)
    new_score, new_object = np.empty(room, np.float64), np.empty(room, np.int64)
    new_time, new_beaten = np.empty(room, np.int64), np.empty(room, np.int32)
    # Room for one row of every answer at first, if these are not too many, and twice as much whenever that is full.
    room = 64
    for session in range(session_count):
        room += ends[session] - begins[session]
    room = min(room, _MOST_ROOM)
    owner, moments, ranks = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    found_object, found_score = np.empty(room, np.int64), np.empty(room, np.float64)
    score, object_ = np.empty(most + 1, np.float64), np.empty(most + 1, np.int64)
    time, beaten = np.empty(most + 1, np.int64), np.empty(most + 1, np.int64)
    given, written = 0, 0
    for session in range(session_count):
        # A group's entries are worked on in the same few arrays as those of the group before, which stay in the cache.
        size, first, latest = sizes[session], firsts[session], TIME_MIN
        for entry in range(size):
            latest = max(latest, held_time[first + entry])
            score[entry], object_[entry] = held_score[first + entry], held_object[first + entry]
            time[entry], beaten[entry] = held_time[first + entry], held_beaten[first + entry]
        row, stop, moment = starts[session], stops[session], begins[session]
        while True:
            # Rows up to the next moment first, then its answer: windows are half open.
            more = moment < ends[session]
            while row < stop and not (more and times[row] >= at[moment]):
                size = _add(score, object_, time, beaten, size, (scores[row], objects[row], times[row]), most_k, once)
                latest = times[row]
                row += 1
                # Too many, though perhaps only because old ones were not looked at since the last moment.
                if size > most:
                    size = _forget(score, object_, time, beaten, size, oldest_needed(times[row - 1], slides))
                    if size > most:
                        grown[session] = row
                        break
            if not more or grown[session] >= 0:
                break
            if latest < since[moment]:  # many a window of a rule holds none of a group's rows
                moment += 1
                continue
            if given + min(ks[moment], size) > room:
                room = 2 * room + size
                owner, moments, ranks = longer(owner, room), longer(moments, room), longer(ranks, room)
                found_object, found_score = longer(found_object, room), longer(found_score, room)
            # Entries stand by rank: the first `ks` that are young enough are the answer.
            rank, entry = np.int64(0), 0
            while rank < ks[moment] and entry < size:
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
        if grown[session] < 0:
            size = 0 if ended[session] else _forget(score, object_, time, beaten, size, oldest[session])
        new_size[session] = size
        for entry in range(size):
            new_score[written], new_object[written] = score[entry], object_[entry]
            new_time[written], new_beaten[written] = time[entry], beaten[entry]
            written += 1
    entries = (new_score[:written].copy(), new_object[:written].copy(), new_time[:written].copy())
    answers = (owner[:given], moments[:given], ranks[:given], found_object[:given], found_score[:given])
    return new_size, grown, entries, new_beaten[:written].copy(), answers
