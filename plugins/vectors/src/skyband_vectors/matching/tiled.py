"""The base of matchers that multiply tiles of the window: batches, expiry, matches and snapshots."""

from abc import abstractmethod
from collections.abc import Mapping

import numpy as np
from attrs import define, field, setters
from skyband.arrays import TIME_MIN, Array, Float64, Int8, Int64, read_only
from skyband.roles.sharding import BUILD, PROBE
from skyband.state_validation import StateReader
from skyband_setjoin.set_matcher import ALL, FIRST, Matches

from skyband_vectors.matching.definition_kernels import COSINE_KIND, DOT_KIND, EUCLIDEAN_KIND, squares_of
from skyband_vectors.matching.scan_kernels import HIT, Vectors, arrange_hits, scan
from skyband_vectors.matching.store import VectorStore
from skyband_vectors.role import COSINE, DOT, EUCLIDEAN, Float32, VectorMatcher, checked_vectors

KINDS = {COSINE: COSINE_KIND, DOT: DOT_KIND, EUCLIDEAN: EUCLIDEAN_KIND}

_ROWS = 256
"""Arrivals of a product."""
_TILE = 2**17
"""Products at once, which stay in the cache of a core."""
_MOST_BARS = 2**21
"""Similarities at once, of the best matches of each arrival."""
_HITS = 256
"""Matches of a batch that there is room for at first."""
_UNIT = 2.0**-24
"""The relative error of rounding to float32."""


def margin_of(columns: int) -> float:
    """How far a float32 product of two rows of `columns` features may be from the cosine, for up to 4,097 of them.

    The rows are vectors of length 1, rounded. Any order of the sum errs by at most `columns` units, and rounding the
    rows by two each; the rest is for higher terms, numbers too small for float32 and the definition's own error.
    Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.1.
    """
    return 1.01 * (columns + 6) * _UNIT + 1e-11


def directions_of(vectors: Float32, lengths: Float64) -> Float64:
    """float64[n, d]: the vectors divided by their lengths; zeros stay zeros."""
    return vectors / np.where(lengths > 0, lengths, 1.0)[:, np.newaxis]


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
class TiledMatcher(VectorMatcher):
    """Multiplies features of arrivals with those of the window, and decides by the definition what may match."""

    _store: VectorStore = field(init=False, on_setattr=setters.NO_OP)
    _buffer: Float32 = field(init=False)
    """The products of a tile."""

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._store = VectorStore(self.dimensions, self._feature_count())
        self._buffer = np.empty(0, np.float32)

    @abstractmethod
    def _feature_count(self) -> int:
        """The number of features of a vector."""

    @abstractmethod
    def _features(self, vectors: Float32, lengths: Float64) -> Float32:
        """float32[n, features], such that a product of two rows is at least the cosine less `margin_of(features)`."""

    def _margin(self, features: int) -> float:
        """How far a product of this number of features may be below the cosine."""
        return margin_of(features)

    def _learn(self, arrivals: int) -> None:
        """Called after a batch with this number of arrivals, when its vectors are held: features may change."""

    def _update(self, times: Int64, vectors: Float32, sides: Int8, parts: Int8) -> Matches:
        rows = min(_ROWS, max(1, _MOST_BARS // max(1, self._most(len(times)))))
        cuts, earlier, similarity = [np.zeros(1, np.int64)], list[Int64](), list[Float64]()
        for start in range(0, len(times), rows):
            some = slice(start, start + rows)
            own_cuts, matches = self._batch(self._seen + start, times[some], vectors[some], sides[some], parts[some])
            cuts.append(own_cuts[1:] + cuts[-1][-1])
            earlier.append(matches["earlier"][: own_cuts[-1]])
            similarity.append(matches["similarity"][: own_cuts[-1]])
        self._store.drop_before(self._horizon(self._reached(times)))
        return np.concatenate(cuts), np.concatenate(earlier), np.concatenate(similarity)

    def _most(self, arrivals: int) -> int:
        """How many matches of a row may be reported; 0: all."""
        return 0 if self.matches == ALL else min(int(self.matches), len(self._store) + arrivals)

    def _batch(
        self, number: int, times: Int64, vectors: Float32, sides: Int8, parts: Int8
    ) -> tuple[Int64, Array]:  # fmt: skip
        """Take in a few rows, the first with this number; returns cuts int64[n + 1] and MATCH[at least cuts[-1]]."""
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
            new, times, features = Vectors(*(values[stays] for values in new)), times[stays], features[stays]
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
        progress.hits, progress.used = scan(
            products, np.maximum(begins, 0), ends, stays, drops, kind, two, self._margin(features.shape[1]), new, old,
            progress.bars, progress.best, progress.sizes, progress.counts, progress.hits, progress.used,
        )  # fmt: skip

    def _encoded(self, number: int, vectors: Float32, sides: Int8) -> tuple[Vectors, Float32]:
        """Rows for a scan, the first with this number, and their features."""
        squares = squares_of(read_only(vectors))
        lengths = np.sqrt(squares)
        numbers = np.arange(number, number + len(vectors))
        columns = (vectors, squares, lengths, sides, numbers)
        return Vectors(*map(read_only, columns)), self._features(vectors, lengths)

    def _horizon(self, now: int) -> int:
        """The time of the oldest vectors that are valid at `now`."""
        return max(now - self.window, TIME_MIN)

    def _horizons(self, times: Int64) -> Int64:
        """The time of the oldest vectors that each arrival is compared with."""
        moments = times + (self.by == "rows")
        window = min(self.window, 2**63 - 1)
        return np.where(moments < TIME_MIN + window, TIME_MIN, moments - window)

    def _advance(self, now: int) -> None:
        self._store.drop_before(self._horizon(now))

    def __len__(self) -> int:
        """The number of vectors held, which can still be matched."""
        return len(self._store)

    @property
    def nbytes(self) -> int:
        """Bytes of the vectors held and their features, slack included."""
        return self._store.nbytes + self._buffer.nbytes

    def _state(self) -> dict[str, Array]:
        """The vectors held, oldest first: all else follows from them."""
        return {
            "now": np.array([] if self._now is None else [self._now], np.int64),
            "seen": np.array([self._seen], np.int64),
            **{name: self._store.column(name).copy() for name in ("times", "numbers", "sides")},
            "vectors": self._store.column("entries").flatten(),
        }

    def _load(self, state: Mapping[str, Array]) -> None:
        reader = StateReader(state)
        self._now = reader.optional("now")
        self._seen = reader.number("seen", at_least=0, at_most=2**62)
        by_rows = self.by == "rows"
        latest = -(2**63) - 1 if self._now is None else self._now - by_rows
        oldest = TIME_MIN if self._now is None else self._horizon(self._now)
        times = reader.ascending("times", strictly=by_rows, at_least=oldest, at_most=latest)
        count = len(times)
        numbers = reader.ascending("numbers", count, strictly=True, at_least=0, at_most=self._seen - 1)
        sides = reader.column("sides", np.int8, count, at_least=0, at_most=self.sides - 1)
        entries = reader.column("vectors", np.float32, count * self.dimensions).reshape(count, self.dimensions)
        vectors = checked_vectors(entries, count, self.dimensions, self.similarity == COSINE)
        if count:
            new, features = self._encoded(0, vectors, sides)
            self._store.add(new._replace(numbers=numbers), times, features)
            self._learn(count)
