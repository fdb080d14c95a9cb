"""The base of matchers that multiply tiles of the window."""

from abc import abstractmethod

import numpy as np
from attrs import define, field
from skyband.arrays import Array, Float64, Int8, Int64
from skyband.roles.sharding import BUILD, PROBE
from skyband_setjoin.set_matcher import FIRST

from skyband_vectors.matching.scan_kernels import HIT, Vectors, arrange_hits, scan
from skyband_vectors.matching.window_matcher import KINDS, ROWS_AT_ONCE, WindowMatcher, margin_of
from skyband_vectors.role import Float32

_TILE = 2**17
"""Products at once, which stay in the cache of a core."""
_MOST_BARS = 2**21
"""Similarities at once, of the best matches of each arrival."""
_HITS = 256
"""Matches of a batch that there is room for at first."""


@define(eq=False)
class _Progress:
    """What is found so far for the arrivals of a batch: the arguments of `scan` that it changes."""

    bars: Float64
    best: Float64
    sizes: Int64
    counts: Int64
    hits: Array
    used: int = 0


@define(eq=False)
class TiledMatcher(WindowMatcher):
    """Multiplies features of arrivals with those of the window, and decides by the definition what may match."""

    _buffer: Float32 = field(factory=lambda: np.empty(0, np.float32), init=False)
    """The products of a tile."""

    @abstractmethod
    def _features(self, vectors: Float32, lengths: Float64) -> Float32:
        """float32[n, features], such that a product of two rows is at least the cosine less `margin_of(features)`."""

    def _margin(self, features: int) -> float:
        """How far a product of this number of features may be below the cosine."""
        return margin_of(features)

    def _learn(self, arrivals: int) -> None:
        """Called after a batch with this number of arrivals, when its vectors are held: features may change."""

    def _restored(self) -> None:
        self._learn(len(self._store))

    def _at_once(self, arrivals: int) -> int:
        return min(ROWS_AT_ONCE, max(1, _MOST_BARS // max(1, self._most(arrivals))))

    def _batch(
        self, number: int, times: Int64, vectors: Float32, sides: Int8, parts: Int8
    ) -> tuple[Int64, Array]:  # fmt: skip
        count, store = len(times), self._store
        horizons = self._horizons(times)
        store.drop_before(int(horizons[0]))
        new, features = self._encoded(number, vectors, sides)
        threshold = -np.inf if self.threshold is None else self.threshold
        most = self._most(count)
        none, hits = np.zeros(count, np.int64), np.empty(_HITS, HIT)
        progress = _Progress(np.full(count, threshold), np.empty((count, most)), none, none.copy(), hits)
        probes = parts & PROBE != 0
        begins = np.searchsorted(store.column("times"), horizons)
        width = max(512, _TILE // count)
        for start in range(0, len(store), width):
            stop = min(start + width, len(store))
            old_features, old = store.tile(start, stop)
            ends = np.where(probes, stop - start, 0)
            stays = np.ones(stop - start, bool)
            self._scan(features, old_features, begins - start, ends, stays, new, old, progress)
        stays = parts & BUILD != 0
        begins, ends = np.searchsorted(times, horizons), np.where(probes, np.arange(count), 0)
        self._scan(features, features, begins, ends, stays, new, new, progress)
        if not stays.all():
            new, times, features = new.part(stays), times[stays], features[stays]
        store.add(new, times, features)
        self._learn(count)
        cuts, matches = arrange_hits(progress.hits, progress.used, progress.counts, most)
        return cuts, matches

    def _scan(
        self, features: Float32, others: Float32, begins: Int64, ends: Int64, stays: Array, new: Vectors, old: Vectors,
        progress: _Progress,
    ) -> None:  # fmt: skip
        """Scan the vectors begins[i]..ends[i] of a tile; a negative begin is its first one."""
        shape = len(features), len(others)
        if len(self._buffer) < shape[0] * shape[1]:
            self._buffer = np.empty(shape[0] * shape[1], np.float32)
        products = np.dot(features, others.T, out=self._buffer[: shape[0] * shape[1]].reshape(shape))
        kind, two = KINDS[self.similarity], self.sides == 2
        drops = self.keep == FIRST and new is old
        columns = features.shape[1]
        whole = self._product_margin() if columns < self.dimensions else 0.0
        progress.hits, progress.used = scan(
            products, np.maximum(begins, 0), ends, stays, drops, kind, two, self._margin(columns), whole, new, old,
            progress.bars, progress.best, progress.sizes, progress.counts, progress.hits, progress.used,
        )  # fmt: skip

    @property
    def nbytes(self) -> int:
        """Bytes of the vectors held and their features, slack included."""
        return super().nbytes + self._buffer.nbytes
