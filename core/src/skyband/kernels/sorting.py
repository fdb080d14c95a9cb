# mypy: disable-error-code="no-untyped-def"
"""Sorting of integers for compiled code, fast to compile."""

import numpy as np

from skyband.kernels.nested import nested_njit

_FEW = 48
_RUN = 16


@nested_njit
def sort(values, size):
    """Sort the first `size` values in place: a few by insertion, more by a heap.

    numpy's own sort would add a quarter of the compile time of all of core's kernels.
    """
    if size <= _FEW:
        for i in range(1, size):
            moving = values[i]
            j = i
            while j > 0 and values[j - 1] > moving:
                values[j] = values[j - 1]
                j -= 1
            values[j] = moving
        return
    for start in range(size // 2 - 1, -1, -1):
        _sink(values, start, size)
    for stop in range(size - 1, 0, -1):
        values[0], values[stop] = values[stop], values[0]
        _sink(values, 0, stop)


@nested_njit
def _sink(values, place, stop):
    """Move a value down the heap of `values[:stop]`, largest first, to its place."""
    moving = values[place]
    while 2 * place + 1 < stop:
        child = 2 * place + 1
        if child + 1 < stop and values[child + 1] > values[child]:
            child += 1
        if values[child] <= moving:
            break
        values[place] = values[child]
        place = child
    values[place] = moving


@nested_njit
def sort_places(values, places):
    """The places, int64[n], in order of their values, stable; the array is overwritten.

    By insertion in runs, which are then merged two by two. O(n log n).
    """
    size = len(places)
    order, other = places, np.empty(size, np.int64)
    for slot in range(size):
        place, into = order[slot], slot
        while into % _RUN and values[order[into - 1]] > values[place]:
            order[into] = order[into - 1]
            into -= 1
        order[into] = place
    run = _RUN
    while run < size:
        for begin in range(0, size, 2 * run):
            middle, end = min(begin + run, size), min(begin + 2 * run, size)
            left_at, right_at = begin, middle
            for slot in range(begin, end):
                if right_at == end or (left_at < middle and values[order[left_at]] <= values[order[right_at]]):
                    other[slot] = order[left_at]
                    left_at += 1
                else:
                    other[slot] = order[right_at]
                    right_at += 1
        order, other = other, order
        run *= 2
    return order
