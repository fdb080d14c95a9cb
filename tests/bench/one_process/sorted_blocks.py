"""The rows of a window in sorted blocks, as sortedcontainers has them, compiled: a peer of quantile-sketch/exact.

What comes is put in its place in a block of some hundred values, what leaves is looked for and taken out; a full block
is cut in two.
"""

import time
from collections.abc import Sequence
from statistics import median
from typing import Any

import numba
import numpy as np

HALF = 128
"""Values of a block that was cut in two. At 10^6 rows 256, 512 and 1024 took 1.4, 1.5 and 2.1 times as long."""


@numba.njit
def _block_of(largest: Any, used: int, value: float) -> int:
    low, high = 0, used - 1
    while low < high:
        middle = (low + high) >> 1
        if largest[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@numba.njit
def _place_in(block: Any, size: int, value: float) -> int:
    low, high = 0, size
    while low < high:
        middle = (low + high) >> 1
        if block[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@numba.njit
def _add(blocks: Any, sizes: Any, largest: Any, order: Any, used: int, value: float) -> int:
    number = _block_of(largest, used, value)
    block, size = blocks[order[number]], sizes[order[number]]
    place = _place_in(block, size, value)
    for entry in range(size, place, -1):
        block[entry] = block[entry - 1]
    block[place] = value
    sizes[order[number]] = size + 1
    largest[number] = max(largest[number], value)
    if size + 1 < 2 * HALF:
        return used
    fresh = order[used]
    for later in range(used, number + 1, -1):
        order[later], largest[later] = order[later - 1], largest[later - 1]
    order[number + 1], largest[number + 1] = fresh, largest[number]
    blocks[fresh, :HALF] = block[HALF:]
    sizes[fresh], sizes[order[number]], largest[number] = HALF, HALF, block[HALF - 1]
    return used + 1


@numba.njit
def _remove(blocks: Any, sizes: Any, largest: Any, order: Any, used: int, value: float) -> int:
    number = _block_of(largest, used, value)
    block, size = blocks[order[number]], sizes[order[number]] - 1
    for entry in range(_place_in(block, size + 1, value), size):
        block[entry] = block[entry + 1]
    sizes[order[number]] = size
    if size:
        largest[number] = block[size - 1]
        return used
    empty = order[number]
    for later in range(number, used - 1):
        order[later], largest[later] = order[later + 1], largest[later + 1]
    order[used - 1] = empty
    return max(used - 1, 1)


@numba.njit
def slide(values: Any, rows: int, step: int, ranks: Any, room: int) -> Any:
    """float64[m, q]: the values of these ranks (from 0) of a window of `rows` rows, at each `step`-th row after it."""
    blocks, sizes = np.empty((room, 2 * HALF)), np.zeros(room, np.int64)
    largest, order, used = np.full(room, -np.inf), np.arange(room), 1
    found, answers = np.empty(((len(values) - rows) // step, len(ranks))), 0
    for row in range(len(values)):
        if row >= rows:
            used = _remove(blocks, sizes, largest, order, used, values[row - rows])
        used = _add(blocks, sizes, largest, order, used, values[row])
        if row >= rows and (row - rows + 1) % step == 0:
            number, below = 0, 0
            for place in range(len(ranks)):
                while below + sizes[order[number]] <= ranks[place]:
                    below += sizes[order[number]]
                    number += 1
                found[answers, place] = blocks[order[number], ranks[place] - below]
            answers += 1
    return found


def measured(values: np.ndarray, at: Sequence[float], repeats: int) -> float:
    """ns a row of the second half of the values, with an answer each 1,000th of the window that the first fills."""
    rows = len(values) // 2
    ranks = np.array([max(1, -(-int(q * 100) * rows // 100)) - 1 for q in at])
    step, room = rows // 1000, 4 * rows // HALF + 16
    truth = [np.sort(values[row - rows + 1 : row + 1])[ranks] for row in (rows + step - 1, rows + 500 * step - 1)]
    found = slide(values[: rows + 500 * step], rows, step, ranks, room)
    assert (found[[0, -1]] == truth).all(), "the peer is wrong"
    taken = []
    for part in [len(values), rows] * repeats:
        start = time.thread_time()
        slide(values[:part], rows, step, ranks, room)
        taken.append(time.thread_time() - start)
    return (median(taken[::2]) - median(taken[1::2])) / rows * 1e9
