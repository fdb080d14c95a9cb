"""Misra-Gries summaries of consecutive rows: made from sorted rows, united, and reduced to possibly heavy objects.

A summary has a weight w, an error and lows, a lower bound of the total of each of some objects, with the invariant

    sum(low) + (m + 1) · error <= w        so that error <= w / (m + 1), and low <= true total <= low + error

It holds for counted rows (error 0), for two united summaries (everything adds up), and after a reduction: subtract from
all lows the largest s with sum(min(low, s)) + spare >= (m + 1) s, where spare = w − sum(low) − (m + 1) error, and add s
to the error. At most m objects remain; on a stream with a long tail far fewer than after the usual reduction.


Sources: Misra and Gries 1982; the union: Agarwal et al., Mergeable summaries, PODS 2012.
"""

from typing import Any

import numpy as np
from skyband.kernels.nested import nested_njit


@nested_njit
def count_rows(objects: Any, units: Any, count: int, keys: Any, lows: Any, start: int) -> int:
    """Add up the first `count` rows by object, ascending, into keys and lows from `start` on; returns their number.


    Sorts objects and units, in place.
    """
    _sort(objects, units, count)
    size = 0
    for row in range(count):
        if size > 0 and keys[start + size - 1] == objects[row]:
            lows[start + size - 1] += units[row]
        else:
            keys[start + size], lows[start + size] = objects[row], units[row]
            size += 1
    return size


@nested_njit
def _sort(objects: Any, units: Any, count: int) -> None:
    """Shell sort, for a few hundred rows."""
    gap = 1
    while gap < count // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for row in range(gap, count):
            key, unit = objects[row], units[row]
            place = row
            while place >= gap and objects[place - gap] > key:
                objects[place], units[place] = objects[place - gap], units[place - gap]
                place -= gap
            objects[place], units[place] = key, unit
        gap //= 3


@nested_njit
def unite(keys: Any, lows: Any, first: int, first_size: int, second: int, second_size: int, start: int) -> int:
    """Merge the entries of two summaries, both ascending, from `start` on; returns their number."""
    i, j, size = 0, 0, start
    while i < first_size or j < second_size:
        if j == second_size or (i < first_size and keys[first + i] < keys[second + j]):
            keys[size], lows[size] = keys[first + i], lows[first + i]
            i += 1
        elif i == first_size or keys[second + j] < keys[first + i]:
            keys[size], lows[size] = keys[second + j], lows[second + j]
            j += 1
        else:
            keys[size], lows[size] = keys[first + i], lows[first + i] + lows[second + j]
            i += 1
            j += 1
        size += 1
    return size - start


@nested_njit
def reduce(keys: Any, lows: Any, start: int, size: int, weight: int, error: int, m: int) -> Any:
    """Reduce the entries from `start` on, in place; returns the number that remain, and the new error.

    Newton's method finds the largest s, the root of a concave function, from the right in a few passes.
    """
    total = np.int64(0)
    for entry in range(start, start + size):
        total += lows[entry]
    spare = weight - total - (m + 1) * error
    cut = (total + spare) // (m + 1)
    while cut > 0:
        below, above = spare, 0
        for entry in range(start, start + size):
            if lows[entry] >= cut:
                above += 1
            else:
                below += lows[entry]
        if below >= (m + 1 - above) * cut:
            break
        cut = below // (m + 1 - above)
    if cut <= 0:
        return size, error
    remaining = 0
    for entry in range(start, start + size):
        if lows[entry] > cut:
            keys[start + remaining], lows[start + remaining] = keys[entry], lows[entry] - cut
            remaining += 1
    return remaining, error + cut
