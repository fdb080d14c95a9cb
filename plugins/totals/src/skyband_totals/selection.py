# mypy: disable-error-code="untyped-decorator"
"""The largest of many totals, in compiled loops: which one is the n-th, and the best few in order."""

from typing import Any

import numpy as np
from skyband.kernels.nested import nested_njit

from skyband_totals.slots import KEY


@nested_njit
def nth_largest(values: Any, count: int, n: int) -> Any:
    """The n-th largest (from 1) of the first `count` values, which it reorders. O(count) expected."""
    low, high, place = 0, count - 1, n - 1
    while low < high:
        pivot = values[(low + high) >> 1]
        i, j = low, high
        while i <= j:
            while values[i] > pivot:
                i += 1
            while values[j] < pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if place <= j:
            high = j
        elif place >= i:
            low = i
        else:
            break
    return values[place]


@nested_njit
def ranks_before(total: Any, key: Any, other_total: Any, other_key: Any) -> bool:
    """Whether an object comes before another in an answer: total descending, then object ascending."""
    return bool(total > other_total or (total == other_total and key < other_key))


@nested_njit
def offer(totals: Any, keys: Any, size: int, most: int, total: Any, key: Any) -> int:
    """Offer an object to a heap of the best `most` so far, the worst of them on top; returns its size."""
    if size < most:
        child = size
        size += 1
        while child > 0:
            parent = (child - 1) >> 1
            if ranks_before(total, key, totals[parent], keys[parent]):
                break
            totals[child], keys[child] = totals[parent], keys[parent]
            child = parent
        totals[child], keys[child] = total, key
    elif size > 0 and ranks_before(total, key, totals[0], keys[0]):
        _sink(totals, keys, size, total, key)
    return size


@nested_njit
def in_order(totals: Any, keys: Any, size: int) -> None:
    """Put a heap made by `offer` in the order of an answer, in place. O(size log size)."""
    for last in range(size - 1, 0, -1):
        total, key = totals[last], keys[last]
        totals[last], keys[last] = totals[0], keys[0]
        _sink(totals, keys, last, total, key)


@nested_njit
def _sink(totals: Any, keys: Any, size: int, total: Any, key: Any) -> None:
    """Put an object in place of the top of a heap."""
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        right = child + 1
        if right < size and ranks_before(totals[child], keys[child], totals[right], keys[right]):
            child = right
        if ranks_before(totals[child], keys[child], total, key):
            break
        totals[place], keys[place] = totals[child], keys[child]
        place = child
    totals[place], keys[place] = total, key


@nested_njit
def count_of_share(totals: Any, size: int, share: float, grand: int) -> int:
    """How many of these ordered totals are at least `share` of the grand total, compared in float64."""
    least = share * float(grand)
    count = 0
    while count < size and float(totals[count]) >= least:
        count += 1
    return count


@nested_njit
def best_of(hot: Any, totals: Any, k: int, share: float, grand: int) -> Any:
    """Of totals by slot, int64[slots]: the objects and totals in the answer, in order, and the largest that is not."""
    most = np.int64(0)
    for slot in range(len(hot)):
        most += totals[slot] > 0
    if most > k:
        most = np.int64(k)
    keys, best = np.empty(most, np.int64), np.empty(most, np.int64)
    count = 0
    for slot in range(len(hot)):
        if totals[slot] > 0:
            count = offer(best, keys, count, most, totals[slot], hot[slot, KEY])
    in_order(best, keys, count)
    kept = count if share == 0.0 else count_of_share(best, count, share, grand)
    rest = np.int64(0)
    if kept < count:
        rest = best[kept]
    elif kept == k:
        rest = best[kept - 1]
    return keys[:kept], best[:kept], rest


@nested_njit
def first_from(times: Any, start: int, moment: int) -> int:
    """The first row from `start` on whose time is at least `moment`. O(log rows until there)."""
    low, step = start, 1
    while low + step <= len(times) and times[low + step - 1] < moment:
        low += step
        step *= 2
    high = min(low + step - 1, len(times))
    while low < high:
        middle = (low + high) >> 1
        if times[middle] < moment:
            low = middle + 1
        else:
            high = middle
    return low


@nested_njit
def grown(values: Any, count: int, room: int) -> Any:
    """The first `count` values in an array with more room."""
    larger = np.empty(room, values.dtype)
    for number in range(count):
        larger[number] = values[number]
    return larger
