# mypy: disable-error-code="untyped-decorator"
"""The best k of a window without a look at every object: a bar, and the candidates at or above it.

For each window there is a bar, a total and an object, and a set C of every object that is not after the bar in the
order of an answer: total descending, then object ascending. If k of C are still so, the best k are among them. So of
many objects with one total only those with the smallest numbers are in C. Only an object whose total rises to the bar
can enter C, one comparison each; those that fell below it leave when C is looked at.

C grows above 2n + 64: the bar rises to the n-th of C. Fewer than k left: one scan of all objects, and the bar falls to
the n-th of all. n is 2k at first, so that at least k of 2k objects must have fallen since the last scan. Where scans
cost more than the looks at C between them, as when the best of many equal objects are always the next to leave, n is
doubled; where looks cost four times a scan, it is halved. So a moment costs O(√(slots · objects that leave)), or O(k).

spans: int64[windows, 9], a row for each window, indexed by
    FIRST  place in the log of the first pane that the window holds
    BAR    the total of the bar, at least 1: with more, every object is a candidate
    KEYS   with just this total, every object up to this one is a candidate
    SIZE   candidates
    GRAND  the sum of all totals
    PANES  its length in panes
    AIM    n, the candidates that there are after the bar was moved; 0: 2k
    LOOKS  candidates looked at since the last scan
candidates: int32[windows, room], the slots of each window's candidates.
"""

from typing import Any

import numpy as np
from skyband.kernels.nested import nested_njit

from skyband_totals.selection import count_of_share, in_order, nth_largest, offer, ranks_before
from skyband_totals.slots import FLAGS, KEY, TOTAL

FIRST, BAR, SIZE, GRAND, PANES, KEYS, AIM, LOOKS, SPAN = range(9)
_ONE = np.int64(1)
_ALL_KEYS = np.int64(2**63 - 1)


def new_spans(panes: list[int]) -> Any:
    """Windows of these lengths in panes, all empty."""
    spans = np.zeros((len(panes), SPAN), np.int64)
    spans[:, BAR] = 1
    spans[:, KEYS] = _ALL_KEYS
    spans[:, PANES] = panes
    return spans


@nested_njit
def is_before_bar(spans: Any, window: int, total: Any, key: Any) -> bool:
    """Whether an object with this total is not after the bar of a window."""
    bar = spans[window, BAR]
    return bool(total > bar or (total == bar and key <= spans[window, KEYS]))


@nested_njit
def enter(hot: Any, candidates: Any, spans: Any, window: int, slot: int, k: int) -> Any:
    """Make an object that is none a candidate of a window; returns the candidates, with more room where it took that.

    Amortised O(1).
    """
    hot[slot, FLAGS] |= _ONE << window
    room = candidates.shape[1]
    if not has_room(candidates, spans, window, 1, k):
        if spans[window, SIZE] >= 2 * _aim(spans, window, k) + 64:
            _raise_bar(hot, candidates, spans, window, _aim(spans, window, k))
        if spans[window, SIZE] == room:
            candidates = _with_room(candidates, 2 * room)
        if not is_before_bar(spans, window, hot[slot, TOTAL + window], hot[slot, KEY]):
            hot[slot, FLAGS] &= ~(_ONE << window)
            return candidates
    candidates[window, spans[window, SIZE]] = slot
    spans[window, SIZE] += 1
    return candidates


@nested_njit
def has_room(candidates: Any, spans: Any, window: int, more: int, k: int) -> bool:
    """Whether a window may have so many candidates more before the bar is to rise or the room to grow."""
    return bool(spans[window, SIZE] + more <= min(candidates.shape[1], 2 * _aim(spans, window, k) + 64))


@nested_njit
def _aim(spans: Any, window: int, k: int) -> int:
    return max(spans[window, AIM], 2 * k)


@nested_njit
def _drop_fallen(hot: Any, candidates: Any, spans: Any, window: int) -> int:
    """Let candidates below the bar go; returns how many are left. O(candidates)."""
    left = 0
    for number in range(spans[window, SIZE]):
        slot = candidates[window, number]
        if is_before_bar(spans, window, hot[slot, TOTAL + window], hot[slot, KEY]):
            candidates[window, left] = slot
            left += 1
        else:
            hot[slot, FLAGS] &= ~(_ONE << window)
    spans[window, SIZE] = left
    return left


@nested_njit
def _raise_bar(hot: Any, candidates: Any, spans: Any, window: int, n: int) -> None:
    """Raise the bar to the n-th of the candidates, if more are left."""
    size = _drop_fallen(hot, candidates, spans, window)
    if size > n:
        totals, keys = np.empty(size, np.int64), np.empty(size, np.int64)
        for number in range(size):
            slot = candidates[window, number]
            totals[number], keys[number] = hot[slot, TOTAL + window], hot[slot, KEY]
        _set_bar(spans, window, totals, keys, size, n)
        _drop_fallen(hot, candidates, spans, window)


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


@nested_njit
def _scan(hot: Any, candidates: Any, spans: Any, window: int, k: int) -> Any:
    """Set the bar to the n-th of all objects (below all, where there are fewer) and find the candidates anew."""
    column = TOTAL + window
    if 2 * spans[window, LOOKS] < len(hot):
        spans[window, AIM] = 2 * _aim(spans, window, k)
    spans[window, LOOKS] = 0
    n = _aim(spans, window, k)
    for number in range(spans[window, SIZE]):
        hot[candidates[window, number], FLAGS] &= ~(_ONE << window)
    most = (len(hot) >> 1) + 1
    places, totals, keys = np.empty(most, np.int32), np.empty(most, np.int64), np.empty(most, np.int64)
    count = 0
    for slot in range(len(hot)):
        if hot[slot, column] > 0:
            places[count], totals[count], keys[count] = slot, hot[slot, column], hot[slot, KEY]
            count += 1
    spans[window, BAR], spans[window, KEYS] = 1, _ALL_KEYS
    if count > n:
        _set_bar(spans, window, totals, keys, count, n)
    if min(count, n) > candidates.shape[1] // 2:
        candidates = _with_room(candidates, 2 * min(count, n) + 64)
    size = 0
    for number in range(count):
        if is_before_bar(spans, window, totals[number], keys[number]):
            hot[places[number], FLAGS] |= _ONE << window
            candidates[window, size] = places[number]
            size += 1
    spans[window, SIZE] = size
    return candidates


@nested_njit
def best(hot: Any, candidates: Any, spans: Any, window: int, k: int, totals: Any, keys: Any) -> Any:
    """The best k of a window, in order, written to `totals` and `keys` (int64[k]); returns candidates and how many."""
    if _too_many(hot, spans, window, k):
        spans[window, AIM] >>= 1
        spans[window, LOOKS] = 0
        _raise_bar(hot, candidates, spans, window, _aim(spans, window, k))
    count = _best_candidates(hot, candidates, spans, window, k, totals, keys)
    if _is_short(spans, window, k):
        candidates = _scan(hot, candidates, spans, window, k)
        count = _best_candidates(hot, candidates, spans, window, k, totals, keys)
    in_order(totals, keys, count)
    return candidates, count


@nested_njit
def _too_many(hot: Any, spans: Any, window: int, k: int) -> bool:
    """Whether looks at the candidates have cost more than scans for fewer would."""
    return bool(spans[window, AIM] > 2 * k and spans[window, LOOKS] > 4 * len(hot))


@nested_njit
def _is_short(spans: Any, window: int, k: int) -> bool:
    """Whether some of the best k may be no candidates."""
    return bool(spans[window, SIZE] < k and (spans[window, BAR] > 1 or spans[window, KEYS] < _ALL_KEYS))


@nested_njit
def _best_candidates(hot: Any, candidates: Any, spans: Any, window: int, k: int, totals: Any, keys: Any) -> int:
    """Let candidates below the bar go, and make a heap of the best k of the others; returns how many."""
    count, left, size = 0, 0, spans[window, SIZE]
    bar, last = spans[window, BAR], spans[window, KEYS]
    for number in range(size):
        slot = candidates[window, number]
        total = hot[slot, TOTAL + window]
        if total < bar or (total == bar and hot[slot, KEY] > last):
            hot[slot, FLAGS] &= ~(_ONE << window)
            continue
        candidates[window, left] = slot
        left += 1
        if count < k or (k > 0 and total >= totals[0] and ranks_before(total, hot[slot, KEY], totals[0], keys[0])):
            count = offer(totals, keys, count, k, total, hot[slot, KEY])
    spans[window, SIZE] = left
    spans[window, LOOKS] += size
    return count


@nested_njit
def answer(hot: Any, candidates: Any, spans: Any, window: int, k: int, share: float, totals: Any, keys: Any) -> Any:
    """The answer of a window, written as by `best`; returns candidates, how many are in it, the largest other total."""
    candidates, count = best(hot, candidates, spans, window, min(k, len(totals)), totals, keys)
    kept, rest = _cut_by_share(totals, count, k, share, spans[window, GRAND])
    return candidates, kept, rest


@nested_njit
def answer_at_hand(
    hot: Any, candidates: Any, spans: Any, window: int, k: int, share: float, totals: Any, keys: Any
) -> Any:
    """`answer` where no scan is due: how many are in it (−1: one is due), and the largest other total."""
    most = min(k, len(totals))
    if _too_many(hot, spans, window, most):
        return np.int64(-1), np.int64(0)
    count = _best_candidates(hot, candidates, spans, window, most, totals, keys)
    if _is_short(spans, window, most):
        return np.int64(-1), np.int64(0)
    in_order(totals, keys, count)
    return _cut_by_share(totals, count, k, share, spans[window, GRAND])


@nested_njit
def _cut_by_share(totals: Any, count: int, k: int, share: float, grand: int) -> Any:
    kept = np.int64(count) if share == 0.0 else np.int64(count_of_share(totals, count, share, grand))
    rest = np.int64(0)
    if kept < count:
        rest = totals[kept]
    elif kept == k:
        rest = totals[kept - 1]
    return kept, rest


@nested_njit
def follow(candidates: Any, spans: Any, moved: Any) -> None:
    """Write down where the slots of the candidates went when the table was made anew."""
    for window in range(len(spans)):
        left = 0
        for number in range(spans[window, SIZE]):
            slot = moved[candidates[window, number]]
            if slot >= 0:
                candidates[window, left] = slot
                left += 1
        spans[window, SIZE] = left


@nested_njit
def _with_room(candidates: Any, room: int) -> Any:
    larger = np.empty((candidates.shape[0], room), np.int32)
    for window in range(candidates.shape[0]):
        for number in range(candidates.shape[1]):
            larger[window, number] = candidates[window, number]
    return larger
