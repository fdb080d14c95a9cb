"""The best k of a window, found among its candidates, and where these come from: rises, the stock, scans; see `bar`."""

from typing import Any

import numpy as np
from skyband.kernels.nested import nested_njit

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
from skyband_totals.selection import FEW, count_large, heap_of, largest_other, nth_largest, offer, rank, ranks_before
from skyband_totals.slots import FLAGS, KEY, TOTAL, find

_ONE = np.int64(1)
_FEW_OF_ALL = 16
"""From this part of all objects on they are put in order together: to pick the best by a heap would take longer."""


@nested_njit(forceinline=True)
def enter(hot: Any, candidates: Any, spans: Any, window: int, slot: int) -> None:
    """Make an object that is none a candidate of a window, which has room for it."""
    hot[slot, FLAGS] |= _ONE << window
    candidates.near[window, spans[window, SIZE]] = slot
    spans[window, SIZE] += 1


@nested_njit
def keep_few(hot: Any, candidates: Any, spans: Any, k: int) -> None:
    """Raise the bar of each window that has too many candidates. Amortised O(candidates that entered)."""
    for window in range(len(spans)):
        n = aim(spans, window, k)
        if spans[window, SIZE] > 2 * n + 64:
            _raise_bar(hot, candidates, spans, window, n)


@nested_njit
def drop_fallen(hot: Any, candidates: Any, spans: Any, window: int) -> int:
    """Let candidates below the bar go; returns how many are left. O(candidates)."""
    left, near = 0, candidates.near
    for number in range(spans[window, SIZE]):
        slot = near[window, number]
        if is_before_bar(spans, window, hot[slot, TOTAL + window], hot[slot, KEY]):
            near[window, left] = slot
            left += 1
        else:
            hot[slot, FLAGS] &= ~(_ONE << window)
            end_stock_before(spans, window, hot[slot, TOTAL + window], hot[slot, KEY])
    spans[window, SIZE] = left
    return left


@nested_njit
def _raise_bar(hot: Any, candidates: Any, spans: Any, window: int, n: int) -> None:
    """Raise the bar to the n-th of the candidates, if more are left; then there is no stock."""
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
    """Put the bar at the n-th of the first `count` objects, n ≤ count. O(count) expected."""
    some = totals[:count].copy()
    bar = nth_largest(some, count, n)
    ahead, tied = 0, 0
    for number in range(count):
        ahead += totals[number] > bar
        if totals[number] == bar:
            some[tied] = ~keys[number]  # descending where objects ascend
            tied += 1
    spans[window, BAR], spans[window, KEYS] = bar, ~nth_largest(some, tied, n - ahead)
    spans[window, FAR], spans[window, ENDS] = spans[window, BAR], spans[window, KEYS]
    spans[window, DRAWN] = spans[window, STOCK] = 0


@nested_njit
def _scan(hot: Any, candidates: Any, spans: Any, window: int, k: int) -> Any:
    """Put the best of all objects into the stock, from which candidates are then drawn; returns what room it lacks."""
    column = TOTAL + window
    if spans[window, WANTED] == 0:
        spans[window, WANTED] = _next_lot(spans, window, len(hot), k) + aim(spans, window, k)
    wanted = spans[window, WANTED]
    most = min(len(hot) >> 1, spans[window, GRAND])  # there are no more objects
    if _FEW_OF_ALL * wanted < most:
        most = wanted
    if most > candidates.stock.shape[2]:
        return most
    for number in range(spans[window, SIZE]):
        hot[candidates.near[window, number], FLAGS] &= ~(_ONE << window)
    totals, keys = candidates.stock[0, window], candidates.stock[1, window]
    count, chosen = 0, False
    for slot in range(len(hot)):
        total = hot[slot, column]
        if total < spans[window, LEAST]:
            continue
        if count < most:
            totals[count], keys[count] = total, hot[slot, KEY]
            count += 1
            continue
        if not chosen:
            heap_of(totals, keys, count)
            chosen = True
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
    """Decide on n, and on how many objects a scan puts into the stock after the best n; returns the latter."""
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
    """Make the next of the stock candidates until there are n; lower the bar to the last of them, or the far bar."""
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
    """Do one of the things that `answer` could not do; returns what room it lacks, for candidates and for the stock."""
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
    """How many the best k are, written in no order; −1 where that takes a scan or room for candidates."""
    while True:
        count = _best_candidates(hot, candidates.near, spans, window, k, totals, keys)
        if not _is_short(spans, window, k):
            return count
        if spans[window, DRAWN] == spans[window, STOCK] or candidates.near.shape[1] < aim(spans, window, k):
            return -1
        _draw(hot, candidates, spans, window, k)


@nested_njit
def _too_many(hot: Any, spans: Any, window: int, k: int) -> bool:
    """Whether looks at the candidates have cost more than scans for fewer would."""
    return bool(spans[window, AIM] > 2 * k and spans[window, LOOKS] > 4 * len(hot))


@nested_njit
def _is_short(spans: Any, window: int, k: int) -> bool:
    """Whether some of the best k may be no candidates."""
    lowest = spans[window, BAR] == spans[window, LEAST] and spans[window, KEYS] == ALL_KEYS
    return bool(spans[window, SIZE] < k and not lowest)


@nested_njit
def _best_candidates(hot: Any, near: Any, spans: Any, window: int, k: int, totals: Any, keys: Any) -> int:
    """Let candidates below the bar go, and write the best k of the others; returns how many.

    Few are written in order, and so are their slots: where few totals have changed until the next answer, all but few
    are where they belong.
    """
    left, size = 0, spans[window, SIZE]
    bar, last = spans[window, BAR], spans[window, KEYS]
    for number in range(size):
        slot = near[window, number]
        total, key = hot[slot, TOTAL + window], hot[slot, KEY]
        if total < bar or (total == bar and key > last):
            hot[slot, FLAGS] &= ~(_ONE << window)
            end_stock_before(spans, window, total, key)
            continue
        place = left
        left += 1
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
    spans[window, SIZE] = left
    spans[window, LOOKS] += size
    return min(left, k)


@nested_njit(forceinline=True)
def answer(hot: Any, candidates: Any, spans: Any, window: int, k: int, least: Any, totals: Any, keys: Any) -> Any:
    """The answer of a window, in order, written to `totals` and `keys` (int64[min(k, objects)]).

    Returns how many are in it (−1: `prepare` has to be called before), and the largest other total.
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
    """Write down where the slots of the candidates went when the table was made anew."""
    for window in range(len(spans)):
        left = 0
        for number in range(spans[window, SIZE]):
            slot = moved[near[window, number]]
            if slot >= 0:
                near[window, left] = slot
                left += 1
        spans[window, SIZE] = left


def with_room(candidates: Any, room: int) -> Any:
    """The candidates, with room for so many of each window."""
    near = candidates.near
    larger = np.empty((near.shape[0], room), np.int32)
    larger[:, : near.shape[1]] = near
    return Candidates(larger, candidates.stock)


def with_stock(candidates: Any, room: int) -> Any:
    """The candidates, with room for so many in the stock of each window."""
    stock = candidates.stock
    larger = np.empty((2, stock.shape[1], room), np.int64)
    larger[:, :, : stock.shape[2]] = stock
    return Candidates(candidates.near, larger)
