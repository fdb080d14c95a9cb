"""Rows in queues by value: each queue holds the rows of a range of values, oldest first, in chunks of 32.

Rows expire at the front of every queue, so they are deleted without a search. Each window has a pointer into each
queue, to its first row in the window: `passed` rows before it, at `place` (a chunk's first row and an offset).
"""

from typing import Any, NamedTuple

import numpy as np
from skyband.kernels.nested import nested_njit

CHUNK = 32
NOTHING = -1
QUEUES, FREE, FREED, ROWS, PUSHED = range(5)
"""The indices of `numbers`: queues in use, first free chunk, free chunks, rows, and rows since `look_around`."""


class Queues(NamedTuple):
    """Rows in queues, for compiled code.

    numbers: int64[5]
    values, times: float64[32 c] and int64[32 c], the rows of c chunks
    following: int32[c], the next chunk of a queue, or of the free ones
    up: float64[room], ascending, the first QUEUES: a queue's values are above the one before and at most this
    order: int32[room]: the queue of each range; after QUEUES the free ones
    head, tail: int32[room] by queue: its chunks; -1 if it is empty
    start, stop: int32[room]: the first row in the head, and the first place in the tail without one
    size: int64[room]: its rows
    one: uint8[room]: whether all its rows have one value, `only` float64[room]
    reached: int64[w + 1] by window: rows before this are passed; the last is for any moment
    passed: int64[w + 1, room]; place: int64[w + 1, room]: the place of the last passed row
    """

    numbers: Any
    values: Any
    times: Any
    following: Any
    up: Any
    order: Any
    head: Any
    tail: Any
    start: Any
    stop: Any
    size: Any
    one: Any
    only: Any
    reached: Any
    passed: Any
    place: Any


def empty(chunks: int, room: int, windows: int) -> Queues:
    """A single queue, without rows, with room for `room`."""
    following = np.arange(1, chunks + 1, dtype=np.int32)
    following[-1] = NOTHING
    up = np.full(room, np.inf)
    queue = [np.full(room, NOTHING, np.int32) for _ in range(2)]
    places = [np.zeros(room, np.int32) for _ in range(2)]
    return Queues(  # type: ignore[call-arg]
        np.array([1, 0, chunks, 0, 0], np.int64), np.empty(CHUNK * chunks), np.empty(CHUNK * chunks, np.int64),
        following, up, np.arange(room, dtype=np.int32), *queue, *places, np.zeros(room, np.int64),
        np.zeros(room, np.uint8), np.zeros(room), np.full(windows + 1, -(2**63)),
        np.zeros((windows + 1, room), np.int64), np.zeros((windows + 1, room), np.int64),
    )  # fmt: skip


@nested_njit
def range_of(queues: Any, value: float) -> Any:
    """The range of a value: the first whose upper end is at least the value. Without branches, O(log queues)."""
    up = queues.up
    low, left = 0, queues.numbers[QUEUES]
    while left > 1:
        half = left >> 1
        low += half if up[low + half - 1] < value else 0
        left -= half
    return low


@nested_njit
def take_chunk(queues: Any) -> Any:
    """Take a free chunk; there must be one."""
    chunk = queues.numbers[FREE]
    queues.numbers[FREE] = queues.following[chunk]
    queues.numbers[FREED] -= 1
    queues.following[chunk] = NOTHING
    return chunk


@nested_njit
def free_chunk(queues: Any, chunk: int) -> None:
    """Free a chunk."""
    queues.following[chunk] = queues.numbers[FREE]
    queues.numbers[FREE] = chunk
    queues.numbers[FREED] += 1


@nested_njit
def append(queues: Any, queue: int, value: float, time: int) -> None:
    """Append a row to a queue; this needs a free chunk."""
    if queues.size[queue] == 0:
        chunk = take_chunk(queues)
        queues.head[queue] = queues.tail[queue] = chunk
        queues.start[queue] = queues.stop[queue] = 0
        queues.one[queue], queues.only[queue] = 1, value
        for window in range(len(queues.reached)):
            queues.passed[window, queue], queues.place[window, queue] = 0, CHUNK * chunk
    elif queues.stop[queue] == CHUNK:
        chunk = take_chunk(queues)
        queues.following[queues.tail[queue]] = chunk
        queues.tail[queue], queues.stop[queue] = chunk, 0
    place = CHUNK * queues.tail[queue] + queues.stop[queue]
    queues.values[place], queues.times[place] = value, time
    queues.stop[queue] += 1
    queues.size[queue] += 1
    if value != queues.only[queue]:
        queues.one[queue] = 0


@nested_njit
def following_place(queues: Any, place: int) -> Any:
    """The place of the row after the one at `place`, which must not be its queue's last."""
    place += 1
    return place if place % CHUNK else CHUNK * queues.following[place // CHUNK - 1]


@nested_njit
def walk(queues: Any, window: int, queue: int, since: int) -> None:
    """Move the pointer of a window to the first row of a queue since `since`. O(1 + rows / 32)."""
    passed, size = queues.passed[window, queue], queues.size[queue]
    place, times = queues.place[window, queue], queues.times
    last = CHUNK * queues.tail[queue]
    while passed < size:
        here = CHUNK * queues.head[queue] + queues.start[queue] if passed == 0 else following_place(queues, place)
        if times[here] >= since:
            break
        skipped = CHUNK - here % CHUNK
        if (here < last or here >= last + CHUNK) and times[here + skipped - 1] < since:
            place, passed = here + skipped - 1, passed + skipped
            continue
        place, passed = here, passed + 1
    queues.passed[window, queue], queues.place[window, queue] = passed, place


@nested_njit
def pass_by(queues: Any, window: int, since: int) -> None:
    """Move a window's pointers to the first rows since `since`."""
    for number in range(queues.numbers[QUEUES]):
        walk(queues, window, queues.order[number], since)
    queues.reached[window] = since


@nested_njit
def point_anew(queues: Any, since: int) -> None:
    """Set the last pointers to `since`, starting from those of the nearest window that is not past it."""
    any_, best = len(queues.reached) - 1, -1
    for window in range(any_):
        if queues.reached[window] <= since and (best < 0 or queues.reached[window] > queues.reached[best]):
            best = window
    for number in range(queues.numbers[QUEUES]):
        queue = queues.order[number]
        queues.passed[any_, queue] = queues.passed[best, queue] if best >= 0 else 0
        queues.place[any_, queue] = queues.place[best, queue]
    pass_by(queues, any_, since)


@nested_njit
def expire(queues: Any, since: int) -> None:
    """Drop the rows before `since`, a prefix of every queue."""
    any_ = len(queues.reached) - 1
    for number in range(queues.numbers[QUEUES]):
        queue = queues.order[number]
        if queues.size[queue] == 0 or queues.times[CHUNK * queues.head[queue] + queues.start[queue]] >= since:
            continue
        queues.passed[any_, queue] = 0
        walk(queues, any_, queue, since)
        gone = queues.passed[any_, queue]
        begin = -1 if gone == queues.size[queue] else following_place(queues, queues.place[any_, queue])
        while queues.head[queue] != NOTHING and (begin < 0 or queues.head[queue] != begin // CHUNK):
            chunk = queues.head[queue]
            queues.head[queue] = queues.following[chunk]
            free_chunk(queues, chunk)
        queues.start[queue] = max(begin, 0) % CHUNK
        queues.size[queue] -= gone
        queues.numbers[ROWS] -= gone
        for window in range(len(queues.reached)):
            queues.passed[window, queue] = max(queues.passed[window, queue] - gone, 0)
