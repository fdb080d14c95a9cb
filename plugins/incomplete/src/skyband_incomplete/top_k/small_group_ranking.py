"""The best objects of a small top-k group, read off its reports in compiled code."""

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
"""Beside the kinds of score: the values of an object's streams are given back, and all objects."""


@nested_njit
def room_for(k: int, reports: int) -> int:
    """How many objects there may be that may be the best k of those of so many reports, or all of them."""
    return max(2 * k, k + _MORE, reports)


@nested_njit
def faded(
    time: Any, value: Any, first: int, stop: int, at: Any, half_life: Any, coarse: Any, fine: Any, worth: Any
) -> None:
    """Write what the reports first..stop are worth at a moment."""
    for entry in range(first, stop):
        worth[entry] = value[entry] * _left_after(at - time[entry], half_life, coarse, fine)


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


@njit(inline="always")
def _is_worse(score: Any, owner: Any, other_score: Any, other: Any) -> Any:
    return score < other_score or (score == other_score and owner > other)


@nested_njit
def _sink(scores: Any, objects: Any, place: int, size: int, score: Any, owner: Any) -> None:
    """Put an object into a place of a heap, the worst first, and move it down to where it belongs."""
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
    """Put an object among those that may be the best, if it may; returns how many these are.

    Objects come in ascending order, so that one that ties with others is worse than they are. O(1), amortised.
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
    """Leave the best k, the best first; returns how many these are. O(rank_count + k · log k)."""
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

    rule: repeats, kind of score, weights, divisor. best: objects and scores, each with `room_for` them, and a number of
    its own. With BY_CALL all objects, and their values to `vectors`, float64[as many as there are, streams].
    O(reports + k · log k).
    """
    best[2][0] = -np.inf
    rank_count = _rank(object_, stream, time, value, first, stop, since, rule, k, best, 0, vectors)
    return rank_count if rule[1] == BY_CALL else _sort(best, rank_count, k)


@nested_njit
def has_below_0(values: Any, first: int, stop: int) -> bool:
    """Whether one of the values first..stop is below 0."""
    while first < stop and values[first] >= 0:
        first += 1
    return first < stop


@nested_njit
def list_best(objects: Any, best: Any, count: int, more_k: int, floor: Any) -> tuple[int, Any]:
    """Write the best so many objects that are no worse than `floor`, in ascending order.

    Returns how many these are, and what all others are no better than: the last of the best, where there are `more_k`.
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
    """Write the objects of rows to those listed; returns how many these are. O(n log n) for n of them."""
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
    """As `rank_reports`, of the objects listed (int64[count], ascending) only. O(count · log reports + k · log k)."""
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
    """Whether the first k of those listed are the best of all, the others being no better than `floor`."""
    floor_score, floor_object = floor
    if floor_score == -np.inf:
        return True
    return rank_count >= k and not _is_worse(best[1][k - 1], best[0][k - 1], floor_score, floor_object)


@nested_njit
def _rank(
    object_: Any, stream: Any, time: Any, value: Any, first: int, stop: int, since: Any, rule: Any, k: int, best: Any,
    rank_count: int, vectors: Any,
) -> int:  # fmt: skip
    """Take the objects of the reports first..stop among those that may be the best; returns how many these are."""
    repeats, kind, _, _ = rule
    if repeats == LATEST and kind == BY_SUM:
        return _rank_sums(object_, stream, time, value, first, stop, since, rule, k, best, rank_count)
    return _rank_cells(object_, stream, time, value, first, stop, since, rule, k, best, rank_count, vectors)


@nested_njit
def _rank_sums(
    object_: Any, stream: Any, time: Any, value: Any, first: int, stop: int, since: Any, rule: Any, k: int, best: Any,
    rank_count: int,
) -> int:  # fmt: skip
    """As `_rank`, by sums where each cell has one report."""
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
        # The score of its valid values, one a stream from the first on; a stream without one counts as 0.
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
