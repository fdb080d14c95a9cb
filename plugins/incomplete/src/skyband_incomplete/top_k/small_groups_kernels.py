# mypy: disable-error-code="untyped-decorator"
"""The walk of small top-k groups through their sessions, in compiled code.

The reports of a group stand by object and stream, those of one cell (object and stream) in order of arrival.
"""

import math
from typing import Any

import numpy as np
from numba import njit
from skyband.groups.small_group_pass import SessionSpans
from skyband.groups.small_groups_kernels import longer, oldest_needed
from skyband.kernels.nested import nested_njit
from skyband.windows.half_lives import LN_2, STEPS

from skyband_incomplete.score_kernels import score_of

LATEST, LARGEST, SMALLEST, MEAN, SUM, NEVER = range(6)
"""What counts where an object reports again; SUM and NEVER are promises: so many reports at most, which are summed."""
BY_CALL = -1
"""Beside the kinds of score: the values of an object's streams are given back, and all objects."""


@nested_njit
def _cell(object_: Any, stream: Any, size: int, new_object: Any, new_stream: Any) -> int:
    """Where the reports of a cell end."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        here = object_[middle]
        if here < new_object or (here == new_object and stream[middle] <= new_stream):
            low = middle + 1
        else:
            high = middle
    return low


@njit(inline="always")
def _superseded(value: Any, later: Any, repeats: int) -> Any:
    """Whether a report can never count again, once there is a later one of its cell."""
    if repeats == LATEST:
        return True
    return value <= later if repeats == LARGEST else repeats == SMALLEST and value >= later


@nested_njit
def _breaks_promise(
    object_: Any, stream: Any, time: Any, end: int, row: Any, repeats: int, most: int, before: Any
) -> bool:
    """Whether a report is one too many: of a cell that ends at `end`, what is before `before` being forgotten."""
    new_object, new_stream = row
    first = end
    if repeats == SUM:
        number = 0
        while first > 0 and object_[first - 1] == new_object and stream[first - 1] == new_stream:
            first -= 1
            number += time[first] >= before
        return number >= most
    return bool(end > 0 and object_[end - 1] == new_object and stream[end - 1] == new_stream)


@nested_njit
def _forget_object(object_: Any, stream: Any, time: Any, value: Any, size: int, owner: Any, before: Any) -> int:
    """Forget the reports of an object if all are before; returns how many reports are left."""
    first = _cell(object_, stream, size, owner, np.int32(-1))
    stop = first
    while stop < size and object_[stop] == owner:
        if time[stop] >= before:
            return size
        stop += 1
    gone = stop - first
    if gone:
        for entry in range(stop, size):
            object_[entry - gone], stream[entry - gone] = object_[entry], stream[entry]
            time[entry - gone], value[entry - gone] = time[entry], value[entry]
    return size - gone


@nested_njit
def _forget(object_: Any, stream: Any, time: Any, value: Any, size: int, before: Any, repeats: int) -> int:
    """Keep the reports that are not before, under NEVER with all of their objects; returns how many."""
    kept, entry = 0, 0
    while entry < size:
        stop, newest = entry + 1, time[entry]
        while repeats == NEVER and stop < size and object_[stop] == object_[entry]:
            newest = max(newest, time[stop])
            stop += 1
        for place in range(entry, stop):
            if newest >= before:
                object_[kept], stream[kept] = object_[place], stream[place]
                time[kept], value[kept] = time[place], value[place]
                kept += 1
        entry = stop
    return kept


@nested_njit
def _value(time: Any, value: Any, first: int, stop: int, since: Any, repeats: int) -> Any:
    """The value of a cell, of its reports since `since`, and how many these are; sums from the newest on."""
    total, number = 0.0, 0
    for entry in range(stop - 1, first - 1, -1):
        if time[entry] < since:
            continue
        if repeats in (LARGEST, SMALLEST):
            better = value[entry] > total if repeats == LARGEST else value[entry] < total
            total = value[entry] if number == 0 or better else total
        elif repeats != LATEST or number == 0:
            total += value[entry]
        number += 1
    return total / number if repeats == MEAN and number else total, number


@nested_njit
def _left_after(age: Any, half_life: Any, coarse: Any, fine: Any) -> Any:
    """As `skyband.windows.half_lives.left_after`, to the last bit."""
    whole = -age // half_life
    fraction = (-age - whole * half_life) / half_life
    step = min(int(fraction * STEPS**2), STEPS**2 - 1)
    rest = (fraction - step / STEPS**2) * LN_2
    series = 1 + rest * (1 + rest * (1 / 2 + rest * (1 / 6)))
    return math.ldexp(coarse[step // STEPS] * fine[step % STEPS] * series, int(max(whole, -2000)))


@nested_njit
def _rank(
    object_: Any, stream: Any, time: Any, value: Any, size: int, since: Any,
    repeats: int, kind: int, weights: Any, divisor: float, k: int, values: Any, best_object: Any, best_score: Any,
    vectors: Any,
) -> int:  # fmt: skip
    """Write the best k objects and their scores, the best first; returns how many. O(size · k).

    With BY_CALL all objects, and their values to `vectors`, float64[as many as there are, streams].
    """
    found, entry = 0, 0
    while entry < size:
        owner, valid = object_[entry], 0
        for place in range(len(values)):
            values[place] = 0.0
        while entry < size and object_[entry] == owner:
            stop = entry + 1
            while stop < size and object_[stop] == owner and stream[stop] == stream[entry]:
                stop += 1
            values[stream[entry]], number = _value(time, value, entry, stop, since, repeats)
            valid += number
            entry = stop
        if not valid:
            continue
        if kind == BY_CALL:
            for place in range(len(values)):
                vectors[found, place] = values[place]
            best_object[found], best_score[found] = owner, 0.0
            found += 1
            continue
        # By insertion from the worst upwards; an object that ties with one before it stays behind it.
        score = score_of(values, kind, weights, divisor)
        rank = found
        while rank > 0 and best_score[rank - 1] < score:
            if rank < k:
                best_object[rank], best_score[rank] = best_object[rank - 1], best_score[rank - 1]
            rank -= 1
        if rank < k:
            best_object[rank], best_score[rank] = owner, score
            found = min(found + 1, k)
    return found


@njit(cache=True)
def rank_objects(  # noqa: C901 - a numeric kernel is one loop
    sessions: SessionSpans, held: Any, times: Any, objects: Any, streams: Any, given_values: Any, at: Any, slides: Any,
    repeats: int, occurrences: int, kind: int, weights: Any, divisor: float, k: int, window: int, most: int,
    half_life: int, coarse: Any, fine: Any
) -> Any:  # fmt: skip
    """Take rows in and answer moments, session by session.

    held: the columns of the reports held. Returns of each session the number of reports and the first row not taken in,
    as it had more than `most` (-1: never); the columns of all reports; of each row of the answers the session, the
    moment's number, the rank from 1, object and score, and with BY_CALL, where neither is known yet, its values; and
    how many rows broke the promise. O(rows · reports of a group) and, for each answer, O(reports of the group · k).

    half_life: by which values fade, 0 where they do not; coarse, fine: the powers of two.
    """
    firsts, sizes, starts, stops, ended, begins, ends, oldest = sessions
    held_object, held_stream, held_time, held_value = held
    promise = repeats in (SUM, NEVER)
    stays = half_life > 0 and repeats != LATEST  # what is less may fade less, below 0
    session_count, repeated = len(firsts), 0
    new_size, grown = np.zeros(session_count, np.int64), np.full(session_count, -1, np.int64)
    room = len(held_time) + len(times)
    new_object, new_stream = np.empty(room, np.int64), np.empty(room, np.int32)
    new_time, new_value = np.empty(room, np.int64), np.empty(room, np.float64)
    # Room for one row of every answer at first, and twice as much whenever that is full.
    room = 64
    for number in range(session_count):
        room += ends[number] - begins[number]
    owner, moments, ranks = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    found_object, found_score = np.empty(room, np.int64), np.empty(room, np.float64)
    vectors = np.empty((room if kind == BY_CALL else 0, len(weights)), np.float64)
    object_, stream = np.empty(most + 1, np.int64), np.empty(most + 1, np.int32)
    time, value = np.empty(most + 1, np.int64), np.empty(most + 1, np.float64)
    best_object, best_score = np.empty(most + 1, np.int64), np.empty(most + 1, np.float64)
    worth = np.empty(most + 1, np.float64)
    values = np.empty(len(weights), np.float64)
    given, written = 0, 0
    for number in range(session_count):
        # A group's reports are worked on in the same few arrays as those of the group before, which stay in the cache.
        size, first = sizes[number], firsts[number]
        for entry in range(size):
            object_[entry], stream[entry] = held_object[first + entry], held_stream[first + entry]
            time[entry], value[entry] = held_time[first + entry], held_value[first + entry]
        row, stop, moment = starts[number], stops[number], begins[number]
        while True:
            # Rows up to the next moment first, then its answer: windows are half open.
            more = moment < ends[number]
            while row < stop and not (more and times[row] >= at[moment]):
                # A promise is of one window's length: reports from before it are held against nobody.
                before = times[row] - window + 1
                if repeats == NEVER:
                    size = _forget_object(object_, stream, time, value, size, objects[row], before)
                end = _cell(object_, stream, size, objects[row], streams[row])
                source = (objects[row], streams[row])
                if promise and _breaks_promise(object_, stream, time, end, source, repeats, occurrences, before):
                    repeated += 1
                    row += 1
                    continue
                # Earlier reports of the cell that this one makes useless go: begin..end is what it takes the place of.
                begin = end
                new = given_values[row] + 0.0
                while begin > 0 and object_[begin - 1] == objects[row] and stream[begin - 1] == streams[row]:
                    if stays or not _superseded(value[begin - 1], new, repeats):
                        break
                    begin -= 1
                shift = begin + 1 - end  # 1: no report goes
                if shift > 0:
                    for entry in range(size - 1, end - 1, -1):
                        object_[entry + 1], stream[entry + 1] = object_[entry], stream[entry]
                        time[entry + 1], value[entry + 1] = time[entry], value[entry]
                elif shift < 0:
                    for entry in range(end, size):
                        object_[entry + shift], stream[entry + shift] = object_[entry], stream[entry]
                        time[entry + shift], value[entry + shift] = time[entry], value[entry]
                size += shift
                object_[begin], stream[begin], time[begin], value[begin] = objects[row], streams[row], times[row], new
                row += 1
                # Too many, though perhaps only because old ones were not looked at since the last moment.
                if size > most:
                    forgotten = before if promise else oldest_needed(times[row - 1], slides)
                    size = _forget(object_, stream, time, value, size, forgotten, repeats)
                    if size > most:
                        grown[number] = row
                        break
            if not more or grown[number] >= 0:
                break
            # A function of the user's cannot be called from here: all complete objects go out with their values.
            if kind == BY_CALL and given + size > len(vectors):
                larger = np.empty((2 * len(vectors) + size, len(weights)), np.float64)
                for entry in range(given):
                    for place in range(len(weights)):
                        larger[entry, place] = vectors[entry, place]
                vectors = larger
            for entry in range(size):
                worth[entry] = value[entry]
                if half_life > 0:
                    worth[entry] *= _left_after(at[moment] - time[entry], half_life, coarse, fine)
            found = _rank(
                object_, stream, time, worth, size, at[moment] - window,
                repeats, kind, weights, divisor, min(k, most), values, best_object, best_score, vectors[given:],
            )  # fmt: skip
            if given + found > room:
                room = 2 * room + found
                owner, moments, ranks = longer(owner, room), longer(moments, room), longer(ranks, room)
                found_object, found_score = longer(found_object, room), longer(found_score, room)
            for rank in range(found):
                owner[given], moments[given], ranks[given] = number, moment, rank + 1
                found_object[given], found_score[given] = best_object[rank], best_score[rank]
                given += 1
            moment += 1
        if grown[number] < 0:
            size = 0 if ended[number] else _forget(object_, stream, time, value, size, oldest[number], repeats)
        new_size[number] = size
        for entry in range(size):
            new_object[written], new_stream[written] = object_[entry], stream[entry]
            new_time[written], new_value[written] = time[entry], value[entry]
            written += 1
    entries = new_object[:written].copy(), new_stream[:written].copy(), new_time[:written].copy()
    which = (owner[:given], moments[:given], ranks[:given])
    answers = (*which, found_object[:given], found_score[:given], vectors[:given])
    return new_size, grown, entries, new_value[:written].copy(), answers, repeated
