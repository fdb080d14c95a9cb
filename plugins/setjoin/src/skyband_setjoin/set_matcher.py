"""SetMatcher: finds, for each arriving set, the similar ones before it in the window."""

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import define, field, setters
from skyband.arrays import Float64, Int8, Int64, among, column, offsets_of
from skyband.config.literals import literal
from skyband.config.parameters import checked, choice, integer, number
from skyband.errors import ConfigError, InputError, Problem
from skyband.roles.clock import Clocked, check_times_together, checked_spans, first_of
from skyband.roles.pair_ranker import similarity_parameter
from skyband.roles.sharding import BOTH
from skyband.roles.similarity import misbehaviour
from skyband.roles.thread_guard import inside_all

ALL, FIRST = "all", "first"

Matches = tuple[Int64, Int64, Float64]
"""(cuts int64[n + 1], earlier int64[r], similarity float64[r]): arrival i's are earlier[cuts[i]:cuts[i + 1]]."""

Arrivals: TypeAlias = tuple[Int64, Int64, Int64, Int8, Int8]
"""Times, offsets, tokens, sides and parts of sets."""


def _check_matches(value: Any) -> str | None:
    if value == ALL or (isinstance(value, int) and not isinstance(value, bool) and value >= 1):
        return None
    return f'must be "all" or a whole number of at least 1 (got {literal(value)})'


def matches_parameter() -> Any:
    """The field `matches`, for matchers and for queries that pass it on."""
    return checked(
        ALL,
        type="str | int",
        check=_check_matches,
        bounds='"all" or a whole number of at least 1',
        help="how many matches of a set to report: the most similar ones, on a tie the earlier",
    )


def keep_parameter() -> Any:
    """The field `keep`, for matchers and for queries that pass it on."""
    return choice(
        ALL, FIRST, default=ALL,
        help='"first": a set that matches a kept one is dropped, and later sets are compared with kept ones only',
    )  # fmt: skip


def threshold_fault(similarity: str | Callable[[int, int, int], float], threshold: float) -> str | None:
    """The problem with this threshold for this similarity, or None."""
    if callable(similarity):
        return None if math.isfinite(threshold) else f"must be a finite number (got {literal(threshold)})"
    if similarity == "overlap":
        fine, bounds = threshold >= 1 and threshold == int(threshold), "a whole number of at least 1: the shared tokens"
    elif similarity == "hamming":
        fine, bounds = threshold <= 0, "at most 0: a distance, which is reported negated"
    else:
        fine, bounds = 0 < threshold <= 1, "above 0 and at most 1"
    return None if fine else f"must be {bounds}, for similarity = {similarity!r} (got {literal(threshold)})"


@define(eq=False)
class RowMatcher(Clocked):
    """A matcher of rows that are numbered from 0 in order of arrival, whatever is compared."""

    _seen: int = field(default=0, init=False, on_setattr=setters.NO_OP)

    @property
    def seen(self) -> int:
        """The number of rows seen, which is also the next row's number."""
        return self._seen

    def _pass(self, times: Int64) -> None:
        self._seen += len(times)
        self._now = self._reached(times)


@define(eq=False)
class SetMatcher(RowMatcher):
    """Finds for each arriving set the earlier ones in the window that are at least `threshold` similar to it.

    Sets are numbered from 0 in order of arrival; `seen` is the next one's number. Matching sets share at least one
    token, so an empty set matches nothing. Repeated tokens of a set count once. Hamming is a distance: its similarity
    is negative.

    With `keep="first"` a set that matches is dropped, and later sets are compared with the kept ones only. So no two
    kept sets within a window match, and every dropped set has matched a kept one.

    Several matchers can share the work on one stream. Each gets all sets, so that a set has the same number in all of
    them. `parts` says what a matcher does with each set: PROBE compares it with earlier sets, BUILD keeps it for later
    ones. Two sets are compared if the earlier one is BUILD and the later one PROBE. If this holds in exactly one
    matcher for every two sets, every match is found once.
    """

    role: ClassVar[str] = "set-matcher"
    exact_up_to: ClassVar[int] = 64
    """If exact, groups of at most this many sets (at most 64) are matched together, without a backend. 0: none."""

    threshold: float = number(help="how similar two sets must be to match")
    window: int = integer(at_least=1, help="length of the window, in the unit of the times or in rows")
    similarity: str | Callable[[int, int, int], float] = similarity_parameter()
    matches: str | int = matches_parameter()
    keep: str = keep_parameter()
    sides: int = integer(1, at_least=1, at_most=2, help="1: matches within one stream; 2: across two only")

    def __attrs_post_init__(self) -> None:
        fault = misbehaviour(self.similarity) if callable(self.similarity) else None
        if fault:
            raise ConfigError(Problem("similarity", fault))
        fault = threshold_fault(self.similarity, self.threshold)
        if fault:
            raise ConfigError(Problem("threshold", fault))
        if self.keep == FIRST and self.sides == 2:
            raise ConfigError(Problem("keep", '"first" is for one stream: it is not defined for two'))

    def update(
        self,
        times: npt.ArrayLike,
        offsets: npt.ArrayLike,
        tokens: npt.ArrayLike,
        sides: npt.ArrayLike | None = None,
        parts: npt.ArrayLike | None = None,
    ) -> Matches:
        """Take in n sets at times (int64[n]): set i is tokens[offsets[i]:offsets[i+1]] (int64[m], int64[n+1]).

        Returns (cuts int64[n + 1], earlier int64[r], similarity float64[r]): the i-th set matches the sets with the
        numbers earlier[cuts[i]:cuts[i + 1]], with these similarities. With `matches="all"` they are ordered by number;
        with a number k they are the k most similar, by similarity descending, then number ascending.

        `sides` (int8[n], 0 or 1) is the stream of each set if there are two; `parts` (int8[n]: 1 PROBE, 2 BUILD, 3
        BOTH, 0 neither) is BOTH by default. Moves `now` to the last time. Raises InputError and leaves the matcher
        unchanged on unequal lengths, offsets that do not fit, times that go back, an unknown side or part, or parts
        with `keep="first"`, which has to see every set.
        """
        rows = self._columns(times, offsets, tokens, sides, parts)
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
        offsets: npt.ArrayLike,
        tokens: npt.ArrayLike,
        sides: npt.ArrayLike | None = None,
        *,
        spans: npt.ArrayLike,
    ) -> Matches:
        """`update` of several matchers, each with its own sets; returns one matcher's matches after the other's.

        matchers: at least one, all distinct, of this class and with equal parameters. spans: int64[g, 2], not
        overlapping: sets spans[i, 0] up to spans[i, 1] belong to matcher i. Raises InputError as `update` does, and
        leaves all matchers unchanged.
        """
        columns = first_of(matchers)._columns(times, offsets, tokens, sides, None)
        bounds = checked_spans(matchers, spans, len(columns[0]))
        with inside_all(matchers):
            check_times_together(matchers, columns[0], bounds)
            answer = cls._update_together(matchers, columns, bounds)
            for matcher, (start, stop) in zip(matchers, bounds.tolist(), strict=True):
                if stop > start:
                    matcher._pass(columns[0][start:stop])
        return answer

    # The sets are not checked yet.
    def _columns(
        self,
        times: npt.ArrayLike,
        offsets: npt.ArrayLike,
        tokens: npt.ArrayLike,
        sides: npt.ArrayLike | None,
        parts: npt.ArrayLike | None,
    ) -> Arrivals:
        moments: Int64 = column("times", times, np.int64)
        words: Int64 = column("tokens", tokens, np.int64)
        cuts: Int64 = column("offsets", offsets, np.int64, len(moments) + 1)
        offsets_of("offsets", cuts, len(words))
        if sides is None and self.sides == 2 and len(moments):
            raise InputError("sides", "is needed: this matcher joins two streams")
        if parts is not None and self.keep == FIRST:
            raise InputError("parts", 'cannot be used with keep = "first": the sets kept depend on every set before')
        origin = _or_all("sides", sides, 0, self.sides - 1, len(moments))
        does = _or_all("parts", parts, BOTH, BOTH, len(moments))
        return moments, cuts, words, origin, does

    @abstractmethod
    def _update(self, times: Int64, offsets: Int64, tokens: Int64, sides: Int8, parts: Int8) -> Matches:
        """`update` with at least one set."""

    @classmethod
    def _update_together(cls, matchers: Sequence[Self], columns: Arrivals, spans: Int64) -> Matches:
        """`update_together` with checked sets. This default calls `_update` for each matcher: override it."""
        times, offsets, tokens, sides, parts = columns
        answers: list[Matches] = [(np.zeros(1, np.int64), np.empty(0, np.int64), np.empty(0))]
        for matcher, (start, stop) in zip(matchers, spans.tolist(), strict=True):
            if stop > start:
                own, cuts = slice(start, stop), offsets[start : stop + 1]
                words = tokens[cuts[0] : cuts[-1]]
                answers.append(matcher._update(times[own], cuts - cuts[0], words, sides[own], parts[own]))
        each, earlier, similarity = zip(*answers, strict=True)
        counts = np.concatenate([cuts[1:] - cuts[:-1] for cuts in each])
        return np.append(0, np.cumsum(counts)), np.concatenate(earlier), np.concatenate(similarity)


def _or_all(name: str, values: npt.ArrayLike | None, default: int, most: int, length: int) -> Int8:
    return np.full(length, default, np.int8) if values is None else among(name, values, most, length)
