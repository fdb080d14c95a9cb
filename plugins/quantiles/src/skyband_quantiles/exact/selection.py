"""Compiled quantiles and shares from queues whose pointers are at the first rows of a window."""

from math import isfinite
from typing import Any

import numpy as np
from skyband.kernels.nested import nested_njit
from skyband.kernels.selection import kth

from skyband_quantiles.compiled_ranks import rank_of
from skyband_quantiles.exact.queues import CHUNK, QUEUES, following_place

BINS = 256


@nested_njit
def count_by_bin(values: Any, least: float, largest: float, counts: Any) -> float:
    """Count the values in BINS bins of equal width; returns the bins per unit, 0 if that does not work."""
    scale = BINS / (largest - least) if largest > least else 0.0
    if not isfinite(scale) or not isfinite(largest - least) or len(values) < BINS // 4:
        return 0.0
    for place in range(BINS):
        counts[place] = 0
    for row in range(len(values)):
        counts[bin_of(values[row], least, scale)] += 1
    return scale


@nested_njit
def bin_of(value: float, least: float, scale: float) -> Any:
    """The bin of a value, which never decreases with the value, because no rounded operation does."""
    return min(np.int64((value - least) * scale), BINS - 1)


@nested_njit
def kth_by_bin(values: Any, k: int, least: float, scale: float, counts: Any) -> Any:
    """The k-th smallest (from 0), selected within its bin, given the counts of `count_by_bin`. O(n)."""
    if scale == 0.0:
        return kth(values, 0, len(values), k)
    below, bin_ = 0, 0
    while below + counts[bin_] <= k:
        below += counts[bin_]
        bin_ += 1
    few, size = np.empty(counts[bin_]), 0
    for row in range(len(values)):
        if bin_of(values[row], least, scale) == bin_:
            few[size] = values[row]
            size += 1
    return kth(few, 0, size, k - below)


@nested_njit
def rows_in(queues: Any, window: int) -> Any:
    """The number of rows in a window."""
    rows = 0
    for number in range(queues.numbers[QUEUES]):
        queue = queues.order[number]
        rows += queues.size[queue] - queues.passed[window, queue]
    return rows


@nested_njit
def _copy(queues: Any, window: int, queue: int, values: Any) -> Any:
    """Write the values of a queue's rows in a window, at least one; returns the least and the largest."""
    passed = queues.passed[window, queue]
    more = queues.size[queue] - passed
    if passed == 0:
        place = CHUNK * queues.head[queue] + np.int64(queues.start[queue])
    else:
        place = following_place(queues, queues.place[window, queue])
    least = largest = queues.values[place]
    row_number = 0
    while more > 0:
        rows = min(CHUNK - place % CHUNK, more)
        for row in range(rows):
            value = queues.values[place + row]
            values[row_number + row] = value
            least, largest = min(least, value), max(largest, value)
        row_number, more = row_number + rows, more - rows
        if more:
            place = CHUNK * queues.following[place // CHUNK]
    return least, largest


@nested_njit
def answer(queues: Any, window: int, parts: Any, ascending: Any, limits: Any, values: Any, shares: Any) -> Any:
    """Write value, low and high of the quantiles and shares of a window's rows; returns the number of rows.

    ascending: int64[q], the order of `parts`. O(queues) and the rows of a queue for each quantile.
    """
    rows = rows_in(queues, window)
    if rows == 0:
        return 0
    number, before, counted = 0, 0, -1
    scratch, counts, scale, least = np.empty(0), np.empty(BINS, np.int64), 0.0, 0.0
    for turn in range(len(ascending)):
        place = ascending[turn]
        rank = rank_of(parts[place], rows)
        queue = queues.order[number]
        while before + queues.size[queue] - queues.passed[window, queue] < rank:
            before += queues.size[queue] - queues.passed[window, queue]
            number += 1
            queue = queues.order[number]
        if queues.one[queue]:
            found = queues.only[queue]
        else:
            if counted != number:
                scratch = np.empty(queues.size[queue] - queues.passed[window, queue])
                least, largest = _copy(queues, window, queue, scratch)
                scale = count_by_bin(scratch, least, largest, counts)
                counted = number
            found = kth_by_bin(scratch, rank - before - 1, least, scale, counts)
        for column in range(3):
            values[place, column] = found
    for place in range(len(limits)):
        share = _above(queues, window, limits[place]) / rows
        for column in range(3):
            shares[place, column] = share
    return rows


@nested_njit
def _above(queues: Any, window: int, limit: float) -> Any:
    """The number of a window's rows above a limit."""
    above = 0
    for number in range(queues.numbers[QUEUES] - 1, -1, -1):
        queue = queues.order[number]
        size = queues.size[queue] - queues.passed[window, queue]
        if queues.up[number] <= limit:
            break
        if number > 0 and queues.up[number - 1] >= limit:
            above += size
        elif size > 0:
            scratch = np.empty(size)
            _copy(queues, window, queue, scratch)
            for row in range(size):
                above += scratch[row] > limit
            break
        else:
            break
    return above
