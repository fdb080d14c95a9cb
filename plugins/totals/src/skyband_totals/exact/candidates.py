"""Finds the best k of a window among its candidates, and refills these from the stock and by scans; see `bar`."""

from typing import Any

import numpy as np
from skyband.kernels.nested import nested_njit
from skyband.kernels.selection import kth

from skyband_totals.exact.bar import (
    AIM,
    ALL_KEYS,
    BAR,
    DRAWN,
    ENDS,
    FAR,
    FIRST_KEY,
    GRAND,
    KEYS,
    LEAST,
    LOOKS,
    LOT,
    SIZE,
    STOCK,
    WANTED,
    Candidates,
    aim,
    end_stock_before,
    is_before_bar,
)
from skyband_totals.selection import FEW, count_large, heap_of, largest_other, offer, rank, ranks_before
from skyband_totals.slots import FLAGS, KEY, TOTAL, find

_ONE = np.int64(1)
_FEW_OF_ALL = 16
"""If a scan wants more than this part of all objects, sorting all is faster than picking the best with a heap."""


@nested_njit(forceinline=True)
def enter(hot: Any, candidates: Any, spans: Any, window: int, slot: int) -> None:
    """Make an object a candidate of a window that has room for it."""
    hot[slot, FLAGS] |= _ONE << window
    candidates.near[window, spans[window, SIZE]] = slot
    spans[window, SIZE] += 1


@nested_njit
def keep_few(hot: Any, candidates: Any, spans: Any, k: int) -> None:
    """Raise the bar of each window with too many candidates. Amortised O(candidates that entered)."""
    for window in range(len(spans)):
        n = aim(spans, window, k)
        if spans[window, SIZE] > 2 * n + 64:
            _raise_bar(hot, candidates, spans, window, n)


@nested_njit
def drop_fallen(hot: Any, candidates: Any, spans: Any, window: int) -> int:
    """Drop candidates below the bar; returns the number of remaining ones. O(candidates)."""
    size, near = 0, candidates.near
    for number in range(spans[window, SIZE]):
        slot = near[window, number]
        if is_before_bar(spans, window, hot[slot, TOTAL + window], hot[slot, KEY]):
            near[window, size] = slot
            size += 1
        else:
            hot[slot, FLAGS] &= ~(_ONE << window)
            end_stock_before(spans, window, hot[slot, TOTAL + window], hot[slot, KEY])
    spans[window, SIZE] = size
    return size


@nested_njit
def _raise_bar(hot: Any, candidates: Any, spans: Any, window: int, n: int) -> None:
    """Raise the bar to the n-th of the candidates, if more remain, and empty the stock."""
    size = drop_fallen(hot, candidates, spans, window)
    if size > n:
        totals, keys = np.empty(size, np.int64), np.empty(size, np.int64)
        for number in range(size):
            slot = candidates.near[window, number]
            totals[number], keys[number] = hot[slot, TOTAL + window], hot[slot, KEY]
        _set_bar(spans, window, totals, keys, size, n)
        drop_fallen(hot, candidates, spans, window)


@nested_njit
def _set_bar(spans: Any, window: int, totals: Any, keys: Any, count: int, n: int) -> None:
    """Set the bar to the n-th of the first `count` objects, n ≤ count. O(count) expected."""
    numbers = totals[:count].copy()
    bar = kth(numbers, 0, count, count - n)
    ahead, tied = 0, 0
    for number in range(count):
        ahead += totals[number] > bar
        if totals[number] == bar:
            numbers[tied] = ~keys[number]  # descends as objects ascend
            tied += 1
    spans[window, BAR], spans[window, KEYS] = bar, ~kth(numbers, 0, tied, tied - n + ahead)
    spans[window, FAR], spans[window, ENDS] = spans[window, BAR], spans[window, KEYS]
    spans[window, DRAWN] = spans[window, STOCK] = 0


@nested_njit
def _scan(hot: Any, candidates: Any, spans: Any, window: int, k: int) -> Any:
    """Put the best of all objects into the stock, from which candidates are then taken; returns the room it lacks."""
    column = TOTAL + window
    if spans[window, WANTED] == 0:
        spans[window, WANTED] = _next_lot(spans, window, len(hot), k) + aim(spans, window, k)
    wanted = spans[window, WANTED]
    most = min(len(hot) >> 1, spans[window, GRAND])  # an upper bound of the number of objects
    if _FEW_OF_ALL * wanted < most:
        most = wanted
    if most > candidates.stock.shape[2]:
        return most
    for number in range(spans[window, SIZE]):
        hot[candidates.near[window, number], FLAGS] &= ~(_ONE << window)
    totals, keys = candidates.stock[0, window], candidates.stock[1, window]
    count, is_heap = 0, False
    for slot in range(len(hot)):
        total = hot[slot, column]
        if total < spans[window, LEAST]:
            continue
        if count < most:
            totals[count], keys[count] = total, hot[slot, KEY]
            count += 1
            continue
        if not is_heap:
            heap_of(totals, keys, count)
            is_heap = True
        if total >= totals[0]:
            offer(totals, keys, count, most, total, hot[slot, KEY])
    rank(totals, keys, count)
    spans[window, FAR], spans[window, ENDS] = spans[window, LEAST], ALL_KEYS
    if count == wanted:
        spans[window, FAR], spans[window, ENDS] = totals[count - 1], keys[count - 1]
    spans[window, BAR], spans[window, KEYS] = ALL_KEYS, FIRST_KEY  # before all
    if count == 0:
        spans[window, BAR], spans[window, KEYS] = spans[window, FAR], spans[window, ENDS]
    spans[window, SIZE] = spans[window, DRAWN] = spans[window, LOOKS] = spans[window, WANTED] = 0
    spans[window, STOCK] = count
    return np.int64(0)


@nested_njit
def _next_lot(spans: Any, window: int, slots: int, k: int) -> int:
    """Choose n, and the number of objects that a scan puts into the stock after the best n; returns the latter."""
    if spans[window, AIM] == 0:
        spans[window, AIM] = 2 * k
    elif 2 * spans[window, LOOKS] < slots:
        if spans[window, STOCK] > 0:
            times = slots // max(spans[window, LOOKS], 1)
            spans[window, LOT] = min(times * max(spans[window, LOT], aim(spans, window, k)), slots)
        else:
            spans[window, AIM], spans[window, LOT] = 2 * aim(spans, window, k), 0
    return max(spans[window, LOT], aim(spans, window, k))


@nested_njit
def _draw(hot: Any, candidates: Any, spans: Any, window: int, k: int) -> None:
    """Turn objects of the stock into candidates until there are n; lower the bar to the last one, or to the far bar."""
    near, stock = candidates.near, candidates.stock
    most, size, number = aim(spans, window, k), spans[window, SIZE], spans[window, DRAWN]
    spans[window, LOOKS] -= number
    while size < most and number < spans[window, STOCK]:
        total, key = stock[0, window, number], stock[1, window, number]
        if total < spans[window, FAR] or (total == spans[window, FAR] and key > spans[window, ENDS]):
            spans[window, LOOKS] += number
            number = spans[window, STOCK] = 0
            break
        number += 1
        slot = find(hot, key)
        if hot[slot, FLAGS] == 0 or hot[slot, FLAGS] >> window & _ONE != 0:
            continue
        if hot[slot, TOTAL + window] != total:
            end_stock_before(spans, window, hot[slot, TOTAL + window], key)
            continue
        hot[slot, FLAGS] |= _ONE << window
        near[window, size] = slot
        size += 1
        spans[window, BAR], spans[window, KEYS] = total, key
    if number == spans[window, STOCK]:
        spans[window, BAR], spans[window, KEYS] = spans[window, FAR], spans[window, ENDS]
    spans[window, LOOKS] += number
    spans[window, DRAWN], spans[window, SIZE] = number, size


@nested_njit
def prepare(hot: Any, candidates: Any, spans: Any, window: int, k: int) -> Any:
    """Do one step that `answer` could not; returns the room it lacks, for candidates and for the stock."""
    if _too_many(hot, spans, window, k):
        spans[window, AIM] >>= 1
        spans[window, LOOKS] = 0
        _raise_bar(hot, candidates, spans, window, aim(spans, window, k))
    elif candidates.near.shape[1] < aim(spans, window, k):
        return np.int64(2 * aim(spans, window, k) + 64), np.int64(0)
    elif spans[window, DRAWN] == spans[window, STOCK]:
        return np.int64(0), _scan(hot, candidates, spans, window, k)
    return np.int64(0), np.int64(0)


@nested_njit(forceinline=True)
def _best(hot: Any, candidates: Any, spans: Any, window: int, k: int, totals: Any, keys: Any) -> int:
    """The number of the best k, written in any order; −1 if that needs a scan or room for candidates."""
    while True:
        count = _best_candidates(hot, candidates.near, spans, window, k, totals, keys)
        if not _is_short(spans, window, k):
            return count
        if spans[window, DRAWN] == spans[window, STOCK] or candidates.near.shape[1] < aim(spans, window, k):
            return -1
        _draw(hot, candidates, spans, window, k)


@nested_njit
def _too_many(hot: Any, spans: Any, window: int, k: int) -> bool:
    """Whether checks of the candidates have cost more than scans for fewer would."""
    return bool(spans[window, AIM] > 2 * k and spans[window, LOOKS] > 4 * len(hot))


@nested_njit
def _is_short(spans: Any, window: int, k: int) -> bool:
    """Whether some of the best k might not be candidates."""
    lowest = spans[window, BAR] == spans[window, LEAST] and spans[window, KEYS] == ALL_KEYS
    return bool(spans[window, SIZE] < k and not lowest)


@nested_njit
def _best_candidates(hot: Any, near: Any, spans: Any, window: int, k: int, totals: Any, keys: Any) -> int:
    """Drop candidates below the bar, and write the best k of the others; returns their number.

    Few are written in order, and so are their slots: if few totals change before the next answer, most are already in
    place.
    """
    kept, size = 0, spans[window, SIZE]
    bar, last = spans[window, BAR], spans[window, KEYS]
    for number in range(size):
        slot = near[window, number]
        total, key = hot[slot, TOTAL + window], hot[slot, KEY]
        if total < bar or (total == bar and key > last):
            hot[slot, FLAGS] &= ~(_ONE << window)
            end_stock_before(spans, window, total, key)
            continue
        place = kept
        kept += 1
        if k < FEW:
            if place >= k:
                if k == 0 or not ranks_before(total, key, totals[k - 1], keys[k - 1]):
                    near[window, place] = slot
                    continue
                near[window, place] = near[window, k - 1]
                place = k - 1
            while place > 0 and ranks_before(total, key, totals[place - 1], keys[place - 1]):
                totals[place], keys[place] = totals[place - 1], keys[place - 1]
                near[window, place] = near[window, place - 1]
                place -= 1
            totals[place], keys[place], near[window, place] = total, key, slot
            continue
        near[window, place] = slot
        if place < k:
            totals[place], keys[place] = total, key
            continue
        if place == k:
            heap_of(totals, keys, k)
        if total >= totals[0]:
            offer(totals, keys, k, k, total, key)
    spans[window, SIZE] = kept
    spans[window, LOOKS] += size
    return min(kept, k)


@nested_njit(forceinline=True)
def answer(hot: Any, candidates: Any, spans: Any, window: int, k: int, least: Any, totals: Any, keys: Any) -> Any:
    """Write the answer of a window, in order, to `totals` and `keys` (int64[min(k, objects)]).

    Returns the number of objects in it (−1: call `prepare` first), and the largest other total.
    """
    most = min(k, len(totals))
    if _too_many(hot, spans, window, most):
        return np.int64(-1), np.int64(0)
    count = _best(hot, candidates, spans, window, most, totals, keys)
    if count < 0:
        return np.int64(-1), np.int64(0)
    if most >= FEW:
        rank(totals, keys, count)
    kept = np.int64(count_large(totals, count, least, spans[window, GRAND]))
    return kept, largest_other(totals, kept, count, k, least, spans[window, GRAND])


@nested_njit
def follow(near: Any, spans: Any, moved: Any) -> None:
    """Update the slots of the candidates after the table was rebuilt."""
    for window in range(len(spans)):
        size = 0
        for number in range(spans[window, SIZE]):
            slot = moved[near[window, number]]
            if slot >= 0:
                near[window, size] = slot
                size += 1
        spans[window, SIZE] = size


def with_room(candidates: Any, room: int) -> Any:
    """The candidates, with room for `room` in each window."""
    near = candidates.near
    larger = np.empty((near.shape[0], room), np.int32)
    larger[:, : near.shape[1]] = near
    return Candidates(larger, candidates.stock)


def with_stock(candidates: Any, room: int) -> Any:
    """The candidates, with room for `room` in the stock of each window."""
    stock = candidates.stock
    larger = np.empty((2, stock.shape[1], room), np.int64)
    larger[:, :, : stock.shape[2]] = stock
    return Candidates(candidates.near, larger)
