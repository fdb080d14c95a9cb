# mypy: disable-error-code="untyped-decorator"
"""The best k of a window without a look at every object: a bar, and the candidates at or above it.

For each window a set C holds every object whose total is at least the bar. If k of them have such a total, the best k
are among them, ties included: what is outside is below the bar, so below k others. Only an object whose total rises to
the bar can enter C, one comparison each; those that fell below it leave when C is looked at.

C grows above 4k + 64: the bar rises to the 2k-th total in C. Fewer than k at the bar: one scan of all objects, and the
bar falls to the 2k-th total of all. So at least k of 2k objects must have fallen since the last scan.

spans: int64[windows, 6], a row for each window, indexed by
    FIRST  place in the log of the first pane that the window holds
    BAR    the least total, at least 1, from which on every object is a candidate
    SIZE   candidates
    GRAND  the sum of all totals
    PANES  its length in panes
candidates: int32[windows, room], the slots of each window's candidates.
"""

from typing import Any

import numpy as np
from skyband.kernels.nested import nested_njit

from skyband_totals.selection import count_of_share, in_order, nth_largest, offer
from skyband_totals.slots import FLAGS, KEY, TOTAL

FIRST, BAR, SIZE, GRAND, PANES, SPAN = range(6)
_ONE = np.int64(1)


def new_spans(panes: list[int]) -> Any:
    """Windows of these lengths in panes, all empty."""
    spans = np.zeros((len(panes), SPAN), np.int64)
    spans[:, BAR] = 1
    spans[:, PANES] = panes
    return spans


@nested_njit
def enter(hot: Any, candidates: Any, spans: Any, window: int, slot: int, k: int) -> Any:
    """Make an object that is none a candidate of a window; returns the candidates, with more room where it took that.

    Amortised O(1).
    """
    hot[slot, FLAGS] |= _ONE << window
    room = candidates.shape[1]
    if spans[window, SIZE] == room:
        if room >= 4 * k + 64:
            _raise_bar(hot, candidates, spans, window, 2 * k)
        if spans[window, SIZE] > room // 2:  # ties at the bar, or k is large
            candidates = _with_room(candidates, 2 * room)
        if hot[slot, TOTAL + window] < spans[window, BAR]:
            hot[slot, FLAGS] &= ~(_ONE << window)
            return candidates
    candidates[window, spans[window, SIZE]] = slot
    spans[window, SIZE] += 1
    return candidates


@nested_njit
def drop_fallen(hot: Any, candidates: Any, spans: Any, window: int) -> int:
    """Let candidates below the bar go; returns how many are left. O(candidates)."""
    left = 0
    bar = spans[window, BAR]
    for number in range(spans[window, SIZE]):
        slot = candidates[window, number]
        if hot[slot, TOTAL + window] >= bar:
            candidates[window, left] = slot
            left += 1
        else:
            hot[slot, FLAGS] &= ~(_ONE << window)
    spans[window, SIZE] = left
    return left


@nested_njit
def _raise_bar(hot: Any, candidates: Any, spans: Any, window: int, n: int) -> None:
    """Raise the bar to the n-th largest total of the candidates, if so many are left."""
    size = drop_fallen(hot, candidates, spans, window)
    if size > n:
        totals = np.empty(size, np.int64)
        for number in range(size):
            totals[number] = hot[candidates[window, number], TOTAL + window]
        spans[window, BAR] = nth_largest(totals, size, n)
        drop_fallen(hot, candidates, spans, window)


@nested_njit
def _scan(hot: Any, candidates: Any, spans: Any, window: int, n: int) -> Any:
    """Set the bar to the n-th largest of all totals (1, where there are fewer) and find the candidates anew."""
    column = TOTAL + window
    count = 0
    for slot in range(len(hot)):
        count += hot[slot, column] > 0
    totals = np.empty(count, np.int64)
    count = 0
    for slot in range(len(hot)):
        if hot[slot, column] > 0:
            totals[count] = hot[slot, column]
            count += 1
    bar = nth_largest(totals, count, n) if count > n else 1
    size = 0
    for slot in range(len(hot)):
        size += hot[slot, column] >= bar
    if size > candidates.shape[1]:
        candidates = _with_room(candidates, 2 * size)
    size = 0
    for slot in range(len(hot)):
        if hot[slot, column] >= bar:
            hot[slot, FLAGS] |= _ONE << window
            candidates[window, size] = slot
            size += 1
        elif hot[slot, FLAGS] != 0:
            hot[slot, FLAGS] &= ~(_ONE << window)
    spans[window, BAR], spans[window, SIZE] = bar, size
    return candidates


@nested_njit
def best(hot: Any, candidates: Any, spans: Any, window: int, k: int, totals: Any, keys: Any) -> Any:
    """The best k of a window, in order, written to `totals` and `keys` (int64[k]); returns candidates and how many."""
    if drop_fallen(hot, candidates, spans, window) < k and spans[window, BAR] > 1:
        candidates = _scan(hot, candidates, spans, window, 2 * k)
    return candidates, _best_candidates(hot, candidates, spans, window, k, totals, keys)


@nested_njit
def _best_candidates(hot: Any, candidates: Any, spans: Any, window: int, k: int, totals: Any, keys: Any) -> int:
    """Write the best k of the candidates, in order; returns how many."""
    count = 0
    for number in range(spans[window, SIZE] if k > 0 else 0):
        slot = candidates[window, number]
        total = hot[slot, TOTAL + window]
        if count < k or total >= totals[0]:  # most are below the worst so far
            count = offer(totals, keys, count, k, total, hot[slot, KEY])
    in_order(totals, keys, count)
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
    if drop_fallen(hot, candidates, spans, window) < most and spans[window, BAR] > 1:
        return np.int64(-1), np.int64(0)
    count = _best_candidates(hot, candidates, spans, window, most, totals, keys)
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
