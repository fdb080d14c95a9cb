"""SetMatcher: for each arriving set, the earlier ones in the window that are like it."""

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
        help="how many matches of a set to report: the most similar ones, of those equally similar the earlier",
    )


def keep_parameter() -> Any:
    """The field `keep`, for matchers and for queries that pass it on."""
    return choice(
        ALL, FIRST, default=ALL,
        help='"first": a set that matches a kept one is dropped, and later ones are compared with kept ones only',
    )  # fmt: skip


def threshold_fault(similarity: str | Callable[[int, int, int], float], threshold: float) -> str | None:
    """What is wrong with this threshold for this similarity; None if nothing is."""
    if callable(similarity):
        return None if math.isfinite(threshold) else f"must be a finite number (got {literal(threshold)})"
    if similarity == "overlap":
        fine, bounds = threshold >= 1 and threshold == int(threshold), "a whole number of at least 1: tokens in common"
    elif similarity == "hamming":
        fine, bounds = threshold <= 0, "at most 0: a distance, which is reported negated"
    else:
        fine, bounds = 0 < threshold <= 1, "above 0 and at most 1"
    return None if fine else f"must be {bounds}, for similarity = {similarity!r} (got {literal(threshold)})"


@define(eq=False)
class SetMatcher(Clocked):
    """Finds for each arriving set the earlier ones in the window that are at least `threshold` similar to it.

    Sets are numbered from 0 in order of arrival. A match shares at least one token; an empty set matches nothing; a
    set's repeated tokens count once. Hamming is a distance: its similarity is negative.

    With `keep="first"` a set that matches is dropped: later ones are compared with the kept ones only. So no two kept
    sets within a window match, and every dropped one has matched a kept one.

    Several matchers can share the work on one stream. Each is given all sets, so that a set has the same number in all
    of them, and `parts` says what it does with each: a set that PROBE is compared with the earlier sets, one that is
    BUILD is kept for the later ones. Two sets are compared here if the earlier one is BUILD and the later one PROBE. If
    that is so in exactly one matcher for every two sets, every match is found once.
    """

    role: ClassVar[str] = "set-matcher"
    exact_up_to: ClassVar[int] = 64
    """Groups of at most so many sets, 64 at most, are matched many at once, without a backend, if exact. 0: none."""

    threshold: float = number(help="how similar two sets have to be")
    window: int = integer(at_least=1, help="length of the window, in the unit of the times or in rows")
    similarity: str | Callable[[int, int, int], float] = similarity_parameter()
    matches: str | int = matches_parameter()
    keep: str = keep_parameter()
    sides: int = integer(1, at_least=1, at_most=2, help="1: matches within one stream; 2: across two only")

    _seen: int = field(default=0, init=False, on_setattr=setters.NO_OP)

    def __attrs_post_init__(self) -> None:
        fault = misbehaviour(self.similarity) if callable(self.similarity) else None
        if fault:
            raise ConfigError(Problem("similarity", fault))
        fault = threshold_fault(self.similarity, self.threshold)
        if fault:
            raise ConfigError(Problem("threshold", fault))
        if self.keep == FIRST and self.sides == 2:
            raise ConfigError(Problem("keep", '"first" is for one stream: what it would keep of two is not defined'))

    @property
    def seen(self) -> int:
        """Sets seen so far, which is the number the next one gets."""
        return self._seen

    def update(
        self,
        times: npt.ArrayLike,
        offsets: npt.ArrayLike,
        tokens: npt.ArrayLike,
        sides: npt.ArrayLike | None = None,
        parts: npt.ArrayLike | None = None,
    ) -> Matches:
        """Take in n sets at times (int64[n]): set i is tokens[offsets[i]:offsets[i+1]] (int64[m], int64[n+1]).

        Returns (cuts int64[n + 1], earlier int64[r], similarity float64[r]): what the i-th of them matches is
        earlier[cuts[i]:cuts[i + 1]], numbers of sets, and similarity there. With `matches="all"` they come by number;
        with a number k the k most similar come, similarity descending, then number ascending.

        `sides` (int8[n], 0 or 1) says which stream each belongs to where there are two; `parts` (int8[n]: 1 PROBE,
        2 BUILD, 3 BOTH, 0 neither) what is done with each, BOTH unless given. Moves `now` to the last time. Raises
        InputError, the matcher unchanged, on unequal lengths, offsets that do not fit, times that go back, a side or
        part that does not exist, or parts where `keep="first"`, which has to see every set.
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
        """As `update` of several matchers, each with sets of its own: one's matches after another's.

        matchers: at least one, of this class and with equal parameters, none of them twice. spans: int64[g, 2] that do
        not overlap: the sets from spans[i, 0] up to spans[i, 1] are of matcher i. Raises InputError as `update` does,
        all matchers unchanged.
        """
        columns = first_of(matchers)._columns(times, offsets, tokens, sides, None)
        bounds = checked_spans(matchers, spans, len(columns[0]))
        with inside_all(matchers):
            check_times_together(matchers, columns[0], bounds)
            answer = cls._update_together(matchers, columns, bounds)
            for one, (start, stop) in zip(matchers, bounds.tolist(), strict=True):
                if stop > start:
                    one._pass(columns[0][start:stop])
        return answer

    def _pass(self, times: Int64) -> None:
        self._seen += len(times)
        self._now = self._reached(times)

    # Sets that may still be in no order.
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
            raise InputError("parts", 'cannot be given with keep = "first": what is kept depends on every set before')
        origin = _or_all("sides", sides, 0, self.sides - 1, len(moments))
        does = _or_all("parts", parts, BOTH, BOTH, len(moments))
        return moments, cuts, words, origin, does

    @abstractmethod
    def _update(self, times: Int64, offsets: Int64, tokens: Int64, sides: Int8, parts: Int8) -> Matches:
        """`update` of at least one set."""

    @classmethod
    def _update_together(cls, matchers: Sequence[Self], columns: Arrivals, spans: Int64) -> Matches:
        """`update_together` of sets that are checked. This default calls `_update` of each: better in one go."""
        times, offsets, tokens, sides, parts = columns
        answers: list[Matches] = [(np.zeros(1, np.int64), np.empty(0, np.int64), np.empty(0))]
        for one, (start, stop) in zip(matchers, spans.tolist(), strict=True):
            if stop > start:
                own, cuts = slice(start, stop), offsets[start : stop + 1]
                words = tokens[cuts[0] : cuts[-1]]
                answers.append(one._update(times[own], cuts - cuts[0], words, sides[own], parts[own]))
        each, earlier, similarity = zip(*answers, strict=True)
        counts = np.concatenate([cuts[1:] - cuts[:-1] for cuts in each])
        return np.append(0, np.cumsum(counts)), np.concatenate(earlier), np.concatenate(similarity)


def _or_all(name: str, values: npt.ArrayLike | None, default: int, most: int, length: int) -> Int8:
    return np.full(length, default, np.int8) if values is None else among(name, values, most, length)
