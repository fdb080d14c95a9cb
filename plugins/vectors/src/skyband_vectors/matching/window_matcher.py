"""The base of matchers that hold the vectors of the window: batches, expiry, snapshots and rounding errors."""

from abc import abstractmethod
from collections.abc import Mapping

import numpy as np
from attrs import define, field, setters
from skyband.arrays import TIME_MIN, Array, Float64, Int8, Int64, read_only
from skyband.state_validation import StateReader
from skyband_setjoin.set_matcher import ALL, Matches

from skyband_vectors.matching.definition_kernels import COSINE_KIND, DOT_KIND, EUCLIDEAN_KIND, squares_of
from skyband_vectors.matching.scan_kernels import Vectors
from skyband_vectors.matching.store import VectorStore
from skyband_vectors.role import COSINE, DOT, EUCLIDEAN, Float32, VectorMatcher, checked_vectors

KINDS = {COSINE: COSINE_KIND, DOT: DOT_KIND, EUCLIDEAN: EUCLIDEAN_KIND}
_UNIT = 2.0**-24
"""The relative error of rounding to float32."""
ROWS_AT_ONCE = 256
"""Arrivals of a batch."""


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
class WindowMatcher(VectorMatcher):
    """Holds the vectors of the window in order of arrival."""

    _store: VectorStore = field(init=False, on_setattr=setters.NO_OP)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._store = VectorStore(self.dimensions, self._feature_count())

    def _feature_count(self) -> int:
        """The number of features of a vector, which are kept with it."""
        return 0

    def _features(self, vectors: Float32, lengths: Float64) -> Float32:  # noqa: ARG002 - by default there are none
        """float32[n, features]."""
        return np.empty((len(vectors), 0), np.float32)

    @abstractmethod
    def _batch(
        self, number: int, times: Int64, vectors: Float32, sides: Int8, parts: Int8
    ) -> tuple[Int64, Array]:  # fmt: skip
        """Take in a few rows, the first with this number; returns cuts int64[n + 1] and MATCH[at least cuts[-1]]."""

    def _restored(self) -> None:
        """Called when the vectors of a state are held."""

    def _update(self, times: Int64, vectors: Float32, sides: Int8, parts: Int8) -> Matches:
        rows = self._at_once(len(times))
        cuts, earlier, similarity = [np.zeros(1, np.int64)], list[Int64](), list[Float64]()
        for start in range(0, len(times), rows):
            some = slice(start, start + rows)
            own_cuts, matches = self._batch(self._seen + start, times[some], vectors[some], sides[some], parts[some])
            cuts.append(own_cuts[1:] + cuts[-1][-1])
            earlier.append(matches["earlier"][: own_cuts[-1]])
            similarity.append(matches["similarity"][: own_cuts[-1]])
        self._drop_before(self._horizon(self._reached(times)))
        return np.concatenate(cuts), np.concatenate(earlier), np.concatenate(similarity)

    def _at_once(self, arrivals: int) -> int:  # noqa: ARG002 - for others it depends on them
        """How many of a number of arrivals are a batch."""
        return ROWS_AT_ONCE

    def _most(self, arrivals: int) -> int:
        """How many matches of a row may be reported; 0: all."""
        return 0 if self.matches == ALL else min(int(self.matches), len(self._store) + arrivals)

    def _encoded(self, number: int, vectors: Float32, sides: Int8) -> tuple[Vectors, Float32]:
        """Rows for a scan, the first with this number, and their features."""
        squares = squares_of(read_only(vectors))
        lengths = np.sqrt(squares)
        numbers = np.arange(number, number + len(vectors))
        columns = (vectors, squares, lengths, sides, numbers)
        return Vectors(*map(read_only, columns)), self._features(vectors, lengths)

    def _product_margin(self) -> float:
        """How far a float32 product of all entries of vectors of length 1 may be from their cosine."""
        return margin_of(self.dimensions)

    def _horizon(self, now: int) -> int:
        """The time of the oldest vectors that are valid at `now`."""
        return max(now - self.window, TIME_MIN)

    def _horizons(self, times: Int64) -> Int64:
        """The time of the oldest vectors that each arrival is compared with."""
        moments = times + (self.by == "rows")
        window = min(self.window, 2**63 - 1)
        return np.where(moments < TIME_MIN + window, TIME_MIN, moments - window)

    def _advance(self, now: int) -> None:
        self._drop_before(self._horizon(now))

    def _drop_before(self, horizon: int) -> None:
        self._store.drop_before(horizon)

    def __len__(self) -> int:
        """The number of vectors held, which can still be matched."""
        return len(self._store)

    @property
    def nbytes(self) -> int:
        """Bytes of the vectors held and what is kept with them, slack included."""
        return self._store.nbytes

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
            self._restored()
