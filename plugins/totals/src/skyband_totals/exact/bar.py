"""What finds the best k of a window without a look at every object: a bar, and the candidates at or above it.

For each window there is a bar, a total and an object, and a set C of every object that is not after the bar in the
order of an answer: total descending, then object ascending. If k of C are still so, the best k are among them. So of
many objects with one total only those with the smallest numbers are in C. Only an object whose total rises to the bar
can enter C, one comparison each; those that fell below it leave when C is looked at.

C grows above 2n + 64: the bar rises to the n-th of C. Fewer than k left: the next of the stock become candidates, and
the bar falls to the last of them. The stock is what one scan of all objects found next to the best n, in order; it ends
at the far bar. What has come to be between the bars since then, as its total rose, or fell from above the bar, is not
in the stock: then the far bar rises above it, and what is beyond the far bar is not drawn any more. With the stock at
its end, all objects are scanned anew.

n is 2k at first, and the stock as large. Where a scan costs more than twice the looks at C since the last one, the
stock becomes as many times larger as the scan cost more, if it was of use: the best of many equal objects, or of
falling totals, are always the next to leave, and then the objects of the stock are scanned once. If it was not, n is
doubled; where looks cost four times a scan, n is halved. So a moment costs O(√(slots · objects that leave)), or O(k).

spans: int64[windows, 16], a row for each window, indexed by
    FIRST  place in the log of the first pane that the window holds
    BAR    the total of the bar, at least LEAST: with more, every object is a candidate
    KEYS   with just this total, every object up to this one is a candidate
    SIZE   candidates
    GRAND  the sum of all totals
    PANES  its length in panes
    AIM    n, the candidates that there are after the bar was moved; 0: 2k
    LOOKS  candidates looked at since the last scan
    FAR    the total of the far bar, at most BAR; the bar itself where there is no stock
    ENDS   with just this total, every object up to this one is before the far bar
    DRAWN  objects of the stock that were drawn
    STOCK  objects of the stock, 0 if not all of them could be drawn
    LOT    how many the next scan puts into the stock; 0: n
    WANTED how many the next scan looks for in all, where that is decided and memory is missing; 0: it is not decided
    LEAST  the least total of an answer, at least 1: with it as the bar, no other object is ever looked for
    OBJECTS how many have a total above 0
candidates.near: int32[windows, room], the slots of each window's candidates; first those of the last answer, in its
order, where it had few objects.
candidates.stock: int64[2, windows, room], totals and objects in the stock of each window as they were at the scan.
"""

from typing import Any, NamedTuple

import numpy as np
from skyband.kernels.nested import nested_njit

FIRST, BAR, SIZE, GRAND, PANES, KEYS, AIM, LOOKS, FAR, ENDS, DRAWN, STOCK, LOT, WANTED, LEAST, OBJECTS, SPAN = range(17)
ALL_KEYS = np.int64(2**63 - 1)
FIRST_KEY = np.int64(-(2**63))


class Candidates(NamedTuple):
    """The candidates of all windows, and what is next to them."""

    near: Any
    stock: Any


def no_candidates(windows: int, room: int) -> Candidates:
    """None yet, of so many windows, with room for so many each."""
    return Candidates(np.empty((windows, room), np.int32), np.empty((2, windows, 0), np.int64))


def new_spans(panes: list[int], least: int) -> Any:
    """Windows of these lengths in panes, all empty; no answer has an object of less than the least total."""
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
    """Whether an object that is none becomes a candidate, as its total rose to this."""
    if is_before_bar(spans, window, total, key):
        return True
    end_stock_before(spans, window, total, key)
    return False


@nested_njit
def end_stock_before(spans: Any, window: int, total: Any, key: Any) -> None:
    """Raise the far bar above an object that has come to be between the bars, if it has."""
    if total > spans[window, FAR] or (total == spans[window, FAR] and key <= spans[window, ENDS]):
        if key == FIRST_KEY:
            spans[window, FAR], spans[window, ENDS] = total + 1, ALL_KEYS
        else:
            spans[window, FAR], spans[window, ENDS] = total, key - 1


@nested_njit
def most_candidates(spans: Any) -> Any:
    """Candidates of the window that has most."""
    most = spans[0, SIZE]
    for window in range(1, len(spans)):
        most = max(most, spans[window, SIZE])
    return most


@nested_njit
def aim(spans: Any, window: int, k: int) -> int:
    """How many candidates there are to be after the bar was moved."""
    return max(spans[window, AIM], 2 * k)
