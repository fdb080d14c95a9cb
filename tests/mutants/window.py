"""Broken windows, one bug each, beside the correct one they are made from."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from attrs import define, field
from skyband import BackendInfo
from skyband.arrays import Array, Float64, Int64
from skyband.config.parameters import integer
from skyband.roles import Window
from skyband.state_validation import StateReader
from skyband_specs.faults import Mutant, faulty


def fewer_than(size: int, probabilities: Float64) -> float:
    """P(fewer than `size` exist)."""
    row = np.zeros(size)
    row[0] = 1.0
    for p in probabilities.tolist():
        shifted = row[:-1] * p
        row *= 1.0 - p
        row[1:] += shifted
    return min(float(row.sum()), 1.0)


@define(eq=False)
class Reference(Window):
    """The definition: the recurrence of eq. 10 for every test."""

    name: ClassVar[str] = "reference"

    _held: Float64 = field(factory=lambda: np.empty(0), init=False)

    def _append(self, probabilities: Float64) -> Int64:
        return np.array([self._arrive(p) for p in probabilities], np.int64)

    def _arrive(self, probability: float) -> int:
        self._held = np.append(self._held, probability)
        while self._may_go(self._held[1:]):
            self._held = self._held[1:]
            self._start += 1
        return self._start

    def _may_go(self, younger: Float64) -> bool:
        if len(younger) < self.size:
            return False
        if self.alpha == 1.0 and not self.beta:
            return int((younger == 1.0).sum()) >= self.size
        return self._enough(fewer_than(self.size, younger))

    def _enough(self, below: float) -> bool:
        return below <= 1.0 - self.alpha or below < (self.beta or 0.0)

    def _presence(self, probabilities: Float64, positions: Int64, ends: Int64) -> Float64:
        pairs = zip(positions.tolist(), ends.tolist(), strict=True)
        return np.array([self._one(probabilities[position + 1 : end]) for position, end in pairs], np.float64)

    def _one(self, younger: Float64) -> float:
        return fewer_than(self.size, younger) if len(younger) >= self.size else 1.0

    def _kept(self) -> Float64:
        return self._held.copy()

    @property
    def nbytes(self) -> int:
        return self._held.nbytes

    def _state(self) -> dict[str, Array]:
        return {"held": self._held, "bounds": np.array([self._start, self._end])}

    def _load(self, state: Mapping[str, Array]) -> None:
        read = StateReader(state)
        self._start, self._end = read.ascending("bounds", 2, at_least=0, at_most=2**62).tolist()
        self._held = read.column("held", np.float64, self._end - self._start, at_least=0, at_most=1).copy()


EXACT = BackendInfo("window", "reference", "mutants.window:Reference", "for the tests", "exact", "Dallachiesa et al.")
REFERENCES = [(EXACT, Reference)]


class PrintedBeta(Reference):
    """Eq. 28 as it is printed: a tuple goes although its presence equals beta."""

    def _enough(self, below: float) -> bool:
        return below <= max(1.0 - self.alpha, self.beta or -1.0)


class StrictAlpha(Reference):
    """A suffix that reaches alpha exactly does not do."""

    def _enough(self, below: float) -> bool:
        return below < 1.0 - self.alpha or (super()._enough(below) and below != 1.0 - self.alpha)


class StrictWhereBothAgree(Reference):
    """Where alpha and beta ask for the same, the stricter comparison is made."""

    def _enough(self, below: float) -> bool:
        return below < (self.beta or 0.0) or (below <= 1.0 - self.alpha and self.beta != 1.0 - self.alpha)


class ForgetsBeta(Reference):
    """uncert-evict where uncert-evict-beta was asked for."""

    def _enough(self, below: float) -> bool:
        return below <= 1.0 - self.alpha


class ByTheMean(Reference):
    """Evicts when enough tuples are expected, or nearly."""

    def _may_go(self, younger: Float64) -> bool:
        return float(younger.sum()) > self.size - 1.5


class WholeHistory(Reference):
    """Keeps everything."""

    def _may_go(self, younger: Float64) -> bool:
        return False


class PlainWindow(Reference):
    """The last `size` tuples, whether or not they exist."""

    def _may_go(self, younger: Float64) -> bool:
        return len(younger) >= self.size


class OneTooMany(Reference):
    """Keeps a tuple more than it must."""

    def _may_go(self, younger: Float64) -> bool:
        return super()._may_go(younger[1:])


class AlmostCertain(Reference):
    """Takes what floats cannot tell from certainty for certain."""

    def _may_go(self, younger: Float64) -> bool:
        return len(younger) >= self.size and self._enough(round(fewer_than(self.size, younger), 12))


class CountsItself(Reference):
    """A tuple's presence counts the tuple among its younger ones."""

    def _presence(self, probabilities: Float64, positions: Int64, ends: Int64) -> Float64:
        return super()._presence(probabilities, positions - 1, ends)


class AboveOne(Reference):
    """Presence is rounded up past 1."""

    def _one(self, younger: Float64) -> float:
        return super()._one(younger) * (1.0 + 1e-13)


class PresenceOfNow(Reference):
    """Asked of an earlier arrival, presence counts what came later."""

    def _presence(self, probabilities: Float64, positions: Int64, ends: Int64) -> Float64:
        return super()._presence(probabilities, positions, np.full(len(ends), len(probabilities)))


class PresenceByTheMean(Reference):
    """Presence is 1 until as many younger tuples as the window holds are expected, then 0."""

    def _one(self, younger: Float64) -> float:
        return float(younger.sum() < self.size)


class ReturnsTheLastStart(Reference):
    """Of many arrivals, only the last start is told."""

    def _append(self, probabilities: Float64) -> Int64:
        return np.full(len(probabilities), super()._append(probabilities)[-1:].sum())


class MovesBack(Reference):
    """The start that is told wavers."""

    def _append(self, probabilities: Float64) -> Int64:
        starts = super()._append(probabilities)
        starts[1:-1:2] = np.maximum(starts[1:-1:2] - 1, 0)
        return starts


class Drifts(Reference):
    """What is left of each tuple after its eviction piles up in a running sum."""

    residue = 0.0

    def _enough(self, below: float) -> bool:
        self.residue += 3e-5
        return super()._enough(below - self.residue)


class PresenceDrifts(Reference):
    """The same, in what is asked."""

    def _one(self, younger: Float64) -> float:
        return max(super()._one(younger) - 1e-15 * self._end, 0.0) if len(younger) >= self.size else 1.0


@define(eq=False)
class TakesSizeZero(Reference):
    """A window of no tuples is taken."""

    size: int = integer(2, help="existing tuples the window must hold")


ORACLE = ("tiny_streams_equal_the_oracle", "seeded_streams_equal_the_oracle", "every_moment_equals_the_oracle")


class NearlyIsCertain(Reference):
    """A tuple that is all but certain to exist is taken for certain."""

    def _append(self, probabilities: Float64) -> Int64:
        return super()._append(np.where(probabilities > 1.0 - 1e-11, 1.0, probabilities))


class WritesOverPresence(Reference):
    """The next presence is written over the last."""

    def presence(self) -> Float64:
        if not hasattr(self, "_buffer"):
            self._buffer = np.zeros(10_000)
        self._buffer[: len(self)] = super().presence()
        return self._buffer[: len(self)]


MUTANTS: list[Mutant] = [
    (EXACT, NearlyIsCertain, ("odd_streams_equal_the_oracle",)),
    (EXACT, WritesOverPresence, ("answers_are_the_callers",)),
    *faulty(EXACT, Reference, globals()),
    (EXACT, PrintedBeta, ("beta_is_strict", "tiny_streams_equal_the_oracle")),
    (EXACT, StrictWhereBothAgree, ("beta_is_strict",)),
    (EXACT, StrictAlpha, ("tiny_streams_equal_the_oracle",)),
    (EXACT, ForgetsBeta, ("beta_is_strict", *ORACLE)),
    (EXACT, ByTheMean, ("start_never_moves_back", *ORACLE)),
    (EXACT, WholeHistory, ("certain_streams_have_plain_windows", "steady_stream_holds_steady_memory", *ORACLE)),
    (EXACT, PlainWindow, ("certainty_takes_certain_tuples", *ORACLE)),
    (EXACT, OneTooMany, ("certain_streams_have_plain_windows", *ORACLE)),
    (EXACT, AlmostCertain, ("certainty_takes_certain_tuples",)),
    (EXACT, CountsItself, ("presence_is_a_probability", *ORACLE)),
    (EXACT, AboveOne, ("presence_is_a_probability",)),
    (EXACT, PresenceOfNow, ("presence_among_is_presence_at_that_time",)),
    (EXACT, PresenceByTheMean, ORACLE),
    (EXACT, ReturnsTheLastStart, ("append_returns_the_start_after_each_arrival",)),
    (EXACT, MovesBack, ("start_never_moves_back", "append_returns_the_start_after_each_arrival")),
    (EXACT, Drifts, ("long_streams_leave_no_drift",)),
    (EXACT, TakesSizeZero, ("wrong_parameters_are_named",)),
]
