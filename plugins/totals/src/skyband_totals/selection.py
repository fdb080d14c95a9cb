"""Compiled selection of the largest totals: the best few in order."""

from typing import Any

import numpy as np
from skyband.kernels.nested import nested_njit

from skyband_totals.share_kernels import least_total
from skyband_totals.slots import KEY

FEW = 256
"""Fewer objects than this are sorted faster by a heap than by their digits."""
_TOP = np.int64(0)
_DIGIT = 11
_DIGITS = 1 << _DIGIT
_PARTS = 6
"""The digits of int64."""
_ASCENDING, _DESCENDING = np.uint64(2**63), np.uint64(2**63 - 1)
"""Exclusive or with these turns int64 into uint64 in this order."""


@nested_njit
def ranks_before(total: Any, key: Any, other_total: Any, other_key: Any) -> bool:
    """Whether an object is before another in an answer: total descending, then object ascending."""
    return bool(total > other_total or (total == other_total and key < other_key))


@nested_njit
def offer(totals: Any, keys: Any, size: int, most: int, total: Any, key: Any) -> int:
    """Offer an object to a heap of the best `most` so far, with the worst on top; returns its size."""
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
        _sink(totals, keys, size, total, key, _TOP)
    return size


@nested_njit
def in_order(totals: Any, keys: Any, size: int) -> None:
    """Sort a heap made by `offer` into the order of an answer, in place. O(size log size)."""
    for last in range(size - 1, 0, -1):
        total, key = totals[last], keys[last]
        totals[last], keys[last] = totals[0], keys[0]
        _sink(totals, keys, last, total, key, _TOP)


@nested_njit
def heap_of(totals: Any, keys: Any, size: int) -> None:
    """Turn the first `size` objects into a heap as made by `offer`. O(size)."""
    for place in range((size >> 1) - 1, -1, -1):
        _sink(totals, keys, size, totals[place], keys[place], place)


@nested_njit
def rank(totals: Any, keys: Any, count: int) -> None:
    """Sort the first `count` objects into the order of an answer. O(count), with the same memory again."""
    if count < FEW:
        heap_of(totals, keys, count)
        in_order(totals, keys, count)
        return
    totals, keys = totals[:count], keys[:count]
    other_totals, other_keys = np.empty(count, np.int64), np.empty(count, np.int64)
    differing_totals, differing_keys = _differing(totals), _differing(keys)
    places, moves = np.empty(_DIGITS, np.int64), 0
    for step in range(2 * _PARTS):  # all digits of the keys, then of the totals; one call, because its code is long
        shift, by_total = step % _PARTS * _DIGIT, step >= _PARTS
        if ((differing_totals if by_total else differing_keys) >> shift) & (_DIGITS - 1) == 0:
            continue
        values, others = (totals, keys) if by_total else (keys, totals)
        to_values, to_others = (other_totals, other_keys) if by_total else (other_keys, other_totals)
        order = _DESCENDING if by_total else _ASCENDING
        _sort_by_digit(values, others, to_values, to_others, places, np.uint64(shift), order)
        totals, keys, other_totals, other_keys = other_totals, other_keys, totals, keys
        moves += 1
    if moves & 1 == 1:
        for number in range(count):
            other_totals[number], other_keys[number] = totals[number], keys[number]


@nested_njit
def _differing(values: Any) -> Any:
    """The bits in which values differ."""
    bits = np.int64(0)
    for number in range(len(values)):
        bits |= values[number] ^ values[0]
    return bits


@nested_njit
def _sort_by_digit(
    values: Any, others: Any, to_values: Any, to_others: Any, places: Any, shift: Any, order: Any
) -> None:
    mask = np.uint64(_DIGITS - 1)
    places[:] = 0
    for number in range(len(values)):
        places[((np.uint64(values[number]) ^ order) >> shift) & mask] += 1
    place = 0
    for digit in range(_DIGITS):
        place, places[digit] = place + places[digit], place
    for number in range(len(values)):
        digit = ((np.uint64(values[number]) ^ order) >> shift) & mask
        place = places[digit]
        places[digit] = place + 1
        to_values[place], to_others[place] = values[number], others[number]


@nested_njit
def _sink(totals: Any, keys: Any, size: int, total: Any, key: Any, place: int) -> None:
    """Replace the object at a place of a heap and restore the order below."""
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
def count_large(totals: Any, size: int, least: Any, grand: int) -> int:
    """The number of these ordered totals that are large enough (`shares.Least`) for the grand total, exactly."""
    lowest = least_total(least, grand)
    count = 0
    while count < size and totals[count] >= lowest:
        count += 1
    return count


@nested_njit
def best_of(hot: Any, totals: Any, k: int, least: Any, grand: int) -> Any:
    """The answer from totals by slot, int64[slots]: objects and totals in order, the largest total outside of it, and
    the number of objects with a total above 0.
    """
    lowest, most, nonzero = np.int64(least[2]), np.int64(0), np.int64(0)
    for slot in range(len(hot)):
        most += totals[slot] >= lowest
        nonzero += totals[slot] > 0
    if most > k:
        most = np.int64(k)
    keys, best = np.empty(most, np.int64), np.empty(most, np.int64)
    count = 0
    for slot in range(len(hot)):
        if totals[slot] >= lowest:
            count = offer(best, keys, count, most, totals[slot], hot[slot, KEY])
    in_order(best, keys, count)
    size = count_large(best, count, least, grand)
    return keys[:size], best[:size], largest_other(best, size, count, k, least, grand), nonzero


@nested_njit(forceinline=True)
def largest_other(totals: Any, size: int, count: int, k: int, least: Any, grand: int) -> Any:
    """The largest total outside of an answer of at most k; it has the first `size` of `count` ordered totals."""
    if size < count:
        return totals[size]
    if size == k:
        return totals[size - 1]
    return min(np.int64(least[2]) - 1, np.int64(grand))


@nested_njit(forceinline=True)
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
