"""projections: compares vectors that agree in the signs of some random projections, and may miss matches."""

import math
import warnings
from functools import lru_cache
from typing import ClassVar

import numpy as np
from attrs import define, field
from skyband.arrays import Array, Int8, Int64, read_only
from skyband.config.parameters import integer, number
from skyband_setjoin.matching.bands import Bands, bands_for, no_bands
from skyband_setjoin.set_matcher import FIRST

from skyband_vectors.matching import band_kernels
from skyband_vectors.matching.cosine_candidates import CosineCandidates
from skyband_vectors.matching.definition_kernels import squares_of
from skyband_vectors.matching.window_matcher import directions_of
from skyband_vectors.role import Float32

MOST_PLANES = 2048
"""Products of a vector: more of them leave fewer candidates, which pays in windows of 100,000 vectors."""
_FEWEST = 64
_PAIRS, _VAIN = 2**20, 0.02
"""Pairs of the window after which to warn, and the share of them compared in vain from which it does."""


@define(eq=False)
class Projections(CosineCandidates):
    """Compares only vectors that agree in the signs of some random projections: for large windows.

    Each vector has b groups (bands) of r signs. Two vectors are compared if all signs of one band agree. A pair as
    similar as the threshold is found with probability `recall` or more, over the choice of `seed`; more similar pairs
    with a higher probability, equal ones always. Candidates are decided by the definition, so no match is wrong, and
    a similarity is the same number as by the other matchers. For cosine with a threshold of at least 0 only.

    Where all vectors point one way, as those of some models do, most pairs agree in some band, and this is slower than
    `exact`. It counts the pairs that it compares, and warns.

    Parameters
    ----------
    by : str, default "time"
        whether windows are times or row counts (one of time, rows)
    dimensions : int
        the number of entries of each vector, such as 384 (at least 1 and at most 4096)
    window : int
        length of the window, in the unit of the times or in rows (at least 1)
    threshold : float, default None
        how similar two vectors must be to match; none: the most similar ones, however far they are (a finite number,
        or none with a number of matches)
    similarity : str, default "cosine"
        "cosine", "dot": the inner product; or "euclidean": the distance, negated, so that nearer is larger (one of
        cosine, dot, euclidean)
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
        seed of the projections (at least 0)

    Complexity
    ----------
    A vector costs b · r products, at most 2,048 unless the threshold is very low, and `dimensions` for each vector
    that agrees in a band. It retains the vectors of the window, with 16 b bytes each at most, and the projections.

    References
    ----------
    Charikar, Similarity estimation techniques from rounding algorithms, STOC 2002. Indyk and Motwani, Approximate
    nearest neighbors, STOC 1998 (bands).

    Examples
    --------
    >>> import skyband
    >>> matcher = skyband.create("vector-matcher", "projections", dimensions=2, window=10, threshold=0.9)
    >>> cuts, earlier, similarity = matcher.update(times=[0, 1, 2], vectors=[[1.0, 0.0], [0.0, 1.0], [3.0, 0.0]])
    >>> cuts.tolist(), earlier.tolist(), similarity.tolist()
    ([0, 0, 0, 1], [0], [1.0])
    """

    name: ClassVar[str] = "projections"

    recall: float = number(
        0.95, above=0, below=1, kw_only=True,
        help="least probability of finding a pair as similar as the threshold",
    )  # fmt: skip
    seed: int = integer(0, at_least=0, kw_only=True, help="seed of the projections")

    _bands: Bands = field(init=False)
    _stamps: Int64 = field(init=False)
    _slot: int = field(default=0, init=False)
    """The vectors kept so far, since the start or a restore."""
    _pairs: int = field(default=0, init=False)
    _vain: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._bands = no_bands(self._shape[0], _FEWEST)
        self._stamps = np.full(_FEWEST, -1)

    @property
    def _shape(self) -> tuple[int, int]:
        """The number of bands, and of signs of each."""
        agreement = 1.0 - math.acos(min(1.0, self.threshold or 0.0)) / math.pi
        return bands_for(agreement, self.recall, MOST_PLANES)

    def _tags(self, vectors: Float32, squares: Array) -> Array:
        bands, signs = self._shape
        planes, directions = _planes(bands * signs, self.dimensions, self.seed)
        own = directions_of(vectors, np.sqrt(squares)).astype(np.float32)
        return band_kernels.tags_of(own @ directions.T, self._product_margin(), planes, vectors, bands)

    def _batch(
        self, number: int, times: Int64, vectors: Float32, sides: Int8, parts: Int8
    ) -> tuple[Int64, Array]:  # fmt: skip
        store, count = self._store, len(times)
        horizons = self._horizons(times)
        store.drop_before(int(horizons[0]))
        self._fit(count)
        new, _ = self._encoded(number, vectors, sides)
        _, old = store.tile(0, len(store))
        tags = self._tags(new.entries, new.squares)
        cuts, matches, stay, looks = band_kernels.take(
            self._bands, self._stamps, tags, self._slot, new, old, read_only(times), read_only(store.column("times")),
            horizons, parts, self.sides == 2, self.keep == FIRST, self.threshold, self._product_margin(),
            self._most(count),
        )  # fmt: skip
        self._warn_of_a_cone(count * len(store), looks - int(cuts[-1]))
        if len(stay) < count:
            new, times = new.part(stay), times[stay]
        store.add(new, times, np.empty((len(times), 0), np.float32))
        self._slot += len(times)
        return cuts, matches

    def _fit(self, further: int) -> None:
        """Make room in the bands for the vectors held and some more."""
        size, room = len(self._store), len(self._stamps)
        needed = max(_FEWEST, 1 << (size + further - 1).bit_length())
        if needed > room or 8 * needed <= room:
            self._bands = band_kernels.refit(self._bands, needed, self._slot - size, self._slot)
            self._stamps = np.full(needed, -1)

    def _warn_of_a_cone(self, pairs: int, vain: int) -> None:
        if self._pairs < _PAIRS <= self._pairs + pairs and self._vain + vain > _VAIN * (self._pairs + pairs):
            share = (self._vain + vain) / (self._pairs + pairs)
            warnings.warn(
                f"vector-matcher/projections compares {share:.0%} of all pairs in vain: most vectors point one way, or "
                "the threshold is low; vector-matcher/exact is faster here",
                stacklevel=2,
            )
        self._pairs, self._vain = self._pairs + pairs, self._vain + vain

    def _restored(self) -> None:
        self._fit(0)
        entries, squares = (read_only(self._store.column(name)) for name in ("entries", "squares"))
        band_kernels.link_all(self._bands, self._slot, self._tags(entries, squares))
        self._slot += len(self._store)

    @property
    def nbytes(self) -> int:
        """Bytes of the window's vectors, the bands and the projections, slack included."""
        planes, directions = _planes(self._shape[0] * self._shape[1], self.dimensions, self.seed)
        return super().nbytes + sum(array.nbytes for array in (*self._bands, self._stamps, planes, directions))


@lru_cache(maxsize=16)
def _planes(count: int, dimensions: int, seed: int) -> tuple[Float32, Float32]:
    """Normals of planes, float32[count, dimensions], and the same with length 1; shared by all matchers like this."""
    planes = np.random.default_rng(seed).standard_normal((count, dimensions)).astype(np.float32)
    directions = directions_of(planes, np.sqrt(squares_of(read_only(planes)))).astype(np.float32)
    return read_only(planes), directions
