"""The bar of a window and the candidates at or above it, which find the best k without checking every object.

Each window has a bar, a total and an object, and a set C of all objects that are not after the bar in the order of an
answer: total descending, then object ascending. While C has at least k, the best k are among them. So of many objects
with the same total only those with the smallest numbers are in C. Only an object whose total rises to the bar can enter
C, at one comparison each. Those that fall below it leave when C is next checked.

If C exceeds 2n + 64, the bar rises to the n-th of C. If fewer than k are left, the next objects of the stock become
candidates, and the bar falls to the last of them. The stock is the objects next to the best n that one scan of all
objects found, in order; it ends at the far bar. If an object has since moved between the bars, the far bar rises above
it, and the stock beyond is no longer used. When the stock ends, all objects are scanned again.

n is 2k at first, and so is the stock. If a scan costs more than twice the checks of C since the last one, the stock
grows by the ratio of these costs if it was useful, as with many equal objects or falling totals, whose best are the
next to leave. If it was not, n is doubled. If checks cost four times a scan, n is halved. So a moment costs
O(√(slots · objects that leave)), or O(k).

spans: int64[windows, 16], a row for each window, indexed by
    FIRST  place in the log of the first pane in the window
    BAR    the total of the bar, at least LEAST: every object with more is a candidate
    KEYS   of the objects with just this total, all up to this one are candidates
    SIZE   number of candidates
    GRAND  the sum of all totals
    PANES  its length in panes
    AIM    n, the number of candidates after the bar was moved; 0: 2k
    LOOKS  candidates checked since the last scan
    FAR    the total of the far bar, at most BAR; equal to the bar without a stock
    ENDS   of the objects with just this total, all up to this one are before the far bar
    DRAWN  objects of the stock that were used
    STOCK  objects of the stock, 0 if not all of them could be used
    LOT    the number that the next scan puts into the stock; 0: n
    WANTED the number that the next scan looks for, if it is decided but memory is missing; 0: not decided
    LEAST  the least total of an answer, at least 1: with this bar, there are no other objects to find
    OBJECTS the number of objects with a total above 0
candidates.near: int32[windows, room], the slots of each window's candidates; first those of the last answer, if few.
candidates.stock: int64[2, windows, room], totals and objects in the stock of each window, as of the scan.
"""

from typing import Any, NamedTuple

import numpy as np
from skyband.kernels.nested import nested_njit

FIRST, BAR, SIZE, GRAND, PANES, KEYS, AIM, LOOKS, FAR, ENDS, DRAWN, STOCK, LOT, WANTED, LEAST, OBJECTS, SPAN = range(17)
ALL_KEYS = np.int64(2**63 - 1)
FIRST_KEY = np.int64(-(2**63))


class Candidates(NamedTuple):
    """The candidates of all windows, and their stocks."""

    near: Any
    stock: Any


def no_candidates(windows: int, room: int) -> Candidates:
    """Empty candidates of `windows` windows, with room for `room` each."""
    return Candidates(np.empty((windows, room), np.int32), np.empty((2, windows, 0), np.int64))


def new_spans(panes: list[int], least: int) -> Any:
    """Empty windows of these lengths in panes; answers only have objects with at least the least total."""
    spans = np.zeros((len(panes), SPAN), np.int64)
    spans[:, BAR] = spans[:, FAR] = spans[:, LEAST] = least
    spans[:, KEYS] = spans[:, ENDS] = ALL_KEYS
    spans[:, PANES] = panes
    return spans


@nested_njit
def is_before_bar(spans: Any, window: int, total: Any, key: Any) -> bool:
    """Whether an object with this total is not after the bar of a window."""
    bar = spans[window, BAR]
    return bool(total > bar or (total == bar and key <= spans[window, KEYS]))


@nested_njit
def rises(spans: Any, window: int, total: Any, key: Any) -> bool:
    """Whether an object whose total rose to this becomes a candidate."""
    if is_before_bar(spans, window, total, key):
        return True
    end_stock_before(spans, window, total, key)
    return False


@nested_njit
def end_stock_before(spans: Any, window: int, total: Any, key: Any) -> None:
    """Raise the far bar above an object if it has moved between the bars."""
    if total > spans[window, FAR] or (total == spans[window, FAR] and key <= spans[window, ENDS]):
        if key == FIRST_KEY:
            spans[window, FAR], spans[window, ENDS] = total + 1, ALL_KEYS
        else:
            spans[window, FAR], spans[window, ENDS] = total, key - 1


@nested_njit
def most_candidates(spans: Any) -> Any:
    """The largest number of candidates of any window."""
    most = spans[0, SIZE]
    for window in range(1, len(spans)):
        most = max(most, spans[window, SIZE])
    return most


@nested_njit
def aim(spans: Any, window: int, k: int) -> int:
    """The number of candidates to have after the bar is moved."""
    return max(spans[window, AIM], 2 * k)
