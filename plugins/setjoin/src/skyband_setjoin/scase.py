"""SCase: the general framework for top-k pairs over streams, applied to sets; recomputes the skyband each time."""

from typing import ClassVar

from attrs import define

from skyband_setjoin.exhaustive import Exhaustive


@define(eq=False)
class SCase(Exhaustive):
    """Compares each set with the whole window, and keeps only pairs that may still get into an answer.

    It keeps the k-skyband of (similarity, time of expiry): the pairs that fewer than k pairs both outrank and outlive.
    It is recomputed for each set.

    Parameters
    ----------
    by : str, default "time"
        whether windows are times or row counts (one of time, rows)
    k : int
        pairs in an answer (at least 1)
    window : int
        length of the window, in the unit of the times or in rows (at least 1)
    similarity : str | function, default "jaccard"
        the measure of similarity of two sets (one of jaccard, cosine, dice, overlap, hamming, containment, or a
        well-behaved function of (overlap, size, size))
    sides : int, default 1
        1: pairs within one stream; 2: pairs across two only (at least 1 and at most 2)

    Complexity
    ----------
    For w sets in the window and s pairs kept, a set costs O(w) similarities and O(s log s). It retains about k (1 +
    ln(w² / 2k)) pairs if no similarities are equal, and at most k·w.

    References
    ----------
    Shen et al., ICDE 2014; a baseline of SWOOP: Top-k Similarity Joins over Set Streams, arXiv 1711.02476, sections 1
    and 7.

    Examples
    --------
    >>> import skyband
    >>> ranker = skyband.create("pair-ranker", "scase", k=2, window=10)
    >>> ranker.update(times=[0, 1, 2], offsets=[0, 2, 4, 7], tokens=[1, 2, 1, 3, 1, 2, 3])
    >>> left, right, similarity = ranker.top()
    >>> left.tolist(), right.tolist(), similarity.round(3).tolist()
    ([0, 1], [2, 2], [0.667, 0.667])
    """

    name: ClassVar[str] = "scase"

    def _afresh(self) -> bool:
        return True
