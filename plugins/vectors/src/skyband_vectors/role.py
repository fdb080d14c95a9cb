"""VectorMatcher: finds, for each arriving vector, the near ones before it in the window."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import define
from skyband.arrays import Int8, Int64, among, column
from skyband.config.literals import literal
from skyband.config.parameters import checked, choice, integer
from skyband.errors import ConfigError, InputError, Problem
from skyband.roles.clock import check_times_together, checked_spans, first_of
from skyband.roles.sharding import BOTH, BUILD, PROBE
from skyband.roles.thread_guard import inside_all
from skyband_setjoin.set_matcher import ALL, FIRST, Matches, RowMatcher, keep_parameter, matches_parameter

NEITHER = 0
"""A value of `parts`: a row that counts, and is neither compared nor kept."""
COSINE, DOT, EUCLIDEAN = "cosine", "dot", "euclidean"
MOST_DIMENSIONS = 4096

Float32 = npt.NDArray[np.float32]
Arrivals: TypeAlias = tuple[Int64, Float32, Int8, Int8]
"""Times, vectors, sides and parts of rows."""


def _check_threshold(value: Any) -> str | None:
    if value is None or (not isinstance(value, bool) and isinstance(value, Real) and math.isfinite(value)):
        return None
    return f"must be a finite number (got {literal(value)})"


def threshold_parameter() -> Any:
    """The field `threshold`, for matchers and for queries that pass it on."""
    return checked(
        None,
        type="float",
        check=_check_threshold,
        bounds="a finite number, or none with a number of matches",
        help="how similar two vectors must be to match; none: the most similar ones, however far they are",
        converter=lambda value: float(value) if isinstance(value, int) and not isinstance(value, bool) else value,
    )


def similarity_parameter() -> Any:
    """The field `similarity`, for matchers and for queries that pass it on."""
    return choice(
        COSINE, DOT, EUCLIDEAN, default=COSINE,
        help='"cosine", "dot": the inner product; or "euclidean": the distance, negated, so that nearer is larger',
    )  # fmt: skip


def dimensions_parameter() -> Any:
    """The field `dimensions`, for matchers and for queries that pass it on."""
    return integer(at_least=1, at_most=MOST_DIMENSIONS, help="the number of entries of each vector, such as 384")


def threshold_problem(similarity: str, threshold: float | None, matches: str | int) -> Problem | None:
    """The problem with this threshold for this similarity, or None."""
    if threshold is None:
        message = 'is required with matches = "all", which reports every pair: add threshold = 0.9, or matches = 10'
        return Problem("threshold", message) if matches == ALL else None
    if similarity == COSINE and not -1 <= threshold <= 1:
        message = "must be from -1 to 1, for similarity = 'cosine', such as 0.9"
    elif similarity == EUCLIDEAN and threshold > 0:
        message = "must be at most 0, for similarity = 'euclidean': a distance, which is reported negated"
    else:
        return None
    return Problem("threshold", f"{message} (got {literal(threshold)})")


@define(eq=False)
class VectorMatcher(RowMatcher):
    """Finds for each arriving vector the earlier ones in the window that are at least `threshold` similar to it.

    Vectors are numbered from 0 in order of arrival; `seen` is the next one's number. They have float32 entries, and
    similarity is computed from their inner products. x · y is a float64 sum in a fixed order: lane l of eight adds
    x[i]·y[i] for i = l, l + 8, … below 8·(d div 8); then ((0+4)+(2+6))+((1+5)+(3+7)); then the remaining products one
    by one. So it is the same number on every machine, whatever the batches.

    - cosine: x · y / sqrt((x · x)(y · y)), at most 1. A vector of zeros has none, and is refused.
    - dot: x · y.
    - euclidean: -sqrt((x · x + y · y) - 2 x · y), the distance negated; at most 0.

    With `keep="first"` a vector that matches is dropped, and later vectors are compared with the kept ones only. So no
    two kept vectors within a window match, and every dropped one has matched a kept one.

    Several matchers can share the work on one stream. Each gets all vectors, so that a vector has the same number in
    all of them. `parts` says what a matcher does with each: PROBE compares it with earlier vectors, BUILD keeps it for
    later ones. Two vectors are compared if the earlier one is BUILD and the later one PROBE.
    """

    role: ClassVar[str] = "vector-matcher"
    exact_up_to: ClassVar[int] = 64
    """If exact, groups of at most this many vectors (at most 64) are matched together, without a backend. 0: none."""

    dimensions: int = dimensions_parameter()
    window: int = integer(at_least=1, help="length of the window, in the unit of the times or in rows")
    threshold: float | None = threshold_parameter()
    similarity: str = similarity_parameter()
    matches: str | int = matches_parameter()
    keep: str = keep_parameter()
    sides: int = integer(1, at_least=1, at_most=2, help="1: matches within one stream; 2: across two only")

    def __attrs_post_init__(self) -> None:
        problem = threshold_problem(self.similarity, self.threshold, self.matches)
        if problem is not None:
            raise ConfigError(problem)
        if self.keep == FIRST and self.threshold is None:
            raise ConfigError(Problem("keep", '"first" needs a threshold, such as 0.9: every row would match'))
        if self.keep == FIRST and self.sides == 2:
            raise ConfigError(Problem("keep", '"first" is for one stream: it is not defined for two'))

    def update(
        self,
        times: npt.ArrayLike,
        vectors: npt.ArrayLike,
        sides: npt.ArrayLike | None = None,
        parts: npt.ArrayLike | None = None,
    ) -> Matches:
        """Take in n vectors (float32[n, dimensions]) at times (int64[n]); other numbers are rounded to float32.

        Returns (cuts int64[n + 1], earlier int64[r], similarity float64[r]): the i-th vector matches those with the
        numbers earlier[cuts[i]:cuts[i + 1]], with these similarities. With `matches="all"` they are ordered by number;
        with a number k they are the k most similar, by similarity descending, then number ascending.

        `sides` (int8[n], 0 or 1) is the stream of each vector if there are two; `parts` (int8[n]: 1 PROBE, 2 BUILD, 3
        BOTH, 0 neither) is BOTH by default. Moves `now` to the last time. Raises InputError and leaves the matcher
        unchanged on unequal lengths, entries that are not finite, a vector of zeros with cosine, times that go back, an
        unknown side or part, or PROBE or BUILD alone with `keep="first"`, which compares every vector that it keeps.
        """
        rows = self._columns(times, vectors, sides, parts)
        self._check_times(rows[0])
        if not len(rows[0]):
            return np.zeros(1, np.int64), np.empty(0, np.int64), np.empty(0)
        answer = self._update(*rows)
        self._pass(rows[0])
        return answer

    @classmethod
    def update_together(
        cls,
        matchers: Sequence[Self],
        times: npt.ArrayLike,
        vectors: npt.ArrayLike,
        sides: npt.ArrayLike | None = None,
        *,
        spans: npt.ArrayLike,
    ) -> Matches:
        """`update` of several matchers, each with its own vectors; returns one matcher's matches after the other's.

        matchers: at least one, all distinct, of this class and with equal parameters. spans: int64[g, 2], not
        overlapping: vectors spans[i, 0] up to spans[i, 1] belong to matcher i. Raises InputError as `update` does, and
        leaves all matchers unchanged.
        """
        columns = first_of(matchers)._columns(times, vectors, sides, None)
        bounds = checked_spans(matchers, spans, len(columns[0]))
        with inside_all(matchers):
            check_times_together(matchers, columns[0], bounds)
            answers: list[Matches] = [(np.zeros(1, np.int64), np.empty(0, np.int64), np.empty(0))]
            for matcher, (start, stop) in zip(matchers, bounds.tolist(), strict=True):
                if stop > start:
                    moments, entries, origin, does = columns
                    own = slice(start, stop)
                    answers.append(matcher._update(moments[own], entries[own], origin[own], does[own]))
                    matcher._pass(columns[0][start:stop])
        each, earlier, similarity = zip(*answers, strict=True)
        counts = np.concatenate([cuts[1:] - cuts[:-1] for cuts in each])
        return np.append(0, np.cumsum(counts)), np.concatenate(earlier), np.concatenate(similarity)

    # The vectors are not checked yet.
    def _columns(
        self,
        times: npt.ArrayLike,
        vectors: npt.ArrayLike,
        sides: npt.ArrayLike | None,
        parts: npt.ArrayLike | None,
    ) -> Arrivals:
        moments: Int64 = column("times", times, np.int64)
        entries = checked_vectors(vectors, len(moments), self.dimensions, self.similarity == COSINE)
        if sides is None and self.sides == 2 and len(moments):
            raise InputError("sides", "is needed: this matcher joins two streams")
        origin = _or_all("sides", sides, 0, self.sides - 1, len(moments))
        does = _or_all("parts", parts, BOTH, BOTH, len(moments))
        if parts is not None and self.keep == FIRST:
            alone = (does == PROBE) | (does == BUILD)
            if alone.any():
                message = 'must be 0 or 3 with keep = "first": those kept depend on every vector before'
                raise InputError("parts", message, int(alone.argmax()))
        return moments, entries, origin, does

    @abstractmethod
    def _update(self, times: Int64, vectors: Float32, sides: Int8, parts: Int8) -> Matches:
        """`update` with at least one vector."""


def checked_vectors(vectors: npt.ArrayLike, rows: int, dimensions: int, directed: bool) -> Float32:
    """The vectors as contiguous float32[rows, dimensions]; directed: none may be all zero. Raises InputError."""
    try:
        array = np.asarray(vectors)
    except ValueError as error:  # lists of different lengths
        raise InputError("vectors", f"must be two-dimensional: {error}") from error
    if not rows and not array.size:
        return np.empty((0, dimensions), np.float32)
    if array.shape != (rows, dimensions):
        raise InputError("vectors", f"must be of the shape {(rows, dimensions)} (got {array.shape})")
    if array.dtype.kind not in "iuf":
        raise InputError("vectors", f"must be float32 (got {array.dtype.name})")
    with np.errstate(over="ignore"):
        entries: Float32 = np.ascontiguousarray(array, np.float32)
    wrong = np.flatnonzero(~np.isfinite(entries).all(axis=1))
    if len(wrong):
        raise InputError("vectors", "must have finite entries, which fit float32: drop such rows", int(wrong[0]))
    wrong = np.flatnonzero(~entries.any(axis=1)) if directed else wrong
    if len(wrong):
        raise InputError("vectors", "must not be all zero: zeros have no cosine", int(wrong[0]))
    return entries


def _or_all(name: str, values: npt.ArrayLike | None, default: int, most: int, length: int) -> Int8:
    return np.full(length, default, np.int8) if values is None else among(name, values, most, length)
