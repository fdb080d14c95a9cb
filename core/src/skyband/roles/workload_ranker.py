"""WorkloadRanker: answers many top-k queries over one stream."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Self, TypeAlias, overload

import numpy as np
import numpy.typing as npt
from attrs import define, frozen

from skyband.arrays import Float64, Int64, column, never_back
from skyband.config.literals import literal
from skyband.config.parameters import checked
from skyband.errors import ConfigError, InputError, PluginError, Problem
from skyband.roles.clock import Clocked, check_times_together, checked_spans, first_of
from skyband.roles.thread_guard import inside_all


@frozen(order=True)
class TopKQuery:
    """One query of a workload: at T = phase + j·slide the top k of [T − window, T)."""

    window: int
    slide: int
    k: int
    phase: int = 0


@frozen(eq=False)
class Answer:
    """The answer of a query at one moment: objects int64[r] and scores float64[r], score descending, then object."""

    query: int
    at: int
    objects: Int64
    scores: Float64


@define(eq=False)
class Answers(Sequence[Answer]):
    """Many answers as flat arrays, in order of (at, query); each Answer is created on access.

    Answer i is query[i] at at[i] (int64[a] each), with objects and scores offsets[i]..offsets[i+1] (int64[a+1],
    int64[m], float64[m]). An empty answer takes 24 bytes.
    """

    query: Int64
    at: Int64
    offsets: Int64
    objects: Int64
    scores: Float64

    @classmethod
    def of(cls, answers: Iterable[Answer]) -> Self:
        """Any sequence of answers as flat arrays; one that is already flat is returned unchanged."""
        if type(answers) is cls:
            return answers
        each = list(answers)
        sizes = np.array([0, *(len(answer.objects) for answer in each)], np.int64)
        return cls(
            np.array([answer.query for answer in each], np.int64),
            np.array([answer.at for answer in each], np.int64),
            np.cumsum(sizes),
            np.concatenate([np.empty(0, np.int64), *(answer.objects for answer in each)]),
            np.concatenate([np.empty(0), *(answer.scores for answer in each)]),
        )

    @classmethod
    def joined(cls, parts: Sequence["Answers"]) -> "Answers":
        """The answers of consecutive calls, concatenated."""
        if len(parts) == 1:
            return parts[0]
        sizes = [np.diff(part.offsets) for part in parts]
        return cls(
            np.concatenate([_NO_INTS, *(part.query for part in parts)]),
            np.concatenate([_NO_INTS, *(part.at for part in parts)]),
            np.concatenate([[0], np.cumsum(np.concatenate([_NO_INTS, *sizes]))]),
            np.concatenate([_NO_INTS, *(part.objects for part in parts)]),
            np.concatenate([np.empty(0), *(part.scores for part in parts)]),
        )

    def __len__(self) -> int:
        return len(self.at)

    @overload
    def __getitem__(self, index: int) -> Answer: ...
    @overload
    def __getitem__(self, index: slice) -> list[Answer]: ...
    def __getitem__(self, index: int | slice) -> Answer | list[Answer]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        number = range(len(self))[index]
        rows = slice(int(self.offsets[number]), int(self.offsets[number + 1]))
        return Answer(int(self.query[number]), int(self.at[number]), self.objects[rows], self.scores[rows])


Scored: TypeAlias = tuple[Int64, Int64, Float64]
"""The times, objects and scores of rows."""

_NO_INTS = np.empty(0, np.int64)

_MOST = 2**62
"""The largest window, slide, k and phase, so that 64-bit sums of two of them cannot overflow."""


def _as_queries(values: Any) -> Any:
    """Plain tuples (or TopKQuery) as TopKQuery; anything else unchanged, for the check to report."""
    if not isinstance(values, Sequence) or isinstance(values, str):
        return values
    return tuple(
        TopKQuery(*(int(value) if isinstance(value, np.integer) else value for value in entry))
        if isinstance(entry, Sequence) and 3 <= len(entry) <= 4
        else entry
        for entry in values
    )


def _problems(queries: Any) -> list[Problem]:
    if not isinstance(queries, Sequence) or isinstance(queries, str) or not queries:
        return [Problem("", f"must be a list of (window, slide, k[, phase]) (got {literal(queries)})")]
    problems = []
    for number, entry in enumerate(queries):
        query = _as_queries([entry])[0]
        place = f"[{number}]"
        if not isinstance(query, TopKQuery):
            problems.append(
                Problem(place, f"must be (window, slide, k) or (window, slide, k, phase) (got {literal(entry)})")
            )
            continue
        for name, lowest in (("window", 1), ("slide", 1), ("k", 1), ("phase", 0)):
            value = getattr(query, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < lowest:
                problems.append(
                    Problem(f"{place}.{name}", f"must be a whole number, at least {lowest} (got {literal(value)})")
                )
            elif value > _MOST:
                problems.append(Problem(f"{place}.{name}", f"must be at most 2**62 (got {literal(value)})"))
    return problems


@define(eq=False)
class WorkloadRanker(Clocked):
    """Answers a workload of (window, slide, k) queries, each at its own moments, from one shared state.

    A query answers at T = phase + j·slide (j any integer), for every such T after the first event and at most
    `now`, including empty answers. All share one clock (`by`). After a time without rows, the next row or `advance`
    returns an answer for every moment of that time. To skip them, start a new ranker at the next row.

    A backend with the capability `any-subquery` has a parameter `on_demand`. If it is true, the queries only say what
    the state is kept for: no moment is answered automatically, and `ask` answers any window up to the longest and any k
    up to the largest, as if that query had been in the list from the start.
    """

    role: ClassVar[str] = "workload-ranker"
    exact_up_to: ClassVar[int] = 4096
    """Groups of at most this many rows are ranked together, without a backend, if it is exact. 0: none are."""
    minimal: ClassVar[bool] = False
    """Whether it retains exactly the union of the views' tops, the smallest set that answers any continuation."""

    queries: Sequence[TopKQuery] = checked(
        type="list of (window, slide, k[, phase])",
        check=_problems,
        bounds="windows, slides and k at least 1, phases at least 0",
        help="the queries, numbered from 0",
        converter=_as_queries,
    )

    def update(self, times: npt.ArrayLike, objects: npt.ArrayLike, scores: npt.ArrayLike) -> Sequence[Answer]:
        """Take in objects (int64[n]) with scores (float64[n]) at times (int64[n]); each row is a separate object.

        Moves `now` to the last time and returns the answers of every moment passed, in order of (at, query).
        Raises InputError, the ranker unchanged, for unequal lengths, times that go back or NaN scores.
        """
        moments, ids, numbers = self._checked_rows(times, objects, scores)
        if not len(moments):
            return []
        answers = self._update(moments, ids, numbers)
        self._now = self._reached(moments)
        return answers

    @classmethod
    def answers_together(
        cls, rankers: Sequence[Self], times: npt.ArrayLike, objects: npt.ArrayLike, scores: npt.ArrayLike, *,
        spans: npt.ArrayLike, until: npt.ArrayLike,
    ) -> tuple[Int64, Answers]:  # fmt: skip
        """As `update` for several rankers, each with its own rows, then `advance` for each; answers ranker by ranker.

        rankers: at least one, of this class, with equal parameters, without duplicates. spans: int64[g, 2] that do not
        overlap: rows spans[i, 0] to spans[i, 1], exclusive, go to ranker i. until: int64[g], the moment to advance each
        to; a ranker already there, or without any row, stays. Returns (cuts int64[g + 1], answers): ranker i has the
        answers cuts[i] to cuts[i + 1], exclusive. Raises InputError as `update` and `advance` do, all rankers
        unchanged.
        """
        columns = first_of(rankers)._columns(times, objects, scores)
        bounds = checked_spans(rankers, spans, len(columns[0]))
        ends: Int64 = column("until", until, np.int64, len(rankers))
        with inside_all(rankers):
            check_times_together(rankers, columns[0], bounds)
            return cls._answers_together(rankers, columns, bounds, ends)

    def _checked_rows(self, times: npt.ArrayLike, objects: npt.ArrayLike, scores: npt.ArrayLike) -> Scored:
        """The rows, checked."""
        rows = self._columns(times, objects, scores)
        self._check_times(rows[0])
        return rows

    # Rows that may still be unordered.
    def _columns(self, times: npt.ArrayLike, objects: npt.ArrayLike, scores: npt.ArrayLike) -> Scored:
        moments: Int64 = column("times", times, np.int64)
        ids: Int64 = column("objects", objects, np.int64, len(moments))
        numbers: Float64 = column("scores", scores, np.float64, len(moments))
        missing = np.isnan(numbers)
        if missing.any():
            raise InputError("scores", "must be a number (got nan)", int(missing.argmax()))
        return moments, ids, numbers

    @abstractmethod
    def _update(self, times: Int64, objects: Int64, scores: Float64) -> Sequence[Answer]: ...

    def advance(self, now: int) -> Sequence[Answer]:  # type: ignore[override]
        """Move `now` forward and return the answers of every moment passed; idempotent.

        Raises InputError if it would go back or does not fit int64.
        """
        moment = self._check_moment(now)
        answers = self._answers_until(moment)
        self._now = moment
        return answers

    @abstractmethod
    def _answers_until(self, now: int) -> Sequence[Answer]:
        """The answers of every moment after the last one answered and at most `now`."""

    @classmethod
    def _answers_together(
        cls, rankers: Sequence[Self], columns: Scored, spans: Int64, until: Int64
    ) -> tuple[Int64, Answers]:
        """`answers_together` for checked rows. This default goes ranker by ranker; a backend may be faster.

        A backend must raise what they would raise before any ranker has changed.
        """
        times, objects, scores = columns
        parts, counts = [Answers.of([])], [0]
        for ranker, (start, stop), end in zip(rankers, spans.tolist(), until.tolist(), strict=True):
            each: list[Sequence[Answer]] = []
            if stop > start:
                own = slice(start, stop)
                each.append(ranker._update(times[own], objects[own], scores[own]))
                ranker._now = ranker._reached(times[own])
            if ranker._now is not None and ranker._now < end:
                each.append(ranker._answers_until(end))
                ranker._now = end
            counts.append(sum(map(len, each)))
            parts += map(Answers.of, each)
        return np.cumsum(counts), Answers.joined(parts)

    def ask(
        self, times: npt.ArrayLike, objects: npt.ArrayLike, scores: npt.ArrayLike, *,
        at: npt.ArrayLike, since: npt.ArrayLike, k: npt.ArrayLike,
    ) -> Answers:  # fmt: skip
        """Take in rows as `update` does, and answer each question at its moment: the top k of [since, at).

        at, since, k: int64[q] each, `at` ascending and all later than `now`. Answer i is to question i. Moves `now` to
        the last time or the last moment, whichever is later. Requires `on_demand`; see the class.
        Raises InputError, the ranker unchanged, if a row is wrong or a question is beyond what the state is kept
        for, and PluginError if the backend lacks `any-subquery`.
        """
        if not getattr(self, "on_demand", False):
            message = f"{self.role}/{self.name} answers only its own queries: make one with on_demand = true"
            raise PluginError(f"{message}, from a backend that has any-subquery")
        moments, ids, numbers = self._checked_rows(times, objects, scores)
        ends: Int64 = column("at", at, np.int64)
        starts: Int64 = column("since", since, np.int64, len(ends))
        most: Int64 = column("k", k, np.int64, len(ends))
        self._check_questions(ends, starts, most)
        answers = self._ask(moments, ids, numbers, ends, starts, most)
        reached = [*([self._reached(moments)] if len(moments) else []), *ends[-1:].tolist()]
        self._now = max(reached, default=self._now)
        return answers

    def _check_questions(self, at: Int64, since: Int64, k: Int64) -> None:
        never_back("at", at, None)
        if len(at) and self._now is not None and at[0] <= self._now:
            message = f"must be later than {self._now}, because rows may have arrived by then (got {int(at[0])})"
            raise InputError("at", message, 0)
        longest, most = max(query.window for query in self.queries), max(query.k for query in self.queries)
        lengths = np.where(since < at, at.view(np.uint64) - since.view(np.uint64), np.uint64(0))
        for name, wrong, bound in (
            ("since", lengths > np.uint64(longest), f"must be at most {longest} before its moment"),
            ("k", (k < 1) | (k > most), f"must be from 1 to {most}"),
        ):
            if wrong.any():
                row = int(wrong.argmax())
                raise InputError(name, f"{bound} (got {int((since, k)[name == 'k'][row])})", row)

    def _ask(
        self, times: Int64, objects: Int64, scores: Float64, at: Int64, since: Int64, k: Int64  # noqa: ARG002
    ) -> Answers:  # fmt: skip
        """Answer valid questions for `ask`; only backends with `any-subquery` define it."""
        raise PluginError(f"{self.role}/{self.name} has a parameter on_demand but no _ask")

    def reconfigure(self, queries: Sequence[TopKQuery] | Sequence[Sequence[int]]) -> None:
        """Continue with another list of queries, from the same state; answers are numbered by the new list.

        A query equal to a running one (window, slide, k, and phase modulo slide) continues undisturbed, whatever its
        place in the list. A new one first answers at its first moment T whose window [T − window, T) holds no row
        seen before this call, that is T − window > the time of the last row, and >= `now`; a ranker that has seen no
        row starts over. What only removed queries needed is dropped.
        Raises ConfigError if the queries are wrong or the backend cannot change them; nothing is changed.
        """
        problems = _problems(queries)
        if problems:
            raise ConfigError(*(problem.within("queries") for problem in problems))
        subqueries = _as_queries(queries)
        self._reconfigure(subqueries)
        object.__setattr__(self, "queries", subqueries)  # a frozen parameter: only this line changes it

    def _reconfigure(self, queries: Sequence[TopKQuery]) -> None:  # noqa: ARG002
        """Change the plan to `queries`; `self.queries` is still the old list. Optional for backends."""
        message = f"{self.role}/{self.name} cannot change its queries while it runs; start a new one"
        raise ConfigError(Problem("queries", message))
