"""The compiled code that adds and drops rows of a small group of top-k-workload.

They are ordered by rank, in four arrays: scores, objects, times, and how often each was beaten.
"""

from typing import Any

import numpy as np
from skyband.arrays import TIME_MIN
from skyband.kernels.nested import nested_njit
from skyband.kernels.sorting import sort_places


@nested_njit
def take_row(
    score: Any, object_: Any, time: Any, beaten: Any, first: int, stop: int, row: Any, most_k: int, once: bool
) -> int:
    """Add a row (score, object, time) to the entries first..stop, at most one more then; returns their new end.

    Each row that it beats is beaten once more, and dropped at the k-th time.
    once: whether only the best row of an object is in an answer. Then no object beats a row twice, and its own rows
    that the new one beats are dropped. O(entries).
    """
    new_score, new_object, new_time = row
    low, high = first, stop
    while low < high:
        middle = (low + high) // 2
        if score[middle] > new_score or (score[middle] == new_score and object_[middle] < new_object):
            low = middle + 1
        else:
            high = middle
    # Rows up to time `counted` are already beaten by this object, by a later row of it that ranks before them.
    counted = TIME_MIN
    if once:
        for entry in range(first, low):
            if object_[entry] == new_object:
                counted = max(counted, time[entry])
    # The entries from there on move back by one, behind the new row, except for dropped ones.
    kept = low
    moved_score, moved_object, moved_time, moved_beaten = new_score, new_object, new_time, np.int64(0)
    for entry in range(low, stop):
        old_score, old_object = score[entry], object_[entry]
        old_time, old_beaten = time[entry], beaten[entry] + 1
        if once and old_object == new_object:
            counted = max(counted, old_time)
            continue
        if once and old_time <= counted:
            old_beaten -= 1
        if old_beaten >= most_k:
            continue
        score[kept], object_[kept], time[kept], beaten[kept] = moved_score, moved_object, moved_time, moved_beaten
        kept += 1
        moved_score, moved_object, moved_time, moved_beaten = old_score, old_object, old_time, old_beaten
    score[kept], object_[kept], time[kept], beaten[kept] = moved_score, moved_object, moved_time, moved_beaten
    return kept + 1


@nested_njit
def merge_rows(
    entries: Any, target: int, source: Any, first: int, size: int, rows: Any, start: int, stop: int, most_k: int
) -> int:
    """Like `take_row` with the rows start..stop (scores, objects, times), if each row of an object may be in an answer.

    source, first, size: other arrays with the old entries, and their place; all entries are written from `target` on.
    O(entries + n log n) for n rows.
    """
    scores, objects, times = rows[0][start:stop], rows[1][start:stop], rows[2][start:stop]
    old_score, old_object = source[0], source[1]
    order = _by_rank(scores, objects)
    tree = np.zeros(len(order) + 1, np.int64)
    end = first + size
    for rank in range(len(order)):
        row = order[rank]
        score, object_ = scores[row], objects[row]
        while first < end and (old_score[first] > score or (old_score[first] == score and old_object[first] < object_)):
            target += _keep(entries, target, source, first, rank, most_k)
            first += 1
        # Of the rows that rank before it, the later ones beat it.
        beaten = rank - _count(tree, row + 1)
        if beaten < most_k:
            _write(entries, target, score, object_, times[row], beaten)
            target += 1
    while first < end:
        target += _keep(entries, target, source, first, len(order), most_k)
        first += 1
    return target


@nested_njit
def _by_rank(scores: Any, objects: Any) -> Any:
    """The indices of the rows by rank; of equal ones, the latest is first."""
    falling = np.empty(len(scores), np.float64)
    for row in range(len(scores)):
        falling[row] = -scores[row]
    return sort_places(falling, sort_places(objects, np.arange(len(scores) - 1, -1, -1)))


@nested_njit
def _count(tree: Any, place: int) -> int:
    """Count `place` in a Fenwick tree; returns how many of 1..place were counted before. O(log n)."""
    before, node = 0, place
    while node > 0:
        before += tree[node]
        node -= node & -node
    node = place
    while node < len(tree):
        tree[node] += 1
        node += node & -node
    return before


@nested_njit
def _write(entries: Any, place: int, score: Any, object_: Any, time: Any, beaten: Any) -> None:
    entries[0][place], entries[1][place], entries[2][place], entries[3][place] = score, object_, time, beaten


@nested_njit
def _keep(entries: Any, place: int, source: Any, entry: int, more: int, most_k: int) -> int:
    """Write an entry that was beaten `more` times; returns 1 if it is kept, otherwise 0."""
    beaten = source[3][entry] + more
    _write(entries, place, source[0][entry], source[1][entry], source[2][entry], beaten)
    return int(beaten < most_k)


@nested_njit
def forget_rows(score: Any, object_: Any, time: Any, beaten: Any, first: int, stop: int, before: Any) -> int:
    """Drop the entries of first..stop that are before `before`; returns their new end. O(entries)."""
    entry = first
    while entry < stop and time[entry] >= before:
        entry += 1
    target = entry
    while entry < stop:  # without a branch: which entries are dropped is hard to predict
        score[target], object_[target], time[target], beaten[target] = (
            score[entry],
            object_[entry],
            time[entry],
            beaten[entry],
        )
        target += time[entry] >= before
        entry += 1
    return target
