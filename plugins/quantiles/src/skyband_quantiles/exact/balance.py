"""Keeps queues of similar size: splits a large one at its median, and joins small neighbours."""

from math import sqrt
from typing import Any

import numpy as np
from skyband.kernels.nested import nested_njit
from skyband.kernels.selection import kth

from skyband_quantiles.exact.queues import (
    CHUNK,
    NOTHING,
    QUEUES,
    ROWS,
    append,
    expire,
    following_place,
    free_chunk,
    walk,
)

_FEWEST, _MOST = 64.0, 4096.0


@nested_njit
def target_of(queues: Any) -> Any:
    """The best size of queues: an answer scans all queues, and the rows of one for each quantile."""
    return int(min(max(2 * sqrt(queues.numbers[ROWS]), _FEWEST), _MOST))


@nested_njit
def cut_of(queues: Any, queue: int) -> float:
    """The largest value of the lower half, below the overall largest; NaN if all values are equal."""
    size = queues.size[queue]
    values = np.empty(size)
    place = CHUNK * queues.head[queue] + queues.start[queue]
    largest = queues.values[place]
    for row in range(size):
        values[row] = queues.values[place]
        largest = max(largest, values[row])
        if row + 1 < size:
            place = following_place(queues, place)
    cut = kth(values, 0, size, (size - 1) // 2)
    if cut < largest:
        return cut
    below = np.nan
    for row in range(size):
        if values[row] < largest and not values[row] <= below:
            below = values[row]
    return below


@nested_njit
def split(queues: Any, number: int) -> None:
    """Split the queue of a range; this needs room for another queue, and four free chunks. O(its rows)."""
    queue = queues.order[number]
    cut = cut_of(queues, queue)
    if np.isnan(cut):
        queues.one[queue], queues.only[queue] = 1, queues.values[CHUNK * queues.head[queue] + queues.start[queue]]
        return
    used = queues.numbers[QUEUES]
    lower = queues.order[used]
    for place in range(used, number, -1):
        queues.order[place], queues.up[place] = queues.order[place - 1], queues.up[place - 1]
    queues.order[number], queues.up[number] = lower, cut
    queues.numbers[QUEUES] = used + 1
    size = queues.size[queue]
    chunk: Any = np.int64(queues.head[queue])
    offset: Any = np.int64(queues.start[queue])
    queues.size[queue] = queues.size[lower] = 0
    for _ in range(size):
        place = CHUNK * chunk + offset
        value = queues.values[place]
        append(queues, lower if value <= cut else queue, value, queues.times[place])
        offset += 1
        if offset == CHUNK:
            gone, chunk, offset = chunk, np.int64(queues.following[chunk]), 0
            free_chunk(queues, gone)
    if offset:
        free_chunk(queues, chunk)
    for window in range(len(queues.reached)):
        walk(queues, window, lower, queues.reached[window])
        walk(queues, window, queue, queues.reached[window])


@nested_njit
def join(queues: Any, number: int) -> None:
    """Join the queues of a range and the next, by time; this needs four free chunks. O(rows of both)."""
    used = queues.numbers[QUEUES]
    first, second = queues.order[number], queues.order[number + 1]
    made = first
    if queues.size[first] == 0:
        made = second
    elif queues.size[second] > 0:
        made = queues.order[used]
        _merge(queues, first, second, made)
    queues.order[number], queues.up[number] = made, queues.up[number + 1]
    if made == queues.order[used]:
        queues.order[used] = first
    for place in range(number + 1, used - 1):
        queues.order[place], queues.up[place] = queues.order[place + 1], queues.up[place + 1]
    queues.order[used - 1] = second if made != second else first
    queues.numbers[QUEUES] = used - 1


@nested_njit
def _merge(queues: Any, first: int, second: int, made: int) -> None:
    """Move the rows of two queues into a third, by time."""
    queues.size[made] = 0
    left, right = queues.size[first], queues.size[second]
    here = CHUNK * queues.head[first] + np.int64(queues.start[first])
    there = CHUNK * queues.head[second] + np.int64(queues.start[second])
    while left or right:
        if right == 0 or (left > 0 and queues.times[here] <= queues.times[there]):
            append(queues, made, queues.values[here], queues.times[here])
            left -= 1
            here = _consume(queues, here, left)
        else:
            append(queues, made, queues.values[there], queues.times[there])
            right -= 1
            there = _consume(queues, there, right)
    queues.size[first] = queues.size[second] = 0
    for window in range(len(queues.reached)):
        walk(queues, window, made, queues.reached[window])


@nested_njit
def _consume(queues: Any, place: int, left: int) -> Any:
    """The next place of a queue that is emptied, with `left` rows; frees its chunks one by one."""
    following = following_place(queues, place) if left else np.int64(NOTHING)
    if left == 0 or following // CHUNK != place // CHUNK:
        free_chunk(queues, place // CHUNK)
    return following


@nested_njit
def look_around(queues: Any, since: int) -> None:
    """Drop the rows before `since`, and join small neighbours if there are many queues."""
    expire(queues, since)
    target = target_of(queues)
    if queues.numbers[QUEUES] * target <= 4 * queues.numbers[ROWS]:
        return
    number = 0
    while number + 1 < queues.numbers[QUEUES]:
        both = queues.size[queues.order[number]] + queues.size[queues.order[number + 1]]
        if both <= target:
            join(queues, number)
        else:
            number += 1
