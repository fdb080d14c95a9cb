"""The default matcher: an index of the rarest tokens of each set."""

from typing import Any, ClassVar

import numpy as np
from attrs import define, field
from skyband.arrays import Array, Int8, Int64
from skyband.kernels.cache import drop_stale

from skyband_setjoin import index as lists
from skyband_setjoin import sets as window
from skyband_setjoin.index import Index
from skyband_setjoin.matching import bags, bounds, rarity
from skyband_setjoin.matching import prefix_kernels as kernels
from skyband_setjoin.matching.window_matcher import WindowMatcher
from skyband_setjoin.ranker import alike

drop_stale(bags, bounds, rarity, kernels)


@define(eq=False)
class Prefix(WindowMatcher):
    """Looks for a set's matches among those that share one of its rarest tokens; the default.

    Parameters: threshold, window, similarity, matches, keep, sides, by, as for every set matcher.
    Complexity: a walk through the lists of a set's |s| − least + 1 rarest tokens, `least` being the fewest tokens with
    which any set matches it. Which tokens are rare is learnt from the window, anew after as many sets as two windows
    hold, in O(their tokens). For `containment`, least is 1, and all lists are walked. Retained: the sets of the window
    that a later one can match; the index has an entry for each of their rarest tokens.

    >>> matcher = Prefix(threshold=0.5, window=10, matches=1)
    >>> matcher.update([0, 1, 2], [0, 2, 4, 7], [1, 2, 1, 3, 1, 2, 3])
    (array([0, 0, 0, 1]), array([0]), array([0.66666667]))

    Source: AllPairs, WWW 2007, and PPJoin, WWW 2008; what differs, and why, is said in prefix_kernels.
    """

    name: ClassVar[str] = "prefix"

    _index: Index = field(init=False)
    _levels: Array = field(init=False)
    _round: Int64 = field(init=False)

    def _clear(self) -> None:
        self._index = lists.new()
        self._levels = np.zeros(1 << rarity.LEAST_BITS, np.uint8)
        self._round = np.zeros(2, np.int64)

    def _take(
        self, numbers: Int64, times: Int64, offsets: Int64, tokens: Int64, sides: Int8, parts: Int8
    ) -> tuple[Int64, Array]:
        rows = alike(numbers, times, offsets, tokens, sides, parts)
        taken: Any = kernels.take(self._sets, self._index, self._levels, self._round, self._rule, self._asked, *rows)
        (self._sets, self._index, self._levels), cuts, answers = taken
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
