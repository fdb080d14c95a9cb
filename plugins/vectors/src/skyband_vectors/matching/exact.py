"""exact: multiplies a few directions that hold most of the vectors, and bounds the rest."""

from typing import ClassVar

import numpy as np
from attrs import define, field
from skyband.arrays import Float64

from skyband_vectors.matching.prefix import Prefix, best_prefix, prefix_features
from skyband_vectors.matching.tiled import TiledMatcher
from skyband_vectors.matching.window_matcher import KINDS, directions_of
from skyband_vectors.role import Float32

_FIRST_LEARNT = 256
"""Vectors held when directions are first learnt."""


@define(eq=False)
class Exact(TiledMatcher):
    """Multiplies p directions of each vector with those of the window, and looks again at pairs that may match.

    The directions are learnt from the window: those in which its vectors are longest. What the remaining dimensions
    can add to a cosine is bounded by one more column, the length of what is left of each vector (Cauchy-Schwarz). p
    is chosen by counting on the window's own vectors, and learnt again as the window moves; where nothing is gained,
    all dimensions are multiplied, as by `flat`. Answers depend on none of this: pairs that may match are decided by
    the definition.

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

    Complexity
    ----------
    A vector costs the window's vectors times p + 1, at the speed of a matrix product, and `dimensions` for each pair
    that may match. It retains the vectors of the window, with p + 1 numbers each.

    References
    ----------
    Anastasiu and Karypis, L2AP: fast cosine similarity search with prefix L-2 norm bounds, ICDE 2014; Li, Chan, Yiu
    and Mamoulis, FEXIPRO: fast and exact inner product retrieval, SIGMOD 2017 (prefixes in learnt directions).

    Examples
    --------
    >>> import skyband
    >>> matcher = skyband.create("vector-matcher", "exact", dimensions=2, window=10, threshold=0.9)
    >>> cuts, earlier, similarity = matcher.update(times=[0, 1, 2], vectors=[[1.0, 0.0], [0.0, 1.0], [3.0, 1.0]])
    >>> cuts.tolist(), earlier.tolist(), similarity.round(3).tolist()
    ([0, 0, 0, 1], [0], [0.949])
    """

    name: ClassVar[str] = "exact"

    _prefix: Prefix | None = field(default=None, init=False)
    """The directions multiplied, float64[p, dimensions]; None: all dimensions."""
    _wait: int = field(default=_FIRST_LEARNT, init=False)
    """Arrivals until directions are learnt again."""

    def _feature_count(self) -> int:
        return self.dimensions

    def _features(self, vectors: Float32, lengths: Float64) -> Float32:
        directions = directions_of(vectors, lengths)
        return directions.astype(np.float32) if self._prefix is None else prefix_features(self._prefix, directions)

    def _learn(self, arrivals: int) -> None:
        self._wait -= arrivals
        if self._wait > 0 or len(self._store) < _FIRST_LEARNT:
            return
        self._wait = 2 * len(self._store)
        vectors, lengths = self._store.column("entries"), self._store.column("lengths")
        prefix = best_prefix(vectors, lengths, KINDS[self.similarity], self.threshold, self._most(0))
        if prefix is None and self._prefix is None:
            return
        self._prefix = prefix
        self._store.replace_features(self._features(vectors, lengths))
