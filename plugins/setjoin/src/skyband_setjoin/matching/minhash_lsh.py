"""The matcher for long sets that may miss a match: minhashes in bands."""

import math
from typing import Any, ClassVar

import numpy as np
from attrs import define, field
from skyband.arrays import Array, Int8, Int64
from skyband.config.parameters import integer, number
from skyband.errors import ConfigError, Problem
from skyband.kernels.cache import drop_stale

from skyband_setjoin import sets as window
from skyband_setjoin.matching import bags, bounds
from skyband_setjoin.matching import minhash_kernels as kernels
from skyband_setjoin.matching.bounds import NEVER
from skyband_setjoin.matching.minhash_kernels import Bands, Hashes
from skyband_setjoin.matching.window_matcher import WindowMatcher
from skyband_setjoin.ranker import alike

drop_stale(bags, bounds, kernels)

MOST_HASHES = 64


@define(eq=False)
class MinHashLsh(WindowMatcher):
    """Compares a set with those that have all minhashes of a band in common with it: for sets of a hundred tokens.

    Each pair as similar as the threshold is told with probability `recall` or more, over seeds, and more similar ones
    with more; equal sets always. What is told is verified, so none is wrong. Jaccard similarity only.

    Parameters: threshold, window, matches, keep, sides, by, as for every set matcher; recall, the probability above;
    seed, of the hash functions.
    Complexity: b · r hashes a token, at most 64 unless the threshold is very low, then the sets of b buckets, whatever
    the sets' lengths. Short sets, and low thresholds over large windows, make for many in a bucket. Retained: the sets
    of the window; the index has an entry for each of b bands of a set.

    >>> matcher = MinHashLsh(threshold=0.5, window=10)
    >>> matcher.update([0, 1], [0, 3, 6], [1, 2, 3, 3, 2, 1])
    (array([0, 0, 1]), array([0]), array([1.]))

    Source: Broder 1997; Indyk and Motwani, STOC 1998.
    """

    name: ClassVar[str] = "minhash-lsh"

    recall: float = number(0.95, above=0, below=1, kw_only=True, help="probability with which a match is told")
    seed: int = integer(0, at_least=0, kw_only=True, help="of the hash functions")

    _hashes: Hashes = field(init=False)
    _bands: Bands = field(init=False)

    def __attrs_post_init__(self) -> None:
        if self.similarity != "jaccard":
            said = f"must be 'jaccard': minhashes tell no other one (got {self.similarity!r}); use prefix or inverted"
            raise ConfigError(Problem("similarity", said))
        super().__attrs_post_init__()

    def _clear(self) -> None:
        bands, rows = bands_for(self.threshold, self.recall)
        drawn = np.random.default_rng(self.seed).integers(0, 2**32, (2, bands * rows), dtype=np.uint32)
        self._hashes = Hashes(drawn[0] | np.uint32(1), drawn[1].copy())
        room = len(self._sets.records)
        self._bands = Bands(np.full((bands, room), NEVER, np.int64), np.zeros((room, bands), kernels.LINK))

    def _take(
        self, numbers: Int64, times: Int64, offsets: Int64, tokens: Int64, sides: Int8, parts: Int8
    ) -> tuple[Int64, Array]:
        rows = alike(numbers, times, offsets, tokens, sides, parts)
        taken: Any = kernels.take(self._sets, self._bands, self._hashes, self._rule, self._asked, *rows)
        (self._sets, self._bands), cuts, answers = taken
        return cuts, answers

    def _advance(self, now: int) -> None:
        window.expire(self._sets, self._horizon(now))
        self._sets = window.trim(self._sets)
        self._bands = kernels.fitted(self._bands, self._sets)

    @property
    def nbytes(self) -> int:
        """Bytes of the window's sets, the bands and the hash functions, slack included."""
        return super().nbytes + sum(array.nbytes for array in (*self._bands, *self._hashes))


def bands_for(threshold: float, recall: float) -> tuple[int, int]:
    """(bands, rows of each): as many rows as a budget of hashes allows, as those keep candidates few.

    So many bands that 1 − (1 − t^r)^b >= recall; one row each where the threshold is too low for the budget.
    """
    best = (_bands(threshold, recall, 1), 1)
    for rows in range(2, MOST_HASHES + 1):
        bands = _bands(threshold, recall, rows)
        if bands * rows <= MOST_HASHES:
            best = (bands, rows)
    return best


def _bands(threshold: float, recall: float, rows: int) -> int:
    alike_in_one = threshold**rows
    if alike_in_one >= 1.0:
        return 1
    return math.ceil(math.log1p(-recall) / math.log1p(-alike_in_one))
