"""Base: the paper's baseline, which keeps every pair of the window in order of similarity."""

from typing import ClassVar

from attrs import define

from skyband_setjoin.exhaustive import Exhaustive


@define(eq=False)
class Base(Exhaustive):
    """All pairs in order: what the other rankers are compared with.

    Parameters: k, window, similarity, sides, by, as for every pair ranker.
    Complexity, for w sets in the window: O(w) similarities a set and O(w²) for its stock, which is passed over
    for each arrival; retained: every pair that shares a token, O(w²).

    >>> ranker = Base(k=2, window=10)
    >>> ranker.update([0, 1, 2], [0, 2, 4, 7], [1, 2, 1, 3, 1, 2, 3])
    >>> ranker.top()
    (array([0, 1]), array([2, 2]), array([0.66666667, 0.66666667]))

    Source: SWOOP, section 3, algorithms 1 to 3.
    """

    name: ClassVar[str] = "base"

    def _kept(self) -> int:
        return 2**62

    def _afresh(self) -> bool:
        return False
