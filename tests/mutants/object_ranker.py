"""Broken object rankers, one bug each, beside the correct one they are made from."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from attrs import define, field
from skyband import BackendInfo, SnapshotError
from skyband.arrays import Array, Float64, Int32, Int64
from skyband.roles import ObjectRanker
from skyband.roles.object_ranker import joined
from skyband.state_validation import StateReader
from skyband_specs.faults import Mutant, faulty
from skyband_specs.object_ranker.oracle import ObjectOracle, Report

PAPER = "Haghani, Michel, Aberer: Evaluating top-k queries over incomplete data streams"
_LACKS = {"merge": "for the tests", "out-of-order": "for the tests"}


@define(eq=False)
class Reference(ObjectRanker):
    """The definition: every valid report, summed anew for each answer."""

    name: ClassVar[str] = "reference"

    _oracle: Any = field(init=False)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._oracle = ObjectOracle(self.parameters())

    def _update(self, times: Int64, streams: Int32, objects: Int64, values: Float64) -> None:
        for row in zip(times.tolist(), streams.tolist(), objects.tolist(), values.tolist(), strict=True):
            self._oracle.add(Report(*row))
        self._repeated = self._oracle.repeated

    def _ranked(self) -> tuple[list[int], list[float]]:
        return self._oracle.top(self._now)

    def top(self) -> tuple[Int64, Float64]:
        objects, scores = ([], []) if self._now is None else self._ranked()
        return np.array(objects, np.int64), np.array(scores, np.float64)

    def _advance(self, now: int) -> None:
        self._oracle.reports = self._oracle.valid(now)

    def __len__(self) -> int:
        return len(self._oracle.reports)

    @property
    def nbytes(self) -> int:
        return 28 * len(self._oracle.reports)

    def _state(self) -> dict[str, Array]:
        reports = self._oracle.reports
        seen = sorted((report.object, number) for report in reports for number in self._oracle._seen[report.object])
        return {
            "clock": np.array([self._repeated, *([] if self._now is None else [self._now])], np.int64),
            "times": np.array([report.time for report in reports], np.int64),
            "streams": np.array([report.stream for report in reports], np.int64),
            "objects": np.array([report.object for report in reports], np.int64),
            "values": np.array([report.value for report in reports], np.float64),
            "seen": np.array(seen, np.int64).reshape(-1),
        }

    def _load(self, state: Mapping[str, Array]) -> None:
        clock = state["clock"].tolist()
        self._now = clock[1] if len(clock) > 1 else None
        self._repeated = self._oracle.repeated = clock[0]
        StateReader(state).column("streams", np.int64, at_least=0, at_most=self.streams - 1)
        columns = (state[name].tolist() for name in ("times", "streams", "objects", "values"))
        self._oracle.reports = [Report(*row) for row in zip(*columns, strict=True)]
        for name, number in state["seen"].reshape(-1, 2).tolist():
            self._oracle._seen.setdefault(name, set()).add(number)
        if not self._oracle._seen.keys() >= {report.object for report in self._oracle.reports}:
            raise SnapshotError("an object has reports, but has not been seen")


def _valid(now: int, mutant: Any) -> list[Report]:
    return [report for report in mutant._oracle.reports if report.time > now - mutant.window]


class ExpiresEarly(Reference):
    """A report that is exactly W old no longer counts."""

    def _ranked(self) -> tuple[list[int], list[float]]:
        self._oracle.reports = _valid(self._now or 0, self)
        return super()._ranked()


class TiesDescending(Reference):
    """Of equal scores, the greater object comes first."""

    def _ranked(self) -> tuple[list[int], list[float]]:
        every = sorted(self._oracle.scores(self._now).items(), key=lambda entry: (-entry[1], -entry[0]))[: self.k]
        return [name for name, _ in every], [score for _, score in every]


class LatestReportOnly(Reference):
    """An object's score is that of its latest report."""

    def _ranked(self) -> tuple[list[int], list[float]]:
        latest = {report.object: report for report in self._oracle.valid(self._now)}
        scores = {name: self._oracle._current([report]) for name, report in latest.items()}
        every = sorted(scores.items(), key=lambda entry: (-entry[1], entry[0]))[: self.k]
        return [name for name, _ in every], [score for _, score in every]


class TakesRepeats(Reference):
    """A report that breaks the promise counts all the same."""

    def _update(self, times: Int64, streams: Int32, objects: Int64, values: Float64) -> None:
        self._oracle.once, self._oracle.most = False, 10**9
        super()._update(times, streams, objects, values)


class FirstForLatest(Reference):
    """Of an object's reports of a stream the first counts, not the latest."""

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.repeats == "latest":
            self._oracle.reduce = lambda values: values[0]


class IgnoresAdvance(Reference):
    """Time goes on with rows only."""

    def _ranked(self) -> tuple[list[int], list[float]]:
        return self._oracle.top(self._oracle.now if self._oracle.now is not None else self._now)

    def _advance(self, now: int) -> None:
        pass


class GoesBack(Reference):
    """Time may go back."""

    def advance(self, now: int) -> None:
        self._now = now


class AnswersAtTheEnd(Reference):
    """Answers on the way through a batch know the rest of it."""

    def _answers(self, times: Int64, streams: Int32, objects: Int64, values: Float64, moments: Int64) -> Any:
        if len(times):
            self._update(times, streams, objects, values)
            self._now = self._reached(times)
        none = np.empty(0, np.int64)
        return super()._answers(none, none.astype(np.int32), none, np.empty(0), np.maximum(moments, self._now or 0))


class PlainSkyband(Reference):
    """Lets go of what k later instances rank above now, whatever may still come."""

    def _update(self, times: Int64, streams: Int32, objects: Int64, values: Float64) -> None:
        for row in zip(times.tolist(), streams.tolist(), objects.tolist(), values.tolist(), strict=True):
            self._oracle.add(Report(*row))
            every = self._oracle.instances(self._oracle.now)
            kept = {
                (instance.object, instance.time)
                for instance in every
                if sum(other.time > instance.time and other.current > instance.current for other in every) < self.k
            }
            self._oracle.reports = [report for report in self._oracle.reports if (report.object, report.time) in kept]
        self._repeated = self._oracle.repeated


class ScoresTooHigh(Reference):
    """A score is a little above the truth."""

    def _ranked(self) -> tuple[list[int], list[float]]:
        objects, scores = super()._ranked()
        return objects, [score + 2**-20 for score in scores]


class CountsRows(Reference):
    """Says that it retains every row it has seen."""

    def __len__(self) -> int:
        return len(self._oracle.reports) + self._repeated + 1000 * bool(self._oracle.reports)


class CallsNoFunction(Reference):
    """Takes any function for a sum."""

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if callable(self.aggregate):
            self._oracle = ObjectOracle({**self.parameters(), "aggregate": "sum"})


class TakesAnyFunction(Reference):
    """Does not look at its aggregate."""

    def __attrs_post_init__(self) -> None:
        self._oracle = ObjectOracle(self.parameters())


def _info(guarantee: str = "exact") -> BackendInfo:
    return BackendInfo(
        "object-ranker", "reference", "mutants.object_ranker:Reference", "for the tests", guarantee, PAPER, _LACKS
    )


REFERENCES = [(_info(), Reference), (_info("heuristic"), Reference)]

_ORACLE = ("seeded_streams_equal_the_oracle", "every_moment_equals_the_oracle", "every_row_equals_the_oracle")


class IdsInFloats(Reference):
    """Ids go through float64, which tells not all of them apart."""

    def _update(self, times: Int64, streams: Int32, objects: Int64, values: Float64) -> None:
        near = np.abs(objects) < 2**62
        ids = np.where(near, np.where(near, objects, 0).astype(np.float64).astype(np.int64), objects)
        super()._update(times, streams, ids, values)


class ScoresInSinglePrecision(Reference):
    """Scores are compared in single precision."""

    def _ranked(self) -> tuple[list[int], list[float]]:
        objects, scores = super()._ranked()
        order = np.lexsort((objects, -np.array(scores, np.float32)))
        return [objects[row] for row in order], [scores[row] for row in order]


class KeepsTheAnswer(Reference):
    """The last answer is answered again, the same arrays, until a row comes."""

    def top(self) -> tuple[Int64, Float64]:
        answered = getattr(self, "_answered", None)
        if answered is None or answered[0] != (self._now, self._oracle.reports):
            answered = self._answered = (self._now, list(self._oracle.reports)), super().top()
        return answered[1]


class LosesNowWhenEmpty(Reference):
    """Restored without a report, it has seen no time."""

    def _load(self, state: Mapping[str, Array]) -> None:
        super()._load(state)
        self._now = self._now if self._oracle.reports else None


class GivesTheFirstsMoments(Reference):
    """Together with others, it answers at the moments of the first."""

    @classmethod
    def _answers_together(cls, rankers, columns, spans, moments):
        return super()._answers_together(rankers, columns, spans, [moments[0] if len(own) else own for own in moments])


class RowsOfSilentOnes(Reference):
    """Together with others, one that has no moment to answer takes no rows."""

    @classmethod
    def _answers_together(cls, rankers, columns, spans, moments):
        stops = [stop if len(own) else start for (start, stop), own in zip(spans.tolist(), moments, strict=True)]
        return super()._answers_together(rankers, columns, np.column_stack([spans[:, 0], stops]), moments)


class OthersGoOn(Reference):
    """Together with others, those before one that is refused have had their turns."""

    @classmethod
    def answers_together(cls, rankers, times, *columns, spans, moments):
        parts = [slice(start, stop) for start, stop in np.array(spans).tolist()]
        each = zip(rankers, parts, moments, strict=True)
        return joined([one.answers(times[own], *(column[own] for column in columns), at) for one, own, at in each])


MUTANTS: list[Mutant] = [
    (_info(), GivesTheFirstsMoments, ("several_together_answer_as_each",)),
    (_info(), RowsOfSilentOnes, ("several_together_answer_as_each",)),
    (_info(), OthersGoOn, ("several_together_answer_as_each",)),
    (_info(), IdsInFloats, ("odd_streams_equal_the_oracle",)),
    (_info(), ScoresInSinglePrecision, ("odd_streams_equal_the_oracle",)),
    (_info(), KeepsTheAnswer, ("answers_are_the_callers",)),
    (_info(), LosesNowWhenEmpty, ("restored_at_odd_moments",)),
    (_info(), ExpiresEarly, ("tiny_streams_equal_the_oracle", "expiry_equals_the_oracle", *_ORACLE)),
    (_info(), TiesDescending, ("tiny_streams_equal_the_oracle", *_ORACLE)),
    (_info(), LatestReportOnly, ("tiny_streams_equal_the_oracle", *_ORACLE)),
    (_info(), TakesRepeats, ("tiny_streams_equal_the_oracle", *_ORACLE)),
    (_info(), FirstForLatest, _ORACLE),
    (_info(), IgnoresAdvance, ("expiry_equals_the_oracle",)),
    (_info(), GoesBack, ("advance_is_idempotent", "bad_input_leaves_no_trace")),
    (_info(), AnswersAtTheEnd, ("answers_are_update_and_top",)),
    (_info(), PlainSkyband, ("every_necessary_instance_can_return", "every_row_equals_the_oracle")),
    (_info("heuristic"), ScoresTooHigh, ("answers_are_sound",)),
    (_info(), CountsRows, ("no_more_than_is_valid_is_retained",)),
    (_info(), CallsNoFunction, ("function_equals_the_aggregate_it_computes",)),
    (_info(), TakesAnyFunction, ("wrong_parameters_are_named",)),
    *faulty(_info(), Reference, globals()),
]
