"""Broken quantile sketches, one bug each, beside the correct one they are made from."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from attrs import define, evolve, field
from skyband import BackendInfo
from skyband.arrays import Array, Float64, Int64
from skyband.config.parameters import checked, number
from skyband.state_validation import StateReader
from skyband_quantiles.conformance.oracle import QuantileOracle
from skyband_quantiles.exact.backend import Exact
from skyband_quantiles.ranks import BILLION
from skyband_quantiles.role import QuantileSketch
from skyband_quantiles.rows_in_states import rows_from_state, rows_to_state
from skyband_quantiles.sketch_answers import Answers
from skyband_specs.faults import Mutant, faulty

PAPER = "by definition"
_LACKS = {"out-of-order": "for the tests"}


@define(eq=False)
class Reference(QuantileSketch):
    """The definition: every row of the longest window, put in order anew for each answer."""

    name: ClassVar[str] = "reference"

    _times: Int64 = field(factory=lambda: np.empty(0, np.int64), init=False)
    _values: Float64 = field(factory=lambda: np.empty(0), init=False)

    def _update(self, times: Int64, values: Float64) -> None:
        self._times, self._values = np.append(self._times, times), np.append(self._values, values)
        self._settle(int(times[-1]))

    def _settle(self, now: int | None) -> None:
        kept = self._times >= max((now or 0) - self.longest, -(2**62))
        self._times, self._values = self._times[kept], self._values[kept]

    def _oracle(self) -> QuantileOracle:
        return QuantileOracle(self._times, self._values)

    def _ask(self, since: int, parts: Int64, limits: Float64, values: Float64, shares: Float64) -> None:
        at = [part / BILLION for part in parts.tolist()]
        rows, quantiles, above = self._oracle().answer(since, 2**64, at, limits.tolist())
        if rows:
            values[:], shares[:] = np.reshape(quantiles, (-1, 3)), np.reshape(above, (-1, 3))

    def _count(self, since: int) -> tuple[float, float, float]:
        rows = float(len(self._oracle().inside(since, 2**64)))
        return rows, rows, rows

    def _merge(self, other: Self, now: int) -> None:
        self._times, self._values = np.append(self._times, other._times), np.append(self._values, other._values)
        order = np.lexsort((self._values, self._times))
        self._times, self._values = self._times[order], self._values[order]
        self._settle(now)

    def __len__(self) -> int:
        self._settle(self._now)
        return len(self._times)

    @property
    def nbytes(self) -> int:
        return 16 * len(self._times)

    def _state(self) -> dict[str, Array]:
        self._settle(self._now)
        order = np.lexsort((self._values, self._times))
        return {**self._clock(), **rows_to_state(self._times[order], self._values[order])}

    def _load(self, state: Mapping[str, Array]) -> None:
        self._set_clock(state["clock"])
        self._times, self._values = rows_from_state(StateReader(state), self._last)


@define(eq=False)
class Bounded(Reference):
    """The same, which declares an error of values and of ages."""

    alpha: float = number(0.01, above=0, below=1, help="for the tests")
    epsilon: float = number(0.02, above=0, below=1, help="for the tests")


@define(eq=False)
class Sampled(Reference):
    """The same, which may be wrong now and then."""

    epsilon: float = number(0.02, above=0, below=1, help="for the tests")
    delta: float = number(0.05, above=0, below=1, help="for the tests")
    seed: int = number(0, help="for the tests")


class RanksByFloat(Reference):
    """The rank is the product of floats, rounded up."""

    def _ask(self, since: int, parts: Int64, limits: Float64, values: Float64, shares: Float64) -> None:
        super()._ask(since, parts, limits, values, shares)
        inside = self._oracle().inside(since, 2**64)
        for place, part in enumerate(parts.tolist() if inside else ()):
            values[place] = inside[min(max(int(np.ceil(part / BILLION * len(inside))), 1), len(inside)) - 1]


class MergesNoneYounger(Reference):
    """What the other has from after its own last row is not merged."""

    def _merge(self, other: Self, now: int) -> None:
        last = int(self._times[-1]) if len(self._times) else 2**62
        twin, known = evolve(other), other._times <= last
        twin._times, twin._values = other._times[known], other._values[known]
        super()._merge(twin, now)


class RanksDown(Reference):
    """The rank is rounded down."""

    def _ask(self, since: int, parts: Int64, limits: Float64, values: Float64, shares: Float64) -> None:
        super()._ask(since, parts, limits, values, shares)
        inside = self._oracle().inside(since, 2**64)
        for place, part in enumerate(parts.tolist() if inside else ()):
            values[place] = inside[max(part * len(inside) // BILLION, 1) - 1]


class BeginExcluded(Reference):
    """A row at the moment itself does not count."""

    def _oracle(self) -> QuantileOracle:
        times = self._times - 1 if len(self._times) else self._times
        return QuantileOracle(times, self._values)


class AtOrAbove(Reference):
    """Rows at the limit count as above."""

    def _ask(self, since: int, parts: Int64, limits: Float64, values: Float64, shares: Float64) -> None:
        super()._ask(since, parts, np.nextafter(limits, -np.inf), values, shares)


class NegativesTurned(Reference):
    """Negative numbers stand in the order of their bits."""

    def _ask(self, since: int, parts: Int64, limits: Float64, values: Float64, shares: Float64) -> None:
        bits = self._values.view(np.int64)
        held, self._values = self._values, np.where(bits < 0, -np.inf, self._values)
        super()._ask(since, parts, limits, values, shares)
        self._values = held


class LowAbove(Reference):
    """The lower bound is above the value."""

    def _ask(self, since: int, parts: Int64, limits: Float64, values: Float64, shares: Float64) -> None:
        super()._ask(since, parts, limits, values, shares)
        values[:, 1] += 1


class ScalesAsOneGoes(Reference):
    """Each quantile goes on from where the last was found, even if it is smaller."""

    def _ask(self, since: int, parts: Int64, limits: Float64, values: Float64, shares: Float64) -> None:
        super()._ask(since, np.maximum.accumulate(parts), limits, values, shares)


class OneForNothing(Reference):
    """Of no rows every quantile is 0."""

    def quantiles(self, since: int, at: Sequence[float]) -> Float64:
        return np.nan_to_num(super().quantiles(since, at), posinf=np.inf, neginf=-np.inf)


class IgnoresAdvance(Reference):
    """What is past is kept until the next row."""

    def _settle(self, now: int | None) -> None:
        if now is None or len(self._times) == 0 or now <= int(self._times[-1]):
            super()._settle(now)


class GoesBack(Reference):
    """Time may go back."""

    def advance(self, now: int) -> None:
        self._now = now


class AnswersAtTheEnd(Reference):
    """Answers on the way through a batch know the rest of it."""

    def _answers(self, times: Int64, values: Float64, moments: Int64, *asked: Any) -> Any:
        if len(times):
            self._update(times, values)
            self._last = int(times[-1])
        return super()._answers(times[:0], values[:0], moments, *asked)


class ShortFloats(Reference):
    """Values are held in 32 bits."""

    def _update(self, times: Int64, values: Float64) -> None:
        with np.errstate(over="ignore"):
            super()._update(times, values.astype(np.float32).astype(np.float64))


class LargeStates(Reference):
    """A state has room for rows to come."""

    def _state(self) -> dict[str, Array]:
        return {**super()._state(), "room": np.zeros(512)}

    def _load(self, state: Mapping[str, Array]) -> None:
        state["room"]
        super()._load(state)


class TooNarrow(Sampled):
    """The bounds are around another value."""

    def _ask(self, since: int, parts: Int64, limits: Float64, values: Float64, shares: Float64) -> None:
        super()._ask(since, np.minimum(parts + BILLION // 50, BILLION), limits, values, shares)


class WrongNow(Bounded):
    """One row is left out of the count and of everything."""

    def _oracle(self) -> QuantileOracle:
        return QuantileOracle(self._times[1:], self._values[1:])


class OffByTwoAlpha(Bounded):
    """Values are off by twice what is declared, within bounds that say so."""

    def _ask(self, since: int, parts: Int64, limits: Float64, values: Float64, shares: Float64) -> None:
        super()._ask(since, parts, limits, values, shares)
        wide = 2 * self.alpha * np.abs(np.nan_to_num(values[:, 0], posinf=0, neginf=0))
        values[:, 1], values[:, 2] = values[:, 0] - wide, values[:, 0] + wide
        values[:, 0] = values[:, 2]


class RanksFarOff(Sampled):
    """Ranks are off by more than epsilon."""

    def _ask(self, since: int, parts: Int64, limits: Float64, values: Float64, shares: Float64) -> None:
        super()._ask(since, np.minimum(parts + 3 * BILLION // 10, BILLION), limits, values, shares)


class CountsBlur(Bounded):
    """Of some rows it is never known whether they count."""

    part = 0.1

    def _count(self, since: int) -> tuple[float, float, float]:
        rows, low, high = super()._count(since)
        return rows, np.floor(low * (1 - self.part)), high


class CountsBlurMuch(CountsBlur):
    """Of most rows."""

    part = 0.9


class NoBounds(Bounded):
    """The bounds say nothing."""

    def _ask(self, since: int, parts: Int64, limits: Float64, values: Float64, shares: Float64) -> None:
        super()._ask(since, parts, limits, values, shares)
        if not np.isnan(values).any():
            values[:, 1], values[:, 2] = -np.inf, np.inf


class SharesBlur(Bounded):
    """Shares are never exact."""

    def _ask(self, since: int, parts: Int64, limits: Float64, values: Float64, shares: Float64) -> None:
        super()._ask(since, parts, limits, values, shares)
        shares[:, 1] *= 0.99


class MergeReplaces(Reference):
    """The other's rows take the place of one's own."""

    def _merge(self, other: Self, now: int) -> None:
        self._times, self._values = other._times, other._values


class MergeTakes(Reference):
    """What is merged is taken away from the other."""

    def _merge(self, other: Self, now: int) -> None:
        super()._merge(other, now)
        other._times, other._values = other._times[:0], other._values[:0]


class MergeWithoutOrder(Reference):
    """The rows of the other come after those of one's own."""

    def _merge(self, other: Self, now: int) -> None:
        self._times, self._values = np.append(self._times, other._times), np.append(self._values, other._values)

    def _state(self) -> dict[str, Array]:
        return {**self._clock(), "times": self._times, "values": self._values}

    def _load(self, state: Mapping[str, Array]) -> None:
        self._set_clock(state["clock"])
        self._times, self._values = state["times"], state["values"]


class MergeForgetsNow(Reference):
    """What is merged has no row of the oldest tenth of the window."""

    def _merge(self, other: Self, now: int) -> None:
        super()._merge(other, now)
        kept = self._times >= now - self.longest * 9 // 10
        self._times, self._values = self._times[kept], self._values[kept]


class MergesAnything(Reference):
    """What has other parameters is merged."""

    def merge(self, other: Any) -> None:
        if isinstance(other, Reference) and other._now is not None:
            self._merge(other, other._now)


@define(eq=False)
class TakesAnyCuts(Reference):
    """Limits may be in any order."""

    cuts: Any = checked((), type="list of float", check=lambda _: None, help="for the tests")


class WritesOverAnswers(Reference):
    """The next answer is written over the last."""

    def quantiles(self, since: int, at: Sequence[float]) -> Float64:
        found = super().quantiles(since, at)
        if not hasattr(self, "_buffer"):
            self._buffer = np.zeros((1024, 3))
        self._buffer[: len(found)] = found
        return self._buffer[: len(found)]


class LosesAValueOfMany(Exact):
    """What does not fit into a buffer of 4096 rows is lost."""

    def _update(self, times: Int64, values: Float64) -> None:
        super()._update(times[:4096], values[:4096])


class SingleFloatsWhenMany(Exact):
    """Values are held in 32 bits when there are many."""

    def _update(self, times: Int64, values: Float64) -> None:
        super()._update(times, values.astype(np.float32).astype(np.float64) if len(self) > 5000 else values)


class FirstsMoments(Reference):
    """Together with others, it answers at the moments of the first."""

    @classmethod
    def _answers_together(cls, sketches, rows, spans, moments, questions):
        alike = [moments[0] if len(own) == len(moments[0]) else own for own in moments]
        return super()._answers_together(sketches, rows, spans, alike, questions)


class RefusedHalfway(Reference):
    """Together with others, those before one that is refused have had their turns."""

    @classmethod
    def answers_together(cls, sketches, times, values, *, spans, moments, **asked):
        parts = [slice(start, stop) for start, stop in np.array(spans).tolist()]
        each = zip(sketches, parts, moments, strict=True)
        return Answers.joined([one.answers(times[own], values[own], moments=at, **asked) for one, own, at in each])


def _info(cls: type[QuantileSketch], guarantee: str = "exact") -> BackendInfo:
    factory = f"{cls.__module__}:{cls.__qualname__}"
    return BackendInfo("quantile-sketch", "reference", factory, "the definition", guarantee, PAPER, lacks=_LACKS)


def _mutant(cls: type[QuantileSketch], *names: str, guarantee: str = "exact") -> Mutant:
    return _info(cls, guarantee), cls, names


REFERENCES = [
    (_info(Reference), Reference),
    (_info(Bounded, "bounded"), Bounded),
    (_info(Sampled, "bounded"), Sampled),
]
MUTANTS = [
    _mutant(MergesNoneYounger, "merged_is_the_sketch_of_both_streams"),
    _mutant(RanksByFloat, "shares_are_the_decimals_they_are_written_as"),
    _mutant(RanksDown, "tiny_streams_equal_the_oracle", "few_rows_are_exact"),
    _mutant(BeginExcluded, "seeded_streams_equal_the_oracle", "since_any_moment"),
    _mutant(AtOrAbove, "every_moment_equals_the_oracle"),
    _mutant(NegativesTurned, "odd_streams_equal_the_oracle"),
    _mutant(LowAbove, "answers_are_sound"),
    _mutant(ScalesAsOneGoes, "order_of_questions_does_not_matter"),
    _mutant(OneForNothing, "an_empty_window_has_no_answer"),
    _mutant(IgnoresAdvance, "an_empty_window_has_no_answer"),
    _mutant(GoesBack, "advance_is_idempotent"),
    _mutant(AnswersAtTheEnd, "answers_are_update_and_quantiles"),
    _mutant(ShortFloats, "odd_streams_equal_the_oracle", "equal_rows_have_one_quantile"),
    _mutant(LargeStates, "ten_rows_are_small"),
    _mutant(TooNarrow, "bounds_hold_the_truth", guarantee="bounded"),
    _mutant(WrongNow, "counts_are_exact_at_borders", "bounds_hold_the_truth", guarantee="bounded"),
    _mutant(OffByTwoAlpha, "errors_are_as_declared", "few_different_values_are_exact", guarantee="bounded"),
    _mutant(RanksFarOff, "errors_are_as_declared", guarantee="bounded"),
    _mutant(CountsBlur, "counts_are_exact_at_borders", "rows_of_unknown_side_are_few", guarantee="bounded"),
    _mutant(CountsBlurMuch, "united_counts_stay_near", guarantee="bounded"),
    _mutant(NoBounds, "bounds_are_no_wider", guarantee="bounded"),
    _mutant(SharesBlur, "shares_above_known_limits_are_exact_at_borders", guarantee="bounded"),
    _mutant(MergeReplaces, "merged_is_the_sketch_of_both_streams", "merged_goes_on"),
    _mutant(MergeTakes, "merged_is_the_sketch_of_both_streams"),
    _mutant(MergeWithoutOrder, "merge_commutes"),
    _mutant(MergeForgetsNow, "merged_is_the_sketch_of_both_streams"),
    _mutant(MergesAnything, "merge_refuses_other_sketches"),
    _mutant(TakesAnyCuts, "wrong_parameters_are_named"),
    _mutant(WritesOverAnswers, "answers_are_the_callers"),
    _mutant(SingleFloatsWhenMany, "large_streams_equal_a_fast_oracle"),
    _mutant(LosesAValueOfMany, "large_streams_cut_and_restored"),
    _mutant(FirstsMoments, "several_together_answer_as_each"),
    _mutant(RefusedHalfway, "several_together_answer_as_each"),
    *faulty(_info(Reference), Reference, globals()),
]
