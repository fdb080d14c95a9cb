"""The rows of a small group of top-k-workload, taken in and forgotten in compiled code.

They stand by rank in four arrays: scores, objects, times, and how often each was beaten.
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
    """Take in a row (score, object, time) among the entries first..stop, which may grow by one; returns where they end.

    What it beats is beaten once more, and goes at the k-th time.

    once: an object is in an answer by its best row only. Then no object beats a row twice, and of an object's own rows
    those that it beats go. O(entries).
    """
    new_score, new_object, new_time = row
    low, high = first, stop
    while low < high:
        middle = (low + high) // 2
        if score[middle] > new_score or (score[middle] == new_score and object_[middle] < new_object):
            low = middle + 1
        else:
            high = middle
    # Rows up to `counted` are beaten by this object already: a row of it that ranks before them came since.
    counted = TIME_MIN
    if once:
        for entry in range(first, low):
            if object_[entry] == new_object:
                counted = max(counted, time[entry])
    # From there on all move down by one, the new row in front, but for those that go.
    kept = low
    moved_score, moved_object, moved_time, moved_beaten = new_score, new_object, new_time, np.int64(0)
    for entry in range(low, stop):
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
def merge_rows(
    entries: Any, target: int, source: Any, first: int, size: int, rows: Any, start: int, stop: int, most_k: int
) -> int:
    """As `take_row` with the rows start..stop (scores, objects, times), where an object is in an answer by each row.

    source, first, size: other arrays that have the entries so far, and where; they are written from `target` on.
    O(entries + n log n) for n rows.
    """
    scores, objects, times = rows[0][start:stop], rows[1][start:stop], rows[2][start:stop]
    held_score, held_object = source[0], source[1]
    order = _by_rank(scores, objects)
    tree = np.zeros(len(order) + 1, np.int64)
    end = first + size
    for rank in range(len(order)):
        row = order[rank]
        score, object_ = scores[row], objects[row]
        while first < end and (
            held_score[first] > score or (held_score[first] == score and held_object[first] < object_)
        ):
            target += _keep(entries, target, source, first, rank, most_k)
            first += 1
        # Of the rows that rank before it those beat it that came later.
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
    """The places of rows in the order of their ranks: of those that are alike the latest first."""
    falling = np.empty(len(scores), np.float64)
    for row in range(len(scores)):
        falling[row] = -scores[row]
    return sort_places(falling, sort_places(objects, np.arange(len(scores) - 1, -1, -1)))


@nested_njit
def _count(tree: Any, place: int) -> int:
    """How many of the places 1..place were counted before this one, by a Fenwick tree; this one is now. O(log n)."""
    before, here = 0, place
    while here > 0:
        before += tree[here]
        here -= here & -here
    here = place
    while here < len(tree):
        tree[here] += 1
        here += here & -here
    return before


@nested_njit
def _write(entries: Any, place: int, score: Any, object_: Any, time: Any, beaten: Any) -> None:
    entries[0][place], entries[1][place], entries[2][place], entries[3][place] = score, object_, time, beaten


@nested_njit
def _keep(entries: Any, place: int, source: Any, entry: int, more: int, most_k: int) -> int:
    """Write an entry that was beaten so many times more; returns 1 if it stays."""
    beaten = source[3][entry] + more
    _write(entries, place, source[0][entry], source[1][entry], source[2][entry], beaten)
    return int(beaten < most_k)


@nested_njit
def forget_rows(score: Any, object_: Any, time: Any, beaten: Any, first: int, stop: int, before: Any) -> int:
    """Keep of the entries first..stop those that are not before; returns where they end now. O(entries)."""
    entry = first
    while entry < stop and time[entry] >= before:
        entry += 1
    target = entry
    while entry < stop:  # without a branch: which entries go is as good as random
        score[target], object_[target], time[target], beaten[target] = (
            score[entry],
            object_[entry],
            time[entry],
            beaten[entry],
        )
        target += time[entry] >= before
        entry += 1
    return target
