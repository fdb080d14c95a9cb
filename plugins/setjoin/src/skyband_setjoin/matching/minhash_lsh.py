"""The matcher for long sets by MinHash bands, which may miss matches."""

from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from attrs import define, field
from skyband.arrays import Array, Int8, Int64
from skyband.config.parameters import integer, number
from skyband.errors import ConfigError, Problem

from skyband_setjoin import sets as window
from skyband_setjoin.matching import minhash_kernels as kernels
from skyband_setjoin.matching.bands import Bands, bands_for, no_bands
from skyband_setjoin.matching.minhash_kernels import Hashes
from skyband_setjoin.matching.window_matcher import WindowMatcher
from skyband_setjoin.ranker import alike

MOST_HASHES = 64


@define(eq=False)
class MinHashLsh(WindowMatcher):
    """Compares only sets that agree in a group of minhashes: for sets of a hundred tokens or more.

    Each set has b groups (bands) of r minhashes. Two sets are compared if all minhashes of one band agree. A pair as
    similar as the threshold is found with probability `recall` or more, over the choice of `seed`. More similar pairs
    are found with a higher probability, equal sets always. Candidates are compared exactly, so no match is wrong. For
    Jaccard similarity only.

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
    recall : float, default 0.95
        least probability of finding a pair as similar as the threshold (above 0 and below 1)
    seed : int, default 0
        seed of the hashes (at least 0)

    Complexity
    ----------
    A set costs b · r hashes for each token, at most 64 unless the threshold is very low, and the sets of its b buckets.
    Short sets, and low thresholds over large windows, fill the buckets. It retains the sets of the window; the index
    has b entries for each.

    References
    ----------
    Broder, On the resemblance and containment of documents, SEQUENCES 1997. Indyk and Motwani, Approximate nearest
    neighbors, STOC 1998.

    Examples
    --------
    >>> import skyband
    >>> matcher = skyband.create("set-matcher", "minhash-lsh", threshold=0.5, window=10)
    >>> cuts, earlier, similarity = matcher.update(times=[0, 1, 2], offsets=[0, 2, 4, 7], tokens=[1, 2, 1, 3, 1, 2, 3])
    >>> cuts.tolist(), earlier.tolist(), similarity.round(3).tolist()
    ([0, 0, 0, 2], [0, 1], [0.667, 0.667])
    """

    name: ClassVar[str] = "minhash-lsh"

    recall: float = number(
        0.95, above=0, below=1, kw_only=True,
        help="least probability of finding a pair as similar as the threshold",
    )  # fmt: skip
    seed: int = integer(0, at_least=0, kw_only=True, help="seed of the hashes")

    _hashes: Hashes = field(init=False)
    _bands: Bands = field(init=False)

    def __attrs_post_init__(self) -> None:
        if self.similarity != "jaccard":
            message = f"must be 'jaccard': minhashes support no other (got {self.similarity!r}); use prefix or inverted"
            raise ConfigError(Problem("similarity", message))
        super().__attrs_post_init__()

    def _clear(self) -> None:
        bands, rows = bands_for(self.threshold, self.recall, MOST_HASHES)
        self._hashes = _hashes(bands * rows, self.seed)
        self._bands = no_bands(bands, len(self._sets.records))

    def _take(
        self, numbers: Int64, times: Int64, offsets: Int64, tokens: Int64, sides: Int8, parts: Int8
    ) -> tuple[Int64, Array]:
        rows = alike(numbers, times, offsets, tokens, sides, parts)
        result: Any = kernels.take(self._sets, self._bands, self._hashes, *self._rule.for_kernels, self._spec, *rows)
        (self._sets, self._bands), cuts, answers = result
        return cuts, answers

    def _advance(self, now: int) -> None:
        window.expire(self._sets, self._horizon(now))
        self._sets = window.trim(self._sets)
        self._bands = kernels.fitted(self._bands, self._sets)

    @property
    def nbytes(self) -> int:
        """Bytes of the window's sets, the bands and the hash functions, slack included."""
        return super().nbytes + sum(array.nbytes for array in (*self._bands, *self._hashes))


@lru_cache(maxsize=64)
def _hashes(count: int, seed: int) -> Hashes:
    """Hash functions, shared by all matchers with this number and seed."""
    coefficients = np.random.default_rng(seed).integers(0, 2**32, (2, count), dtype=np.uint32)
    return Hashes(coefficients[0] | np.uint32(1), coefficients[1].copy())
