"""Broken workload rankers, one bug each, beside the correct one they are made from."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from attrs import define, field
from skyband import BackendInfo, ConfigError
from skyband.arrays import Array, Float64, Int64
from skyband.config.parameters import flag
from skyband.errors import Problem
from skyband.roles import Answer, Answers, TopKQuery, WorkloadRanker
from skyband.state_validation import StateReader
from skyband_specs.faults import Mutant, faulty

PAPER = "Shastri, MTopS: Multi-Query Optimization for Continuous Top-K Query Workloads"
ALWAYS = -(2**63)


@define(eq=False)
class Reference(WorkloadRanker):
    """The definition: the rows of the windows to come, sorted whenever an answer is due."""

    name: ClassVar[str] = "reference"

    on_demand: bool = flag(False, kw_only=True, help="whether it answers only what it is asked")

    _rows: list[tuple[int, int, float]] = field(factory=list, init=False)
    _since: list[int] = field(init=False)
    _passed: int | None = field(default=None, init=False)
    _last: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        self._since = [ALWAYS] * len(self.queries)

    def _ask(self, times: Int64, objects: Int64, scores: Float64, at: Int64, since: Int64, k: Int64) -> Answers:
        for row in zip(times.tolist(), objects.tolist(), scores.tolist(), strict=True):
            self._passed = row[0] if self._passed is None else self._passed
            self._rows.append(row)
            self._last = row[0]
        asked = zip(*(column.tolist() for column in (at, since, k)), strict=True)
        answers = [self.top(number, *question) for number, question in enumerate(asked)]
        reached = [*at[-1:].tolist(), *([self._reached(times)] if len(times) else [])]
        if self._passed is not None and reached:
            self._pass(max(reached))
        return Answers.of(answers)

    def top(self, number: int, at: int, since: int, k: int) -> Answer:
        inside = self.inside(since, at)
        best = sorted(inside, key=self.rank)[:k]
        objects, scores = [row[1] for row in best], [row[2] for row in best]
        return Answer(number, at, np.array(objects, np.int64), np.array(scores, np.float64))

    def _update(self, times: Int64, objects: Int64, scores: Float64) -> list[Answer]:
        answers = []
        for row in zip(times.tolist(), objects.tolist(), scores.tolist(), strict=True):
            self._passed = row[0] if self._passed is None else self._passed
            answers += self._pass(row[0])
            self._rows.append(row)
            self._last = row[0]
        return answers + self._pass(self._reached(times))

    def _answers_until(self, now: int) -> list[Answer]:
        return [] if self._passed is None else self._pass(now)

    def _pass(self, until: int) -> list[Answer]:
        if self.on_demand:
            self._passed = until
            self.forget(self.oldest_asked(until))
            return []
        due = [
            (at, number)
            for number, query in enumerate(self.queries)
            for at in range(self.first(query, self._passed), until + 1, query.slide)
            if self._since[number] in (ALWAYS, min(at - query.window, self._since[number]))
        ]
        answers = [self.answer(number, at) for at, number in self.order(due)]
        self._passed = until
        self.forget(min(self.first(query, until) - query.window for query in self.queries))
        return answers

    def oldest_asked(self, now: int) -> int:
        return now - max(query.window for query in self.queries)

    def first(self, query: TopKQuery, after: int) -> int:
        return after + 1 + (query.phase - after - 1) % query.slide

    def order(self, due: list[tuple[int, int]]) -> list[tuple[int, int]]:
        return sorted(due)

    def answer(self, number: int, at: int) -> Answer:
        query = self.queries[number]
        inside = self.inside(at - query.window, at)
        best = sorted(range(len(inside)), key=lambda row: self.rank(inside[row]))[: query.k]
        objects = np.array([inside[row][1] for row in best], np.int64)
        return Answer(number, at, objects, np.array([inside[row][2] for row in best], np.float64))

    def inside(self, start: int, end: int) -> list[tuple[int, int, float]]:
        first, last = (bisect_left(self._rows, moment, key=lambda row: row[0]) for moment in (start, end))
        return self._rows[first:last]

    def rank(self, row: tuple[int, int, float]) -> Any:
        return -row[2], row[1]

    def forget(self, before: int) -> None:
        del self._rows[: bisect_left(self._rows, before, key=lambda row: row[0])]

    def _reconfigure(self, queries: Sequence[TopKQuery]) -> None:
        if self.on_demand:
            raise ConfigError(Problem("queries", "cannot change during a run with `on_demand`"))
        joined = ALWAYS if self._passed is None else max(self._passed, self._last + 1)
        running = dict(zip(self.queries, self._since, strict=True))
        self._since = [running.get(query, joined) for query in queries]

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def nbytes(self) -> int:
        return 24 * len(self._rows) + 8 * len(self._since)

    def _state(self) -> dict[str, Array]:
        clock = [self._now] if self._passed is None else [self._passed, self._now, self._last]
        clock = [moment for moment in clock if moment is not None]
        times, objects, scores = zip(*self._rows, strict=True) if self._rows else ((), (), ())
        columns = {"times": np.array(times, np.int64), "objects": np.array(objects, np.int64)}
        since = np.array(self._since, np.int64)
        return {**columns, "scores": np.array(scores, np.float64), "since": since, "clock": np.array(clock, np.int64)}

    def _load(self, state: Mapping[str, Array]) -> None:
        read = StateReader(state)
        columns = (state[name].tolist() for name in ("times", "objects", "scores"))
        self._rows = list(zip(*columns, strict=True))
        self._since = read.column("since", np.int64, len(self.queries)).tolist()
        if len(state["clock"]) == 1:  # advanced, before any row
            self._now = int(read.column("clock", np.int64, 1)[0])
            read.require(not self._rows, "clock", "where there are rows, moments have passed")
        elif len(state["clock"]):
            self._passed, self._now, self._last = read.column("clock", np.int64, 3).tolist()
            read.require(self._passed == self._now >= self._last, "clock", "every moment up to now is answered")
        read.ascending("times", at_most=-(2**63) if self._now is None else self._now)


class IncludesTheEnd(Reference):
    """A moment is answered once it is over, with the rows at it."""

    def _pass(self, until: int) -> list[Answer]:
        return super()._pass(until - 1)

    def inside(self, start: int, end: int) -> list[tuple[int, int, float]]:
        return super().inside(start, end + 1)


class ExcludesTheStart(Reference):
    """A row at the start of the window is not in the answer."""

    def inside(self, start: int, end: int) -> list[tuple[int, int, float]]:
        return super().inside(start + 1, end)


class TiesToTheEarlier(Reference):
    """Among equal scores the earlier row wins, as in the thesis."""

    def rank(self, row: tuple[int, int, float]) -> Any:
        return -row[2]


class AnswersRowsOnce(Reference):
    """An answer takes the best rows out of the window."""

    def answer(self, number: int, at: int) -> Answer:
        found = super().answer(number, at)
        if len(found.objects) and len(self._rows) > 60:
            self._rows.remove(min(self._rows, key=self.rank))
        return found


class PhaseFromTheFirstRow(Reference):
    """Moments are counted from the first row."""

    origin = None

    def first(self, query: TopKQuery, after: int) -> int:
        self.origin = after if self.origin is None else self.origin
        return super().first(TopKQuery(query.window, query.slide, query.k, query.phase + self.origin % 2), after)


class SkipsEmptyAnswers(Reference):
    """A window without rows is not answered."""

    def _pass(self, until: int) -> list[Answer]:
        return [answer for answer in super()._pass(until) if len(answer.objects)]


class AnswersTwice(Reference):
    """A moment that has been reached is answered again by the next batch."""

    def first(self, query: TopKQuery, after: int) -> int:
        return super().first(query, after - 1)


class OneQueryAfterTheOther(Reference):
    """Answers come query by query."""

    def order(self, due: list[tuple[int, int]]) -> list[tuple[int, int]]:
        return sorted(due, key=lambda moment: moment[::-1])


class AnswersBeforeTheFirstRow(Reference):
    """The clock starts with the first advance."""

    def _answers_until(self, now: int) -> list[Answer]:
        self._passed = now if self._passed is None else self._passed
        return super()._answers_until(now)


class LosesTheEndsOfTime(Reference):
    """Times are kept as doubles."""

    def inside(self, start: int, end: int) -> list[tuple[int, int, float]]:
        return [row for row in self._rows if float(start) <= float(row[0]) < float(end)]


class SaysItIsMinimal(Reference):
    """Claims to retain the least set, and retains whole windows."""

    minimal: ClassVar[bool] = True


class KeepsTheLongestWindow(Reference):
    """Rows stay for the longest window and slide, whether or not a view to come holds them."""

    def forget(self, before: int) -> None:
        super().forget((self._passed or 0) - max(query.window + query.slide for query in self.queries))


class AnswersNewQueriesAtOnce(Reference):
    """A new query answers over rows it may not have in full."""

    def _reconfigure(self, queries: Sequence[TopKQuery]) -> None:
        self._since = [ALWAYS] * len(queries)


class StartsAnewOnChange(Reference):
    """A change of queries forgets every row."""

    def _reconfigure(self, queries: Sequence[TopKQuery]) -> None:
        super()._reconfigure(queries)
        self._rows.clear()


class ForgetsWhoIsNew(Reference):
    """A snapshot does not say since when each query runs."""

    def _load(self, state: Mapping[str, Array]) -> None:
        super()._load(state)
        self._since = [ALWAYS for _ in self._since]


class TakesWrongQueries(Reference):
    """Any queries will do while it runs."""

    def reconfigure(self, queries: Any) -> None:
        self._since = [ALWAYS] * len(queries)


class KeepsTheShortestWindow(Reference):
    """What only longer windows hold is forgotten."""

    def oldest_asked(self, now: int) -> int:
        return now - min(query.window for query in self.queries) // 2


class AsksOfTheFirstQuery(Reference):
    """Whatever k is asked, the first query's is answered."""

    def top(self, number: int, at: int, since: int, k: int) -> Answer:
        return super().top(number, at, since, min(k, self.queries[0].k))


class CountsTheMomentItself(Reference):
    """Rows at the moment of a question are in its answer."""

    def top(self, number: int, at: int, since: int, k: int) -> Answer:
        return super().top(number, at + 1, since, k)


class AnswersUnasked(Reference):
    """On demand or not, its queries are answered at their moments."""

    def _pass(self, until: int) -> list[Answer]:
        due = self.on_demand and until > (self._passed or until)
        return [*super()._pass(until), *([self.answer(0, until)] if due else [])]


class TakesWrongQuestions(Reference):
    """A window and a k that nothing was kept for are answered from what there is."""

    def _check_questions(self, at: Int64, since: Int64, k: Int64) -> None:
        """Anything goes."""


INFO = BackendInfo("workload-ranker", "reference", "mutants.workload_ranker:Reference", "for the tests", "exact", PAPER)
REFERENCES = [(INFO, Reference)]

_ORACLE = ("tiny_streams_equal_the_oracle", "seeded_streams_equal_the_oracle", "every_moment_equals_the_oracle")
_ASKED = "any_subquery_equals_the_oracle"
_WAY, _AHEAD = "answers_on_the_way_equal_the_oracle", "advancing_equals_the_oracle"


class RanksInSinglePrecision(Reference):
    """Scores are compared in single precision."""

    def rank(self, row: tuple[int, int, float]) -> Any:
        return -float(np.clip(row[2], -3e38, 3e38).astype(np.float32)), row[1]


class WritesOverAnswers(Reference):
    """The scores of the next answer are written over those of the last."""

    def answer(self, number: int, at: int) -> Answer:
        answer = super().answer(number, at)
        if not hasattr(self, "_buffer"):
            self._buffer = np.zeros(1000)
        self._buffer[: len(answer.scores)] = answer.scores
        return Answer(number, at, answer.objects, self._buffer[: len(answer.scores)])


class StaysWhereOthersAre(Reference):
    """Together with others, it is moved on no further than the first."""

    @classmethod
    def _answers_together(cls, rankers, columns, spans, until):
        return super()._answers_together(rankers, columns, spans, np.minimum(until, until[0]))


class CountsAlike(Reference):
    """Together with others, answers are parted as if all had as many."""

    @classmethod
    def _answers_together(cls, rankers, columns, spans, until):
        cuts, answers = super()._answers_together(rankers, columns, spans, until)
        return np.linspace(0, len(answers), len(cuts)).astype(np.int64), answers


MUTANTS: list[Mutant] = [
    (INFO, StaysWhereOthersAre, ("several_together_answer_as_each",)),
    (INFO, CountsAlike, ("several_together_answer_as_each",)),
    (INFO, RanksInSinglePrecision, ("odd_streams_equal_the_oracle",)),
    (INFO, WritesOverAnswers, ("answers_are_the_callers",)),
    (INFO, IncludesTheEnd, (_WAY, "silence_is_answered")),
    (INFO, ExcludesTheStart, (*_ORACLE, _WAY, _AHEAD)),
    (INFO, TiesToTheEarlier, (*_ORACLE, _WAY, _AHEAD)),
    (INFO, AnswersRowsOnce, (_WAY,)),
    (INFO, PhaseFromTheFirstRow, (_WAY,)),
    (INFO, SkipsEmptyAnswers, ("tiny_streams_equal_the_oracle", _AHEAD, "silence_is_answered")),
    (INFO, AnswersTwice, (_WAY, _AHEAD)),
    (INFO, OneQueryAfterTheOther, (_WAY, _AHEAD)),
    (INFO, AnswersBeforeTheFirstRow, ("nothing_is_answered_before_the_first_row",)),
    (INFO, LosesTheEndsOfTime, ("ends_of_time",)),
    (INFO, SaysItIsMinimal, ("retains_what_it_must",)),
    (INFO, KeepsTheLongestWindow, ("no_object_outlives_its_last_view",)),
    (INFO, AnswersNewQueriesAtOnce, ("changed_queries_equal_the_oracle",)),
    (INFO, StartsAnewOnChange, ("changed_queries_equal_the_oracle",)),
    (INFO, ForgetsWhoIsNew, ("changed_queries_are_restored",)),
    (INFO, TakesWrongQueries, ("wrong_queries_change_nothing",)),
    (INFO, KeepsTheShortestWindow, (_ASKED,)),
    (INFO, AsksOfTheFirstQuery, (_ASKED,)),
    (INFO, CountsTheMomentItself, (_ASKED,)),
    (INFO, AnswersUnasked, (_ASKED,)),
    (INFO, TakesWrongQuestions, ("questions_beyond_what_is_kept_change_nothing",)),
    *faulty(INFO, Reference, globals()),
]
