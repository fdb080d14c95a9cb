"""The two matchers that index every token of every set: `scan-count`, the naive one, and `inverted`."""

from abc import abstractmethod
from typing import Any, ClassVar

from attrs import define, field
from skyband.arrays import Array, Int8, Int64
from skyband.kernels.cache import drop_stale

from skyband_setjoin import index as lists
from skyband_setjoin import indexed
from skyband_setjoin import sets as window
from skyband_setjoin.index import Index
from skyband_setjoin.matching import bounds
from skyband_setjoin.matching import full_index_kernels as kernels
from skyband_setjoin.matching.window_matcher import WindowMatcher
from skyband_setjoin.ranker import alike

drop_stale(bounds, indexed, kernels)


@define(eq=False)
class FullIndex(WindowMatcher):
    """A matcher with an inverted list for every token in the window."""

    _index: Index = field(init=False)

    def _clear(self) -> None:
        self._index = lists.new()

    @abstractmethod
    def _counts(self) -> bool:
        """Whether overlaps are counted in all lists."""

    def _take(
        self, numbers: Int64, times: Int64, offsets: Int64, tokens: Int64, sides: Int8, parts: Int8
    ) -> tuple[Int64, Array]:
        rows = alike(numbers, times, offsets, tokens, sides, parts)
        held: Any = kernels.take(self._sets, self._index, self._rule, self._asked, self._counts(), *rows)
        (self._sets, self._index), cuts, answers = held
        return cuts, answers

    def _advance(self, now: int) -> None:
        indexed.expire(self._sets, self._index, self._horizon(now))
        self._index, self._sets = lists.trim(self._index), window.trim(self._sets)

    @property
    def nbytes(self) -> int:
        """Bytes of the window's sets and the index, slack included."""
        return super().nbytes + sum(array.nbytes for array in self._index)


@define(eq=False)
class ScanCount(FullIndex):
    """Counts, through the lists of all its tokens, how many each set shares: what others are compared with.

    Parameters: threshold, window, similarity, matches, keep, sides, by, as for every set matcher.
    Complexity: all entries of all lists of a set's tokens, which is most of the window where tokens are frequent;
    retained: the sets of the window, with one entry a token.

    >>> matcher = ScanCount(threshold=0.5, window=10)
    >>> matcher.update([0, 1, 2], [0, 2, 4, 7], [1, 2, 1, 3, 1, 2, 3])
    (array([0, 0, 0, 2]), array([0, 1]), array([0.66666667, 0.66666667]))

    Source: Li, Lu and Lu, Efficient Merging and Filtering Algorithms for Approximate String Searches, ICDE 2008.
    """

    name: ClassVar[str] = "scan-count"

    def _counts(self) -> bool:
        return True


@define(eq=False)
class Inverted(FullIndex):
    """Looks through the shortest lists of a set, as many as hold every match: no order of tokens to learn.

    Parameters: threshold, window, similarity, matches, keep, sides, by, as for every set matcher.
    Complexity: the entries of the |s| − least + 1 shortest lists of a set's tokens, `least` being the fewest tokens
    with which any set matches it; retained: the sets of the window, with one entry a token.

    >>> matcher = Inverted(threshold=0.5, window=10, matches=1)
    >>> matcher.update([0, 1, 2], [0, 2, 4, 7], [1, 2, 1, 3, 1, 2, 3])
    (array([0, 0, 0, 1]), array([0]), array([0.66666667]))

    Source: the prefix of AllPairs (Bayardo, Ma and Srikant, WWW 2007), by list length; lists as in SWOOP, section 5.1.
    """

    name: ClassVar[str] = "inverted"

    def _counts(self) -> bool:
        return False
