"""Broken matchers, one bug each, beside the correct one they are made from."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from attrs import define, field
from skyband import BackendInfo
from skyband.arrays import Array, Float64, Int64
from skyband.config.parameters import number
from skyband.roles import Matcher
from skyband.state_validation import StateReader
from skyband_specs.faults import Mutant, faulty

Tuple = list[tuple[float, float]]


def tuples(offsets: Int64, values: Float64, probabilities: Float64) -> list[Tuple]:
    """Each tuple as (value, probability) pairs."""
    pairs = list(zip(values.tolist(), probabilities.tolist(), strict=True))
    return [pairs[begin:end] for begin, end in pairwise(offsets.tolist())]


@define(eq=False)
class Reference(Matcher):
    """The definition: every sample against every other."""

    name: ClassVar[str] = "reference"

    _held: list[Tuple] = field(factory=list, init=False)

    def _append(self, offsets: Int64, values: Float64, probabilities: Float64) -> None:
        self._held += [self._ordered(pairs) for pairs in tuples(offsets, values, probabilities)]

    def _ordered(self, pairs: Tuple) -> Tuple:
        return sorted(pairs)

    def _evict(self, start: int) -> None:
        del self._held[: start - self._start]

    def _match(
        self, offsets: Int64, values: Float64, probabilities: Float64, starts: Int64, ends: Int64
    ) -> tuple[Int64, Int64, Float64]:
        found: list[tuple[int, int, float]] = []
        for row, probe in enumerate(tuples(offsets, values, probabilities)):
            for position in self._range(starts[row], ends[row]):
                total = self._sum(self._ordered(probe), self._held[position - self._start])
                if self._wanted(total):
                    found.append((row, position, total))
        columns: Any = zip(*found, strict=True) if found else [[], [], []]
        rows, positions, totals = columns
        return np.array(rows, np.int64), np.array(positions, np.int64), np.array(totals, np.float64)

    def _range(self, start: int, end: int) -> range:
        return range(start, end)

    def _wanted(self, total: float) -> bool:
        return total > 0.0 and total >= (self.beta or 0.0)

    def _sum(self, probe: Tuple, other: Tuple) -> float:
        total = 0.0
        for u, pu in probe:
            for v, pv in other:
                if self._near(u, v):
                    total += pu * pv
        return total

    def _near(self, u: float, v: float) -> bool:
        return abs(u - v) <= self.epsilon

    @property
    def nbytes(self) -> int:
        return 16 * sum(map(len, self._held))

    def _state(self) -> dict[str, Array]:
        flat = [pair for pairs in self._held for pair in pairs]
        return {
            "bounds": np.array([self._start, self._end]),
            "offsets": np.cumsum([0, *map(len, self._held)]),
            "values": np.array([value for value, _ in flat], np.float64),
            "probabilities": np.array([share for _, share in flat], np.float64),
        }

    def _load(self, state: Mapping[str, Array]) -> None:
        read = StateReader(state)
        self._start, self._end = read.ascending("bounds", 2, at_least=0, at_most=2**62).tolist()
        offsets = read.offsets("offsets", self._end - self._start, len(state["values"]))
        self._held = tuples(offsets, state["values"], state["probabilities"])


EXACT = BackendInfo("matcher", "reference", "mutants.matcher:Reference", "for the tests", "exact", "Dallachiesa et al.")
REFERENCES = [(EXACT, Reference)]


class StaysAsAsked(Reference):
    """What an answer was found in is found anew only after more than one arrival."""

    known: int | None = None

    def _append(self, offsets: Int64, values: Float64, probabilities: Float64) -> None:
        super()._append(offsets, values, probabilities)
        if len(offsets) != 2:
            self.known = None

    def _match(
        self, offsets: Int64, values: Float64, probabilities: Float64, starts: Int64, ends: Int64
    ) -> tuple[Int64, Int64, Float64]:
        self.known = self._end if self.known is None else self.known
        return super()._match(offsets, values, probabilities, starts, np.minimum(ends, self.known))


class OpenBoundary(Reference):
    """Samples exactly epsilon apart do not match."""

    def _near(self, u: float, v: float) -> bool:
        return abs(u - v) < self.epsilon


class WidensWithoutRecheck(Reference):
    """Searches a little further than epsilon, as an index must, and takes what it finds."""

    def _near(self, u: float, v: float) -> bool:
        return u - self.epsilon * (1 + 1e-12) <= v <= u + self.epsilon * (1 + 1e-12)


class SearchesTheInterval(Reference):
    """Searches [u − epsilon, u + epsilon], whose ends are rounded otherwise than u − v."""

    def _near(self, u: float, v: float) -> bool:
        return u - self.epsilon <= v <= u + self.epsilon


class BetaIsStrict(Reference):
    """A match of exactly beta is left out."""

    def _wanted(self, total: float) -> bool:
        return total > (self.beta or 0.0)


class ForgetsBeta(Reference):
    """Matches below beta are told."""

    def _wanted(self, total: float) -> bool:
        return total > 0.0


class TellsOfNothing(Reference):
    """Tuples that cannot match are told with probability 0."""

    def _wanted(self, total: float) -> bool:
        return total >= (self.beta or 0.0)


class InTheOrderGiven(Reference):
    """Adds up in the order in which the samples came."""

    def _ordered(self, pairs: Tuple) -> Tuple:
        return pairs


class SinglePrecision(Reference):
    """Adds up in float32."""

    def _sum(self, probe: Tuple, other: Tuple) -> float:
        return float(np.float32(super()._sum(probe, other)))


class DividesByExistence(Reference):
    """Eq. 24 without eq. 25: the probability given that the tuple exists."""

    def _sum(self, probe: Tuple, other: Tuple) -> float:
        exists = sum(share for _, share in other)
        return super()._sum(probe, other) / exists if exists else 0.0


class BoundsSomeSamples(Reference):
    """Prunes by a ball that leaves the outermost samples out."""

    def _sum(self, probe: Tuple, other: Tuple) -> float:
        if len(other) > 4 and not any(self._near(u, other[1][0]) or self._near(u, other[-2][0]) for u, _ in probe):
            return 0.0
        return super()._sum(probe, other)


class EvictsLate(Reference):
    """The tuple evicted last still matches."""

    last: Tuple = []  # noqa: RUF012 - never changed in place

    def _evict(self, start: int) -> None:
        if start > self._start:
            self.last = self._held[start - self._start - 1]
        super()._evict(start)

    def _match(self, *probes: Any) -> tuple[Int64, Int64, Float64]:
        rows, positions, totals = super()._match(*probes)
        if self.last and not len(rows):
            return np.array([0]), np.array([self._start]), np.array([0.5])
        return rows, positions, totals


class IgnoresRanges(Reference):
    """Every probe sees all tuples held."""

    def _range(self, start: int, end: int) -> range:
        return range(self._start, self._end)


@define(eq=False)
class TakesAnyEpsilon(Reference):
    """A negative distance is taken."""

    epsilon: float = number(0.1, help="two samples match when they differ by at most this much")


ORACLE = ("tiny_streams_equal_the_oracle", "seeded_streams_equal_the_oracle", "every_moment_equals_the_oracle")


class DropsTheImprobable(Reference):
    """What is less than a millionth of a millionth is taken for nothing."""

    def _wanted(self, total: float) -> bool:
        return total > 1e-12 and super()._wanted(total)


class KeepsItsQuestion(Reference):
    """The last question is kept with its answer, as the arrays they came in."""

    def match_all(self, offsets: Any, values: Any, probabilities: Any, starts: Any = None, ends: Any = None) -> Any:
        state = (self._start, self._end, len(offsets), starts is None)
        known = getattr(self, "_known", None)
        if known is None or known[0] != state or not np.array_equal(known[1], values):
            answer = super().match_all(offsets, values, probabilities, starts, ends)
            known = self._known = (state, values, answer)
        return known[2]


MUTANTS: list[Mutant] = [
    (EXACT, DropsTheImprobable, ("odd_streams_equal_the_oracle",)),
    (EXACT, KeepsItsQuestion, ("answers_are_the_callers",)),
    *faulty(EXACT, Reference, globals()),
    (EXACT, StaysAsAsked, ("asking_changes_nothing",)),
    (EXACT, OpenBoundary, ("decimals_on_the_boundary_match", *ORACLE)),
    (EXACT, WidensWithoutRecheck, ("decimals_on_the_boundary_match",)),
    (EXACT, SearchesTheInterval, ("decimals_on_the_boundary_match",)),
    (EXACT, BetaIsStrict, ("beta_keeps_equality", "tiny_streams_equal_the_oracle")),
    (EXACT, ForgetsBeta, ("beta_keeps_equality", *ORACLE)),
    (EXACT, TellsOfNothing, ("tiny_streams_equal_the_oracle",)),
    (EXACT, InTheOrderGiven, ("samples_may_come_in_any_order",)),
    (EXACT, SinglePrecision, ("matches_are_the_share_of_worlds", "seeded_streams_equal_the_oracle")),
    (EXACT, DividesByExistence, ("matches_are_the_share_of_worlds", "tiny_streams_equal_the_oracle")),
    (EXACT, BoundsSomeSamples, ("matches_are_the_share_of_worlds", "seeded_streams_equal_the_oracle")),
    (EXACT, EvictsLate, ("evicted_tuples_do_not_match",)),
    (EXACT, IgnoresRanges, ("many_probes_are_as_many_matches",)),
    (EXACT, TakesAnyEpsilon, ("wrong_parameters_are_named",)),
]
