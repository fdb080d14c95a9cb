"""The default matcher: an index of the rarest tokens of each set."""

from typing import Any, ClassVar

import numpy as np
from attrs import define, field, setters
from skyband.arrays import Array, Int8, Int64

from skyband_setjoin import index as lists
from skyband_setjoin import sets as window
from skyband_setjoin.index import Index
from skyband_setjoin.matching import prefix_kernels as kernels
from skyband_setjoin.matching import rarity
from skyband_setjoin.matching.window_matcher import WindowMatcher
from skyband_setjoin.ranker import alike


@define(eq=False)
class Prefix(WindowMatcher):
    """Looks for the matches of a set among the sets that share one of its rarest tokens. The default.

    Two matching sets share at least some number of tokens, so one of the rarest tokens of either is among these. Only
    the rarest tokens of each set are indexed. Which tokens are rare is learnt from the window, and again after as many
    sets as two windows hold.

    Parameters
    ----------
    by : str, default "time"
        whether windows are times or row counts (one of time, rows)
    threshold : float
        how similar two sets must be to match
    window : int
        length of the window, in the unit of the times or in rows (at least 1)
    similarity : str | function, default "jaccard"
        the measure of similarity of two sets (one of jaccard, cosine, dice, overlap, hamming, containment, or a
        well-behaved function of (overlap, size, size))
    matches : str | int, default "all"
        how many matches of a set to report: the most similar ones, on a tie the earlier ("all" or a whole number of
        at least 1)
    keep : str, default "all"
        "first": a set that matches a kept one is dropped, and later sets are compared with kept ones only (one of
        all, first)
    sides : int, default 1
        1: matches within one stream; 2: across two only (at least 1 and at most 2)

    Complexity
    ----------
    A set costs a scan of the lists of its |s| − least + 1 rarest tokens, `least` being the fewest tokens that it shares
    with any match. For similarity "containment" least is 1, and all lists are scanned. Learning which tokens are rare
    costs O(tokens in the window). It retains the sets of the window that a later one can match; the index has an entry
    for each of their rarest tokens.

    References
    ----------
    Bayardo, Ma and Srikant, Scaling up all pairs similarity search (AllPairs), WWW 2007. Xiao, Wang, Lin and Yu,
    Efficient similarity joins for near duplicate detection (PPJoin), WWW 2008.

    Examples
    --------
    >>> import skyband
    >>> matcher = skyband.create("set-matcher", "prefix", threshold=0.5, window=10)
    >>> cuts, earlier, similarity = matcher.update(times=[0, 1, 2], offsets=[0, 2, 4, 7], tokens=[1, 2, 1, 3, 1, 2, 3])
    >>> cuts.tolist(), earlier.tolist(), similarity.round(3).tolist()
    ([0, 0, 0, 2], [0, 1], [0.667, 0.667])
    """

    name: ClassVar[str] = "prefix"

    _index: Index = field(init=False, on_setattr=setters.NO_OP)
    _levels: Array = field(init=False, on_setattr=setters.NO_OP)
    _round: Int64 = field(init=False)

    def _clear(self) -> None:
        self._index = lists.new()
        self._levels = np.zeros(1 << rarity.LEAST_BITS, np.uint8)
        self._round = np.zeros(2, np.int64)

    def _take(
        self, numbers: Int64, times: Int64, offsets: Int64, tokens: Int64, sides: Int8, parts: Int8
    ) -> tuple[Int64, Array]:
        rows = alike(numbers, times, offsets, tokens, sides, parts)
        result: Any = kernels.take(
            self._sets, self._index, self._levels, self._round, *self._rule.for_kernels, self._spec, *rows
        )
        (self._sets, self._index, self._levels), cuts, answers = result
        self._rule.own.check(lambda: window.sizes(self._sets, offsets))
        return cuts, answers

    def _advance(self, now: int) -> None:
        window.expire(self._sets, self._horizon(now))
        self._sets = window.trim(self._sets)
        if not len(self):
            self._clear()

    @property
    def nbytes(self) -> int:
        """Bytes of the window's sets, the index and the order of tokens, slack included."""
        return super().nbytes + sum(array.nbytes for array in (*self._index, self._levels, self._round))
