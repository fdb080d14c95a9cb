"""Broken total-rankers, one bug each, beside the correct one they are made from."""

from collections import Counter
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, ClassVar, Self

import numpy as np
from attrs import define, evolve, field
from skyband import BackendInfo
from skyband.arrays import Array, Int64
from skyband.config.parameters import number
from skyband_specs.faults import Mutant, faulty
from skyband_totals.conformance.oracle import TotalOracle
from skyband_totals.role import Amounts, TotalRanker
from skyband_totals.top import Top

PAPER = "by definition"
_LACKS = {"out-of-order": "for the tests"}


@define(eq=False)
class Reference(TotalRanker):
    """The definition: every row of the longest window, added up anew for each answer."""

    name: ClassVar[str] = "reference"

    _oracle: Any = field(init=False)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._oracle = TotalOracle(self.parameters())

    def _update(self, times: Int64, objects: Int64, amounts: Amounts) -> None:
        added = np.ones(len(times), np.int64) if amounts is None else amounts
        self._oracle.rows.extend(zip(times.tolist(), objects.tolist(), added.tolist(), strict=True))

    def _settle(self) -> None:
        rows = self._oracle.rows
        rows[:] = [row for row in rows if row[0] >= (self._now or 0) - self.longest]

    def _top(self, window: int) -> Top:
        return self._answer(self._now - self.windows[window], self._now)

    def _since(self, begin: int) -> Top:
        return self._answer(begin, 2**63)

    def _answer(self, start: int, end: int) -> Top:
        answer = self._oracle.answer(start, end)
        totals = np.array(answer.totals, np.float64)
        grands = [answer.grand] * 3
        return Top(np.array(answer.objects, np.int64), totals, totals, totals, *grands, answer.rest)

    def _merge(self, other: Self, now: int) -> None:
        self._oracle.rows[:] = sorted([*self._oracle.rows, *other._oracle.rows])
        self._now = now
        self._settle()

    def _alive(self, now: int) -> int:
        if self.total != "sum":
            return 0
        return sum(row[2] for row in self._oracle.rows if row[0] >= now // self.pane * self.pane - self.longest)

    def __len__(self) -> int:
        self._settle()
        return len(self._oracle.rows)

    @property
    def nbytes(self) -> int:
        return 24 * len(self._oracle.rows)

    def _state(self) -> dict[str, Array]:
        self._settle()
        rows = np.array(sorted(self._oracle.rows), object).reshape(-1, 3)
        return {**self._clock(), "rows": rows[:, :2].astype(np.int64).ravel(), "amounts": rows[:, 2].astype(np.uint64)}

    def _load(self, state: Mapping[str, Array]) -> None:
        self._set_clock(state["clock"])
        pairs = state["rows"].reshape(-1, 2).tolist()
        self._oracle.rows.extend((*pair, amount) for pair, amount in zip(pairs, state["amounts"].tolist(), strict=True))


@define(eq=False)
class Panes(Reference):
    """The same, which knows the totals of whole panes only."""

    @property
    def grain(self) -> int:
        return self.pane


@define(eq=False)
class Bounded(Reference):
    """The same, with bounds of epsilon."""

    epsilon: float = number(0.01, above=0, below=1, help="for the tests")


class TiesDescending(Reference):
    """Of equal totals, the greater object comes first."""

    def _answer(self, start: int, end: int) -> Top:
        top = super()._answer(start, end)
        order = np.lexsort((-top.objects, -top.totals))
        return Top(
            top.objects[order],
            top.totals[order],
            top.low[order],
            top.high[order],
            top.grand,
            *([top.grand] * 2),
            top.rest,
        )


class EndIncluded(Reference):
    """A window holds what is at its end, and lacks what is at its start."""

    def _answer(self, start: int, end: int) -> Top:
        return super()._answer(start + 1, end + 1)


class ZerosCount(Reference):
    """A row without weight makes an object an answer."""

    def _update(self, times: Int64, objects: Int64, amounts: Amounts) -> None:
        super()._update(times, objects, np.maximum(amounts, 1) if self.total == "sum" else amounts)


class PairsOnceForEver(Reference):
    """A pair that was seen before does not count again when it comes again."""

    def _update(self, times: Int64, objects: Int64, amounts: Amounts) -> None:
        super()._update(times, objects, amounts)
        if self.total == "distinct":
            first = {}
            for row in self._oracle.rows:
                first.setdefault(row[1:], row)
            self._oracle.rows[:] = sorted(first.values(), key=lambda row: row[0])


class ShareOfTheAnswer(Reference):
    """Shares are of the answer's total."""

    def _answer(self, start: int, end: int) -> Top:
        top = super()._answer(start, end)
        grand = float(top.totals.sum())
        return Top(top.objects, top.totals, top.low, top.high, grand, grand, grand, top.rest)


class TimesTheUnit(Reference):
    """Totals are whole numbers times the float that the unit is: 39 units of 0.1 are 3.9000000000000004."""

    def _answer(self, start: int, end: int) -> Top:
        top = super()._answer(start, end)
        totals = top.totals if self.total != "sum" else np.rint(top.totals / self.unit) * self.unit
        return Top(top.objects, totals, totals, totals, top.grand, top.grand, top.grand, top.rest)


class MoreThanEnough(Reference):
    """An object that has just what `at_least` says is not in the answer."""

    def _answer(self, start: int, end: int) -> Top:
        top = super()._answer(start, end)
        more = np.ones(len(top.objects), bool) if self.at_least is None else top.totals > self.at_least
        return evolve(top, objects=top.objects[more], totals=top.totals[more], low=top.low[more], high=top.high[more])


class StaleCandidates(Reference):
    """Candidates that fell below the bar fill up the answer, before others that are ahead of them."""

    _bar: int = 0

    def _answer(self, start: int, end: int) -> Top:
        totals = self._oracle.totals(start, end)
        old = self._oracle.totals(start - self.longest, end)
        best = sorted(old.items(), key=lambda entry: (-entry[1], entry[0]))[: 2 * self.limit]
        stale = Counter({key: totals[key] for key, _ in best if totals[key]})
        top = super()._answer(start, end)
        if self.share is not None or len(stale) < self.limit:
            return top
        chosen = sorted(stale.items(), key=lambda entry: (-entry[1], entry[0]))[: self.limit]
        values = np.array([self._oracle.worth(total) for _, total in chosen])
        objects = np.array([key for key, _ in chosen], np.int64)
        return Top(objects, values, values, values, top.grand, top.grand, top.grand, top.rest)

    def _settle(self) -> None:
        rows = self._oracle.rows
        rows[:] = [row for row in rows if row[0] >= (self._now or 0) - 2 * self.longest]


class StaleNextBest(Reference):
    """The next best are those of some time ago: what has risen past them since is missed until they are used up."""

    _next: list[int] = []  # noqa: RUF012 - never changed in place

    def _top(self, window: int) -> Top:
        totals = self._oracle.totals(self._now - self.windows[window], self._now)
        if sum(totals[key] > 0 for key in self._next) < self.limit:
            ranked = sorted(totals.items(), key=lambda entry: (-entry[1], entry[0]))
            self._next = [key for key, _ in ranked[: 4 * self.limit]]
        alive = [(-totals[key], key) for key in self._next if totals[key] > 0]
        top = super()._top(window)
        if self.share is not None:
            return top
        best = sorted(alive)[: self.limit]
        values = np.array([self._oracle.worth(-total) for total, _ in best])
        objects = np.array([key for _, key in best], np.int64)
        return Top(objects, values, values, values, top.grand, top.grand, top.grand, top.rest)


class ExactToOneLess(Bounded):
    """With as many entries as it says to be exact of, it is not."""

    def _answer(self, start: int, end: int) -> Top:
        top = super()._answer(start, end)
        return evolve(top, high=top.high + (len(self._oracle.rows) >= self.exact_up_to))


class WiderThanSaid(Bounded):
    """An object that comes in blocks is uncertain by twice epsilon of the grand total."""

    def _answer(self, start: int, end: int) -> Top:
        top = super()._answer(start, end)
        return evolve(top, high=top.totals + 2 * self.epsilon * top.grand)


class TellsArrival(Reference):
    """The state has rows in the order in which they came."""

    def _state(self) -> dict[str, Array]:
        self._settle()
        rows = np.array(self._oracle.rows, object).reshape(-1, 3)
        return {**self._clock(), "rows": rows[:, :2].astype(np.int64).ravel(), "amounts": rows[:, 2].astype(np.uint64)}


class ForgetsTies(Reference):
    """Of many objects with one total, only the last to come are known."""

    def _answer(self, start: int, end: int) -> Top:
        rows = self._oracle.rows
        self._oracle.rows[:] = rows[-5000:]
        top = super()._answer(start, end)
        self._oracle.rows[:] = rows
        return top


class EvictsByRow(Panes):
    """The rows that leave a window are as many as came."""

    def _top(self, window: int) -> Top:
        return self._answer(self._now - self.windows[window] + (len(self._oracle.rows) > 3), self._now)


class IgnoresAdvance(Reference):
    """Time goes on with rows only."""

    def _top(self, window: int) -> Top:
        now = self._now if self._last is None else self._last + 1
        return self._answer(now - self.windows[window], now)

    def _settle(self) -> None:
        pass


class GoesBack(Reference):
    """Time may go back."""

    def advance(self, now: int) -> None:
        self._now = now


class AnswersAtTheEnd(Reference):
    """Answers on the way through a batch know the rest of it."""

    def _answers(self, times: Int64, objects: Int64, amounts: Amounts, moments: Int64) -> Any:
        if len(times):
            self._update(times, objects, amounts)
        none = np.empty(0, np.int64)
        return super()._answers(none, none, None, moments)

    def _top(self, window: int) -> Top:
        return self._answer(self._now - self.windows[window], 2**63)


class OrderedTwice(Reference):
    """An object may be in the answer twice."""

    def _answer(self, start: int, end: int) -> Top:
        top = super()._answer(start, end)
        if len(top.objects) < 2:
            return top
        top.objects[1] = top.objects[0]
        return top


class TooNarrow(Bounded):
    """The bounds lie around another total than the true one."""

    def _answer(self, start: int, end: int) -> Top:
        top = super()._answer(start, end)
        totals = top.totals * 1.5
        return Top(top.objects, totals, totals, totals, top.grand, top.grand, top.grand, top.rest)


class RoundsDown(Panes):
    """A moment inside a pane is taken for the start of the pane."""

    @property
    def grain(self) -> int:
        return 1

    def _since(self, begin: int) -> Top:
        return self._answer(begin // 4 * 4, 2**63)


class BornWithAnAnswer(Reference):
    """Where there is nothing, there is an object 0."""

    def _answer(self, start: int, end: int) -> Top:
        top = super()._answer(start, end)
        if len(top.objects):
            return top
        one = np.ones(1)
        return Top(np.zeros(1, np.int64), one, one, one, 1.0, 1.0, 1.0, 0.0)


class WritesOverAnswers(Reference):
    """The next answer is written over the last."""

    def _answer(self, start: int, end: int) -> Top:
        top = super()._answer(start, end)
        if not hasattr(self, "_buffer"):
            self._buffer = np.zeros(20_000, np.int64)
        self._buffer[: len(top.objects)] = top.objects
        return evolve(top, objects=self._buffer[: len(top.objects)])


class ShortObjects(Reference):
    """Objects are held in 32 bits."""

    def _update(self, times: Int64, objects: Int64, amounts: Amounts) -> None:
        super()._update(times, objects & (2**32 - 1), amounts)


class MergeReplaces(Reference):
    """The other's rows take the place of one's own."""

    def _merge(self, other: Self, now: int) -> None:
        self._oracle.rows[:] = list(other._oracle.rows)


class MergeShares(Reference):
    """An empty one takes the other's rows, and both go on with them."""

    def _merge(self, other: Self, now: int) -> None:
        if not self._oracle.rows:
            self._oracle = other._oracle
        else:
            super()._merge(other, now)
        self._now = now


class MergeTakes(Reference):
    """What is merged is taken away from the other."""

    def _merge(self, other: Self, now: int) -> None:
        super()._merge(other, now)
        other._oracle.rows.clear()


class MergeDependsOnOrder(Reference):
    """The first of two has the say about what both know at one time."""

    def _merge(self, other: Self, now: int) -> None:
        known = {row[:2] for row in self._oracle.rows}
        rows = [row for row in other._oracle.rows if row[:2] not in known]
        self._oracle.rows[:] = sorted([*self._oracle.rows, *rows])


class MergesAnything(Reference):
    """What has other parameters is merged."""

    def merge(self, other: Any) -> None:
        if isinstance(other, TotalRanker) and other._now is not None:
            other = deepcopy(other)
            self._merge(other, max(self._now or 0, other._now))


class Overflows(Reference):
    """Sums leave 64 bits."""

    def _check_sum(self, *rows: Any) -> None:
        pass


class TakesAnyShare(Reference):
    """Does not look at its parameters."""

    def __attrs_post_init__(self) -> None:
        self._oracle = TotalOracle({**self.parameters(), "k": self.k or 1})


class CountsAnswersAlike(Reference):
    """Together with others, answers are parted as if all had as many moments."""

    @classmethod
    def _answers_together(cls, rankers, columns, spans, moments):
        asked = sorted(moments, key=len)
        return super()._answers_together(rankers, columns, spans, asked)


def _info(factory: str = "Reference", guarantee: str = "exact", **lacks: str) -> BackendInfo:
    where = f"mutants.total_ranker:{factory}"
    return BackendInfo("total-ranker", "reference", where, "for the tests", guarantee, PAPER, {**_LACKS, **lacks})


_PANES = {"any-since": "for the tests"}
REFERENCES = [
    (_info(), Reference),
    (_info("Panes", **_PANES), Panes),
    (_info("Bounded", "bounded"), Bounded),
]

_ORACLE = ("seeded_streams_equal_the_oracle", "every_moment_equals_the_oracle")

MUTANTS: list[Mutant] = [
    (_info(), CountsAnswersAlike, ("several_together_answer_as_each",)),
    (_info(), WritesOverAnswers, ("answers_are_the_callers",)),
    (_info(), ShortObjects, ("odd_streams_equal_the_oracle",)),
    (_info(), TimesTheUnit, ("tiny_streams_equal_the_oracle", "every_moment_equals_the_oracle")),
    (_info(), TiesDescending, ("tiny_streams_equal_the_oracle", "answers_are_sound", *_ORACLE)),
    (_info(), EndIncluded, ("tiny_streams_equal_the_oracle", *_ORACLE)),
    (_info(), ZerosCount, ("tiny_streams_equal_the_oracle", *_ORACLE)),
    (_info(), PairsOnceForEver, _ORACLE),
    (_info(), ShareOfTheAnswer, (*_ORACLE, "bounds_hold_the_truth")),
    (_info(), MoreThanEnough, ("what_has_enough_is_in_the_answer", *_ORACLE)),
    (_info(), StaleCandidates, ("all_candidates_may_fall_at_once",)),
    (_info(), StaleNextBest, ("objects_rise_leave_and_return",)),
    (_info("Bounded", "bounded"), ExactToOneLess, ("as_many_entries_as_are_exact",)),
    (_info("Bounded", "bounded"), WiderThanSaid, ("bounds_hold_where_they_bind",)),
    (_info(), TellsArrival, ("rows_of_one_time_have_no_order",)),
    (_info(), ForgetsTies, ("all_candidates_may_fall_at_once",)),
    (_info("Panes", **_PANES), EvictsByRow, _ORACLE),
    (_info(), IgnoresAdvance, ("an_empty_window_has_no_answer", *_ORACLE)),
    (_info(), GoesBack, ("advance_is_idempotent", "bad_input_leaves_no_trace")),
    (_info(), AnswersAtTheEnd, ("answers_are_update_and_top", "answers_on_the_way_are_those_of_asking")),
    (_info(), OrderedTwice, ("answers_are_sound",)),
    (
        _info("Bounded", "bounded"),
        TooNarrow,
        ("bounds_hold_the_truth", "totals_are_within_epsilon", "few_rows_are_exact"),
    ),
    (_info(), RoundsDown, ("since_any_moment",)),
    (_info(), BornWithAnAnswer, ("an_empty_window_has_no_answer",)),
    (_info(), MergeReplaces, ("merged_is_the_ranker_of_both_streams", "merge_has_no_order")),
    (_info(), MergeShares, ("merged_goes_on",)),
    (_info(), MergeTakes, ("merged_is_the_ranker_of_both_streams",)),
    (_info(), MergeDependsOnOrder, ("merged_is_the_ranker_of_both_streams",)),
    (_info(), MergesAnything, ("merge_refuses_other_rankers",)),
    (_info(), Overflows, ("a_total_beyond_64_bits_is_refused",)),
    (_info(), TakesAnyShare, ("wrong_parameters_are_named",)),
    *faulty(_info(), Reference, globals()),
]
"""The checks see: every broken backend is caught by those it names, and every check catches at least one."""
