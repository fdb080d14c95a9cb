"""Ranks the objects of a small top-k group from its reports, in compiled code."""

import math
from typing import Any

import numpy as np
from numba import njit
from skyband.kernels.nested import nested_njit
from skyband.kernels.selection import select
from skyband.kernels.sorting import sort
from skyband.windows.half_lives import LN_2, STEPS

from skyband_incomplete.score_kernels import BY_MIN, BY_SUM
from skyband_incomplete.top_k.small_group_reports import LARGEST, LATEST, MEAN, SMALLEST, cell_end

_MORE = 16
BY_CALL = -1
"""A further kind of score: returns all objects and the values of their streams."""


@nested_njit
def room_for(k: int, reports: int) -> int:
    """The room for candidates for the best k objects of this many reports, or for all objects."""
    return max(2 * k, k + _MORE, reports)


@nested_njit
def faded(
    time: Any, value: Any, first: int, stop: int, at: Any, half_life: Any, coarse: Any, fine: Any, worth: Any
) -> None:
    """Write the worth of the reports first..stop at a moment."""
    for entry in range(first, stop):
        worth[entry] = value[entry] * _left_after(at - time[entry], half_life, coarse, fine)


@nested_njit
def _left_after(age: Any, half_life: Any, coarse: Any, fine: Any) -> Any:
    """`skyband.windows.half_lives.left_after`, equal to the last bit."""
    whole = -age // half_life
    fraction = (-age - whole * half_life) / half_life
    step = min(int(fraction * STEPS**2), STEPS**2 - 1)
    rest = (fraction - step / STEPS**2) * LN_2
    series = 1 + rest * (1 + rest * (1 / 2 + rest * (1 / 6)))
    return math.ldexp(coarse[step // STEPS] * fine[step % STEPS] * series, int(max(whole, -2000)))


@nested_njit
def _value(time: Any, value: Any, first: int, stop: int, since: Any, repeats: int) -> Any:
    """The value of a cell from its reports since `since`, and their number; sums from the newest on."""
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


@njit(inline="always")
def _is_worse(score: Any, owner: Any, other_score: Any, other: Any) -> Any:
    return score < other_score or (score == other_score and owner > other)


@nested_njit
def _sink(scores: Any, objects: Any, place: int, size: int, score: Any, owner: Any) -> None:
    """Put an object at a place of a heap, the worst at its top, and move it down to its place."""
    child = 2 * place + 1
    while child < size:
        if child + 1 < size and _is_worse(scores[child + 1], objects[child + 1], scores[child], objects[child]):
            child += 1
        if not _is_worse(scores[child], objects[child], score, owner):
            break
        scores[place], objects[place] = scores[child], objects[child]
        place, child = child, 2 * child + 1
    scores[place], objects[place] = score, owner


@njit(inline="always")
def _admit(best: Any, rank_count: int, k: int, score: Any, owner: Any) -> Any:
    """Add an object to the candidates for the best, if it can be; returns how many there are.

    Objects arrive in ascending order, so one that ties with others is worse. O(1), amortised.
    """
    if score > best[2][0]:
        best[0][rank_count], best[1][rank_count] = owner, score
        rank_count += 1
        if rank_count == k + max(k, _MORE):
            rank_count = _cut(best, rank_count, k)
    return rank_count


@nested_njit
def _cut(best: Any, rank_count: int, k: int) -> int:
    select(best[1][:rank_count], best[0][:rank_count], k)
    best[2][0] = best[1][k - 1]
    return k


@nested_njit
def _sort(best: Any, rank_count: int, k: int) -> int:
    """Keep the best k, the best first; returns how many there are. O(rank_count + k · log k)."""
    if rank_count > k:
        rank_count = _cut(best, rank_count, k)
    objects, scores, _ = best
    for place in range(rank_count // 2 - 1, -1, -1):
        _sink(scores, objects, place, rank_count, scores[place], objects[place])
    for last in range(rank_count - 1, 0, -1):
        score, owner = scores[last], objects[last]
        scores[last], objects[last] = scores[0], objects[0]
        _sink(scores, objects, 0, last, score, owner)
    return rank_count


@nested_njit
def rank_reports(
    object_: Any, stream: Any, time: Any, value: Any, first: int, stop: int, since: Any, rule: Any, k: int, best: Any,
    vectors: Any,
) -> int:  # fmt: skip
    """Write the best k objects of the reports first..stop and their scores, the best first; returns how many.

    rule: repeats, kind of score, weights, divisor. best: objects and scores, each with `room_for` them, and an array of
    one number. With BY_CALL it writes all objects, and their values to `vectors`, float64[objects, streams].
    O(reports + k · log k).
    """
    best[2][0] = -np.inf
    rank_count = _rank(object_, stream, time, value, first, stop, since, rule, k, best, 0, vectors)
    return rank_count if rule[1] == BY_CALL else _sort(best, rank_count, k)


@nested_njit
def has_below_0(values: Any, first: int, stop: int) -> bool:
    """Whether any of the values first..stop is below 0."""
    while first < stop and values[first] >= 0:
        first += 1
    return first < stop


@nested_njit
def list_best(objects: Any, best: Any, count: int, more_k: int, floor: Any) -> tuple[int, Any]:
    """Write the best `count` objects that are no worse than `floor`, in ascending order.

    Returns their number, and a bound on all others: the last of the best, if there are `more_k`.
    """
    best_object, best_score, _ = best
    floor_score, floor_object = floor
    while count > 0 and _is_worse(best_score[count - 1], best_object[count - 1], floor_score, floor_object):
        count -= 1
    if count == more_k:
        floor = best_score[count - 1], best_object[count - 1]
    for place in range(count):
        objects[place] = best_object[place]
    sort(objects, count)
    return count, floor


@nested_njit
def list_rows(objects: Any, count: int, rows: Any, start: int, stop: int) -> int:
    """Add the objects of rows to those listed; returns how many there are. O(n log n) for n of them."""
    for row in range(start, stop):
        objects[count + row - start] = rows[row]
    count += stop - start
    sort(objects, count)
    distinct = min(count, 1)
    for place in range(1, count):
        if objects[place] != objects[distinct - 1]:
            objects[distinct] = objects[place]
            distinct += 1
    return distinct


@nested_njit
def rank_listed(
    object_: Any, stream: Any, time: Any, value: Any, first: int, stop: int, since: Any, rule: Any, k: int, best: Any,
    vectors: Any, objects: Any, count: int,
) -> int:  # fmt: skip
    """`rank_reports` of only the listed objects (int64[count], ascending). O(count · log reports + k · log k)."""
    best[2][0] = -np.inf
    rank_count = 0
    for place in range(count):
        first = cell_end(object_, stream, first, stop, objects[place], np.int32(-1))
        end = first
        while end < stop and object_[end] == objects[place]:
            end += 1
        rank_count = _rank(object_, stream, time, value, first, end, since, rule, k, best, rank_count, vectors)
    return _sort(best, rank_count, k)


@nested_njit
def are_the_best(best: Any, rank_count: int, k: int, floor: Any) -> bool:
    """Whether the first k listed objects are the best of all, as the others are no better than `floor`."""
    floor_score, floor_object = floor
    if floor_score == -np.inf:
        return True
    return rank_count >= k and not _is_worse(best[1][k - 1], best[0][k - 1], floor_score, floor_object)


@nested_njit
def _rank(
    object_: Any, stream: Any, time: Any, value: Any, first: int, stop: int, since: Any, rule: Any, k: int, best: Any,
    rank_count: int, vectors: Any,
) -> int:  # fmt: skip
    """Add the objects of the reports first..stop to the candidates for the best; returns how many there are."""
    repeats, kind, _, _ = rule
    if repeats == LATEST and kind == BY_SUM:
        return _rank_sums(object_, stream, time, value, first, stop, since, rule, k, best, rank_count)
    return _rank_cells(object_, stream, time, value, first, stop, since, rule, k, best, rank_count, vectors)


@nested_njit
def _rank_sums(
    object_: Any, stream: Any, time: Any, value: Any, first: int, stop: int, since: Any, rule: Any, k: int, best: Any,
    rank_count: int,
) -> int:  # fmt: skip
    """`_rank`, by sums if each cell has one report."""
    _, _, weights, divisor = rule
    valid, score = 0, 0.0
    owner = object_[first] if first < stop else np.int64(0)
    for entry in range(first, stop):
        if object_[entry] != owner:
            if valid:
                rank_count = _admit(best, rank_count, k, score / divisor, owner)
            owner, valid, score = object_[entry], 0, 0.0
        if time[entry] >= since:
            score += weights[stream[entry]] * value[entry]
            valid += 1
    return _admit(best, rank_count, k, score / divisor, owner) if valid else rank_count


@nested_njit
def _rank_cells(  # noqa: C901 - a numeric kernel is one loop
    object_: Any, stream: Any, time: Any, value: Any, first: int, size: int, since: Any, rule: Any, k: int, best: Any,
    rank_count: int, vectors: Any,
) -> int:  # fmt: skip
    repeats, kind, weights, divisor = rule
    entry, streams = first, len(weights)
    while entry < size:
        owner, cells, score = object_[entry], 0, 0.0
        if kind == BY_CALL:
            for place in range(streams):
                vectors[rank_count, place] = 0.0
        # The score of its valid values, one per stream from the first on; a stream without one counts as 0.
        while entry < size and object_[entry] == owner:
            cell, stop = stream[entry], entry + 1
            while stop < size and object_[stop] == owner and stream[stop] == cell:
                stop += 1
            own, number = _value(time, value, entry, stop, since, repeats)
            entry = stop
            if number == 0:
                continue
            if kind == BY_CALL:
                vectors[rank_count, cell] = own
            elif kind == BY_SUM:
                score += weights[cell] * own
            elif cells == 0:
                score = own
            else:
                score = min(score, own) if kind == BY_MIN else max(score, own)
            cells += 1
        if cells == 0:
            continue
        if kind == BY_CALL:
            best[0][rank_count], best[1][rank_count] = owner, 0.0
            rank_count += 1
            continue
        if kind == BY_SUM:
            score /= divisor
        elif cells < streams:
            score = min(score, 0.0) if kind == BY_MIN else max(score, 0.0)
        rank_count = _admit(best, rank_count, k, score, owner)
    return rank_count
