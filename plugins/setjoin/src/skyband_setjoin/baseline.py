"""Base: the paper's baseline, which keeps every pair of the window in order of similarity."""

from typing import ClassVar

from attrs import define

from skyband_setjoin.exhaustive import Exhaustive


@define(eq=False)
class Base(Exhaustive):
    """Compares each set with the whole window and keeps every pair: the paper's baseline.

    All pairs of the window are kept in order of similarity. Use it to check another ranker, or where windows are small.

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
    For w sets in the window, a set costs O(w) similarities, and O(w²) to update the sorted pairs. It retains
    every pair that shares a token, O(w²).

    References
    ----------
    SWOOP: Top-k Similarity Joins over Set Streams, arXiv 1711.02476, section 3, algorithms 1 to 3.

    Examples
    --------
    >>> import skyband
    >>> ranker = skyband.create("pair-ranker", "base", k=2, window=10)
    >>> ranker.update(times=[0, 1, 2], offsets=[0, 2, 4, 7], tokens=[1, 2, 1, 3, 1, 2, 3])
    >>> left, right, similarity = ranker.top()
    >>> left.tolist(), right.tolist(), similarity.round(3).tolist()
    ([0, 1], [2, 2], [0.667, 0.667])
    """

    name: ClassVar[str] = "base"

    def _kept(self) -> int:
        return 2**62

    def _afresh(self) -> bool:
        return False
