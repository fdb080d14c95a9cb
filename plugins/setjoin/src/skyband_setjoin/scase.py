"""SCase: the general framework for top-k pairs over streams, with sets; the skyband is recomputed each time."""

from typing import ClassVar

from attrs import define

from skyband_setjoin.exhaustive import Exhaustive


@define(eq=False)
class SCase(Exhaustive):
    """Compares each set with the window and recomputes the skyband of pairs from scratch for it.

    Parameters: k, window, similarity, sides, by, as for every pair ranker.
    Complexity, for w sets in the window and a stock of s pairs: O(w) similarities and O(s log s) a set;
    retained: the minimal stock, about k (1 + ln(w² / 2k)) pairs without ties and at most k·w.

    >>> ranker = SCase(k=2, window=10)
    >>> ranker.update([0, 1, 2], [0, 2, 4, 7], [1, 2, 1, 3, 1, 2, 3])
    >>> ranker.top()
    (array([0, 1]), array([2, 2]), array([0.66666667, 0.66666667]))

    Source: Shen et al., ICDE 2014, as the SWOOP paper compares itself with it (sections 1 and 7).
    """

    name: ClassVar[str] = "scase"

    def _afresh(self) -> bool:
        return True
