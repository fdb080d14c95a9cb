"""The two matchers that index every token of every set: `scan-count`, the naive one, and `inverted`."""

from abc import abstractmethod
from typing import Any, ClassVar

from attrs import define, field
from skyband.arrays import Array, Int8, Int64

from skyband_setjoin import index as lists
from skyband_setjoin import indexed
from skyband_setjoin import sets as window
from skyband_setjoin.index import Index
from skyband_setjoin.matching import full_index_kernels as kernels
from skyband_setjoin.matching.window_matcher import WindowMatcher
from skyband_setjoin.ranker import alike


@define(eq=False)
class FullIndex(WindowMatcher):
    """A matcher with an inverted list for every token in the window."""

    _index: Index = field(init=False)

    def _clear(self) -> None:
        self._index = lists.new()

    @abstractmethod
    def _counts(self) -> bool:
        """Whether overlaps are counted by scanning all lists."""

    def _take(
        self, numbers: Int64, times: Int64, offsets: Int64, tokens: Int64, sides: Int8, parts: Int8
    ) -> tuple[Int64, Array]:
        rows = alike(numbers, times, offsets, tokens, sides, parts)
        result: Any = kernels.take(self._sets, self._index, *self._rule.for_kernels, self._spec, self._counts(), *rows)
        (self._sets, self._index), cuts, answers = result
        self._rule.own.check(lambda: window.sizes(self._sets, offsets))
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
    """Counts shared tokens by scanning the lists of all tokens of a set: a simple baseline.

    Every token of every set is indexed, and every list of a set's tokens is read to its end. Use it to check another
    matcher, or if each token is in few sets.

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
    A set costs all entries of the lists of its tokens: most of the window if tokens are frequent. It retains the sets
    of the window; the index has one entry for each of their tokens.

    References
    ----------
    Li, Lu and Lu, Efficient merging and filtering algorithms for approximate string searches, ICDE 2008 (ScanCount).

    Examples
    --------
    >>> import skyband
    >>> matcher = skyband.create("set-matcher", "scan-count", threshold=0.5, window=10)
    >>> cuts, earlier, similarity = matcher.update(times=[0, 1, 2], offsets=[0, 2, 4, 7], tokens=[1, 2, 1, 3, 1, 2, 3])
    >>> cuts.tolist(), earlier.tolist(), similarity.round(3).tolist()
    ([0, 0, 0, 2], [0, 1], [0.667, 0.667])
    """

    name: ClassVar[str] = "scan-count"

    def _counts(self) -> bool:
        return True


@define(eq=False)
class Inverted(FullIndex):
    """Indexes every token of every set, and looks for matches in the shortest lists of a set.

    As in `prefix`, some of a set's tokens are enough to find every match. Here these are the tokens that are in the
    fewest sets now, so no order of tokens has to be learnt.

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
    A set costs the entries of its |s| − least + 1 shortest lists, `least` being the fewest tokens that it shares with
    any match. It retains the sets of the window; the index has one entry for each of their tokens.

    References
    ----------
    Bayardo, Ma and Srikant, Scaling up all pairs similarity search (AllPairs), WWW 2007; tokens are ordered by the
    length of their lists. The lists are those of SWOOP: Top-k Similarity Joins over Set Streams, arXiv 1711.02476,
    section 5.1.

    Examples
    --------
    >>> import skyband
    >>> matcher = skyband.create("set-matcher", "inverted", threshold=0.5, window=10)
    >>> cuts, earlier, similarity = matcher.update(times=[0, 1, 2], offsets=[0, 2, 4, 7], tokens=[1, 2, 1, 3, 1, 2, 3])
    >>> cuts.tolist(), earlier.tolist(), similarity.round(3).tolist()
    ([0, 0, 0, 2], [0, 1], [0.667, 0.667])
    """

    name: ClassVar[str] = "inverted"

    def _counts(self) -> bool:
        return False
