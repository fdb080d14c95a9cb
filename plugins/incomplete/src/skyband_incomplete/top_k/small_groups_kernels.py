"""Processes the sessions of small top-k groups, in compiled code."""

from typing import Any

import numpy as np
from numba import njit
from skyband.groups.small_groups.kernels import copy_entries, longer, oldest_needed, rows_before, without_spare_room
from skyband.groups.small_groups.passes import SessionSpans
from skyband.kernels.nested import nested_njit

from skyband_incomplete.top_k.small_group_ranking import (
    BY_CALL,
    are_the_best,
    faded,
    has_below_0,
    list_best,
    list_rows,
    rank_listed,
    rank_reports,
    room_for,
)
from skyband_incomplete.top_k.small_group_reports import LATEST, NEVER, SUM, forget_reports, merge_reports, take_report

_MANY = 8
"""Rows from which on they are merged into a large group: one by one, each would move a part of the reports."""
_SPARE = 16
"""The fewest objects, besides the best k, to track from one moment to the next."""
_LOOK_UP = 8
"""The cost of looking up an object, relative to scanning one."""
_FEW = 64
"""The most reports of a group that are moved for each row."""


@nested_njit
def _oldest(time: Any, slides: Any, window: int, promise: bool) -> Any:
    """The time of the oldest report needed after a row: a promise covers the window that ends with it."""
    return time - window + 1 if promise else oldest_needed(time, slides)


@njit(cache=True)
def rank_objects(  # noqa: C901 - a numeric kernel is one loop
    sessions: SessionSpans, held: Any, times: Any, objects: Any, streams: Any, given_values: Any, at: Any, slides: Any,
    repeats: int, occurrences: int, kind: int, weights: Any, divisor: float, k: int, window: int, most: int,
    half_life: int, coarse: Any, fine: Any, falls: bool
) -> Any:  # fmt: skip
    """Take in rows and answer moments, session by session.

    held: the columns of the reports held. Returns the number of reports of each session, and the first row not taken in
    because it had more than `most` (-1: none); the columns of all reports; the session, moment number, rank from 1,
    object and score of each row of the answers, with BY_CALL its values instead of rank and score; and the number of
    rows that broke the promise. The rows between two moments cost O(reports of the group + rows · log rows), and an
    answer O(reports of the group + k · log k).

    half_life: of the values, 0 for no decay; coarse, fine: powers of two. falls: whether only rows can raise scores of
    values from 0 on: then answers after the first of a session mostly cost O(k log reports).
    """
    firsts, sizes, starts, stops, ended, begins, ends, oldest = sessions
    promise = repeats in (SUM, NEVER)
    stays = half_life > 0 and repeats != LATEST  # below 0, a smaller value may end up larger
    session_count, repeated = len(firsts), 0
    new_size, grown = np.zeros(session_count, np.int64), np.full(session_count, -1, np.int64)
    room_of_reports = len(held[2]) + len(times)
    object_, stream = np.empty(room_of_reports, np.int64), np.empty(room_of_reports, np.int32)
    time, value = np.empty(room_of_reports, np.int64), np.empty(room_of_reports, np.float64)
    # Room for one row of every answer at first, doubled whenever it is full.
    room = 64
    for number in range(session_count):
        room += ends[number] - begins[number]
    owner, moments, ranks = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    found_object, found_score = np.empty(room, np.int64), np.empty(room, np.float64)
    vectors = np.empty((room if kind == BY_CALL else 0, len(weights)), np.float64)
    spare = (np.empty(most, np.int64), np.empty(most, np.int32), np.empty(most, np.int64), np.empty(most, np.float64))
    worth = np.empty(room_of_reports, np.float64) if half_life > 0 else value
    rows, rule, some_k = (objects, streams, times, given_values), (repeats, kind, weights, divisor), min(k, most)
    # If more moments follow, list this many objects, which will include the best for a while.
    more_k = some_k + max(some_k // 4, _SPARE)
    listing, nothing = np.empty(most, np.int64), (-np.inf, np.int64(0))
    room_of_best = room_for(more_k, most)
    best_object, best_score = np.empty(room_of_best, np.int64), np.empty(room_of_best, np.float64)
    best = best_object, best_score, np.empty(1, np.float64)
    reports = object_, stream, time, value
    given, end = 0, 0
    for number in range(session_count):
        # A group's reports are processed in place, first..end, after those of the groups before.
        first, size = end, sizes[number]
        row, stop, moment, alone = starts[number], stops[number], begins[number], np.int64(0)
        list_size, list_row, floor = 0, row, nothing
        until = rows_before(times, row, stop, at, moment, ends[number])
        if size > _FEW and 0 < until - row <= most - size:
            end, broken = merge_reports(
                reports, first, held, firsts[number], size, rows, row, until, repeats, occurrences, stays, window
            )
            repeated += broken
            row = until
        else:
            copy_entries(held, firsts[number], reports, first, size)
            end = first + size
        while True:
            # First the rows before the next moment, then its answer: windows are half open.
            more, until = moment < ends[number], rows_before(times, row, stop, at, moment, ends[number])
            while row < until:
                if row >= alone and until - row >= _MANY and end - first + until - row > _FEW:
                    if end - first + until - row > most:
                        before = _oldest(times[row], slides, window, promise)
                        end = forget_reports(object_, stream, time, value, first, end, before, repeats)
                    size = end - first
                    some = min(until - row, most - size)
                    if some >= _MANY:
                        copy_entries(reports, first, spare, 0, size)
                        end, broken = merge_reports(
                            reports, first, spare, 0, size, rows, row, row + some, repeats, occurrences, stays, window
                        )
                        repeated += broken
                        row += some
                        continue
                    alone = until  # almost no room is left
                new = objects[row], streams[row], times[row], given_values[row] + 0.0
                end, broken = take_report(
                    object_, stream, time, value, first, end, new, repeats, occurrences, stays, window
                )
                repeated += broken
                row += 1
                # Too many, though perhaps only because old reports were not expired since the last moment.
                if end - first > most:
                    before = _oldest(times[row - 1], slides, window, promise)
                    end = forget_reports(object_, stream, time, value, first, end, before, repeats)
                    if end - first > most:
                        grown[number] = row
                        break
            if not more or grown[number] >= 0:
                break
            size = end - first
            # A user's function cannot be called from here: return all complete objects with their values.
            if kind == BY_CALL and given + size > len(vectors):
                larger = np.empty((2 * len(vectors) + size, len(weights)), np.float64)
                for entry in range(given):
                    for place in range(len(weights)):
                        larger[entry, place] = vectors[entry, place]
                vectors = larger
            if half_life > 0:
                faded(time, value, first, end, at[moment], half_life, coarse, fine, worth)
            since, rank_count = at[moment] - window, 0
            # If more moments follow, list some more objects than the best: as long as these are better than all
            # others, only they and objects with new rows are ranked.
            if list_size > 0 and (
                list_size + row - list_row > size // _LOOK_UP or has_below_0(given_values, list_row, row)
            ):
                list_size = 0
            if list_size > 0:
                list_size = list_rows(listing, list_size, objects, list_row, row)
                rank_count = rank_listed(
                    object_,
                    stream,
                    time,
                    worth,
                    first,
                    end,
                    since,
                    rule,
                    more_k,
                    best,
                    vectors,
                    listing,
                    list_size,
                )
                list_size = list_size if are_the_best(best, rank_count, some_k, floor) else 0
            if list_size == 0:
                lists = falls and moment + 1 < ends[number] and more_k <= size // (2 * _LOOK_UP)
                lists = lists and not has_below_0(value, first, end)
                floor, ranked = nothing, more_k if lists else some_k
                rank_count = rank_reports(
                    object_, stream, time, worth, first, end, since, rule, ranked, best, vectors[given:]
                )
                list_size = rank_count if lists else 0
            if list_size > 0:
                list_size, floor = list_best(listing, best, rank_count, more_k, floor)
                list_row = row
            rank_count = rank_count if kind == BY_CALL else min(rank_count, some_k)
            if given + rank_count > room:
                room = 2 * room + rank_count
                owner, moments, ranks = longer(owner, room), longer(moments, room), longer(ranks, room)
                found_object, found_score = longer(found_object, room), longer(found_score, room)
            for rank in range(rank_count):
                owner[given], moments[given], ranks[given] = number, moment, rank + 1
                found_object[given], found_score[given] = best_object[rank], best_score[rank]
                given += 1
            moment += 1
        if ended[number] and grown[number] < 0:
            end = first
        elif grown[number] < 0:
            end = forget_reports(object_, stream, time, value, first, end, oldest[number], repeats)
        new_size[number] = end - first
    entries = (
        without_spare_room(object_, end),
        without_spare_room(stream, end),
        without_spare_room(time, end),
        without_spare_room(value, end),
    )
    which = (owner[:given], moments[:given], ranks[:given])
    answers = (*which, found_object[:given], found_score[:given], vectors[:given])
    return new_size, grown, entries, answers, repeated
