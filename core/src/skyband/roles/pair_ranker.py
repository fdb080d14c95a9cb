"""PairRanker: the k most similar pairs of sets."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from attrs import define, field

from skyband.arrays import Float64, Int8, Int64, among, column, never_back, offsets_of
from skyband.config.literals import literal
from skyband.config.parameters import checked, integer
from skyband.errors import ConfigError, InputError, Problem, suggest
from skyband.roles.clock import Clocked
from skyband.roles.sharding import BOTH
from skyband.roles.similarity import misbehaviour

SIMILARITIES = ("jaccard", "cosine", "dice", "overlap", "hamming", "containment")


def _check_similarity(value: Any) -> str | None:
    if callable(value) or value in SIMILARITIES:
        return None
    message = f"must be one of {', '.join(SIMILARITIES)}, or a function (got {literal(value)})"
    return f"{message}; {suggest(value, SIMILARITIES)}"


def similarity_parameter() -> Any:
    """The field `similarity`, for rankers and for queries that pass it on."""
    return checked(
        "jaccard",
        type="str | function",
        check=_check_similarity,
        bounds="one of " + ", ".join(SIMILARITIES) + ", or a well-behaved function of (overlap, size, size)",
        help="the measure of similarity of two sets",
    )


@define(eq=False)
class PairRanker(Clocked):
    """Keeps the k most similar pairs of sets in the window. Sets are numbered from 0 in order of arrival.

    Pairs share at least one token; an empty set has no pairs; a token that repeats in a set counts once.
    For two sets of n and m tokens that share o, jaccard is o / (n + m - o), cosine o / sqrt(n m), dice 2 o / (n + m),
    overlap o, a count, and hamming 2 o - n - m: it ranks by the smallest distance, as a negative similarity.

    Several rankers can share the work on one stream. Each gets all sets, so that a set has the same number in all
    of them, and `parts` says what it does with each: a set with PROBE is compared with the earlier sets, one with
    BUILD is kept for the later ones. Two sets are a pair here if the earlier one has BUILD and the later one has
    PROBE. If that holds in exactly one ranker for every two sets, every pair is found once.
    """

    role: ClassVar[str] = "pair-ranker"
    exact_up_to: ClassVar[int] = 64
    """Groups of at most this many sets (64 at most) are ranked together, without a backend, if exact. 0: none are."""

    k: int = integer(at_least=1, help="pairs in an answer")
    window: int = integer(at_least=1, help="length of the window, in the unit of the times or in rows")
    similarity: str | Callable[[int, int, int], float] = similarity_parameter()
    sides: int = integer(1, at_least=1, at_most=2, help="1: pairs within one stream; 2: pairs across two only")

    _seen: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        fault = misbehaviour(self.similarity) if callable(self.similarity) else None
        if fault:
            raise ConfigError(Problem("similarity", fault))

    @property
    def seen(self) -> int:
        """The number of sets seen, which is the number of the next one."""
        return self._seen

    def update(
        self,
        times: npt.ArrayLike,
        offsets: npt.ArrayLike,
        tokens: npt.ArrayLike,
        sides: npt.ArrayLike | None = None,
        parts: npt.ArrayLike | None = None,
    ) -> None:
        """Take in n sets at times (int64[n]): set i is tokens[offsets[i]:offsets[i+1]] (int64[m], int64[n+1]).

        `sides` (int8[n], 0 or 1) is the stream of each set if there are two; `parts` (int8[n]: 1 PROBE, 2 BUILD, 3
        BOTH, 0 neither) says what is done with each, by default BOTH. Moves `now` to the last time. Raises InputError,
        the ranker unchanged, for unequal lengths, offsets that do not fit, times that go back, or a side or part that
        does not exist.
        """
        rows = self._checked(times, offsets, tokens, sides, parts)
        if len(rows[0]):
            self._update(*rows)
            self._seen += len(rows[0])
            self._now = self._reached(rows[0])

    def answers(
        self,
        times: npt.ArrayLike,
        offsets: npt.ArrayLike,
        tokens: npt.ArrayLike,
        moments: npt.ArrayLike,
        sides: npt.ArrayLike | None = None,
        parts: npt.ArrayLike | None = None,
    ) -> tuple[Int64, Int64, Int64, Float64]:
        """As `update`, with the answer at each of the `moments` (int64[q], ascending) passed.

        Answer i, what `top` returns when `now` is moments[i], is left[cuts[i]:cuts[i + 1]] with the same slice of right
        and similarity: (cuts int64[q + 1], left int64[m], right int64[m], similarity float64[m]). `now` moves to the
        last time or moment. Raises InputError as `update` and `advance` do.
        """
        rows = self._checked(times, offsets, tokens, sides, parts)
        marks: Int64 = column("moments", moments, np.int64)
        never_back("moments", marks, self._now)
        stops = rows[0].searchsorted(marks, side="left" if self.by == "rows" else "right").astype(np.int64)
        return self._answers(*rows, marks, stops)

    def _checked(
        self,
        times: npt.ArrayLike,
        offsets: npt.ArrayLike,
        tokens: npt.ArrayLike,
        sides: npt.ArrayLike | None,
        parts: npt.ArrayLike | None,
    ) -> tuple[Int64, Int64, Int64, Int8, Int8]:
        moments: Int64 = column("times", times, np.int64)
        words: Int64 = column("tokens", tokens, np.int64)
        cuts: Int64 = column("offsets", offsets, np.int64, len(moments) + 1)
        offsets_of("offsets", cuts, len(words))
        origin = self._check_sides(sides, len(moments))
        does = np.full(len(moments), BOTH, np.int8) if parts is None else among("parts", parts, BOTH, len(moments))
        self._check_times(moments)
        return moments, cuts, words, origin, does

    def _answers(
        self, times: Int64, offsets: Int64, tokens: Int64, sides: Int8, parts: Int8, moments: Int64, stops: Int64
    ) -> tuple[Int64, Int64, Int64, Float64]:
        """`answers`, where the rows up to stops[i] precede moments[i]. A backend may do it in one compiled loop."""
        answers = []
        start = 0
        for moment, stop in zip([*moments.tolist(), None], [*stops.tolist(), len(times)], strict=True):
            if stop > start:
                cuts, some = offsets[start : stop + 1], slice(start, stop)
                self._update(times[some], cuts - cuts[0], tokens[cuts[0] : cuts[-1]], sides[some], parts[some])
                self._seen += stop - start
                self._now = self._reached(times[start:stop])
                start = stop
            if moment is not None:
                self.advance(moment)
                answers.append(self.top())
        bounds = np.cumsum([0, *(len(answer[0]) for answer in answers)], dtype=np.int64)
        left, right = (np.concatenate([np.empty(0, np.int64), *(answer[i] for answer in answers)]) for i in (0, 1))
        return bounds, left, right, np.concatenate([np.empty(0), *(answer[2] for answer in answers)])

    def _check_sides(self, sides: npt.ArrayLike | None, length: int) -> Int8:
        if sides is None:
            if self.sides == 2 and length:
                raise InputError("sides", "is required: this ranker joins two streams")
            return np.zeros(length, np.int8)
        return among("sides", sides, self.sides - 1, length)

    @abstractmethod
    def _update(self, times: Int64, offsets: Int64, tokens: Int64, sides: Int8, parts: Int8) -> None: ...

    @abstractmethod
    def top(self) -> tuple[Int64, Int64, Float64]:
        """The answer at `now`: (left int64[r], right int64[r], similarity float64[r]), r <= k.

        Similarity descending, then left, then right ascending. Within one stream left < right; across two, left
        is from side 0.
        """
