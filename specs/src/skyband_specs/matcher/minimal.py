"""matcher/mine: compares every sample of a probe with every sample kept."""

from collections.abc import Mapping
from itertools import pairwise
from typing import ClassVar

import numpy as np
from attrs import define, field
from skyband.arrays import Array, Float64, Int64
from skyband.roles import Matcher
from skyband.state_validation import StateReader

Samples = list[tuple[float, float]]
"""One tuple: its values, each with its probability."""


@define(eq=False)
class MineMatcher(Matcher):
    """Compares every sample of a probe with every sample kept.

    Parameters
    ----------
    epsilon : float
        two samples match if they differ by at most this much (at least 0)
    beta : float, default None
        drop matches below this probability; none: keep all (at least 0 and below 1)

    Complexity
    ----------
    A probe costs O(its samples · samples held).

    References
    ----------
    The definition: the sum of Pr(u)·Pr(v) over the samples within epsilon.

    Examples
    --------
    >>> import skyband
    >>> matcher = skyband.create("matcher", "mine", epsilon=0.5)
    >>> matcher.append(offsets=[0, 2, 3], values=[1.0, 2.0, 9.0], probabilities=[0.5, 0.5, 1.0])
    >>> positions, probabilities = matcher.match(values=[1.2], probabilities=[1.0])
    >>> positions.tolist(), probabilities.tolist()
    ([0], [0.5])
    """

    name: ClassVar[str] = "mine"

    _held: list[Samples] = field(factory=list, init=False)

    def _append(self, offsets: Int64, values: Float64, probabilities: Float64) -> None:
        self._held += tuples(offsets, values, probabilities)

    def _evict(self, start: int) -> None:
        del self._held[: start - self._start]

    def _match(
        self, offsets: Int64, values: Float64, probabilities: Float64, starts: Int64, ends: Int64
    ) -> tuple[Int64, Int64, Float64]:
        found: list[tuple[int, int, float]] = []
        for number, probe in enumerate(tuples(offsets, values, probabilities)):
            for position in range(starts[number], ends[number]):
                chance = self._chance(probe, self._held[position - self._start])
                if chance > 0.0 and chance >= (self.beta or 0.0):
                    found.append((number, position, chance))
        numbers, positions, chances = zip(*found, strict=True) if found else ((), (), ())
        return np.array(numbers, np.int64), np.array(positions, np.int64), np.array(chances, np.float64)

    def _chance(self, probe: Samples, other: Samples) -> float:
        total = 0.0
        for u, pu in probe:  # the order of the sum is the role's, so that all matchers give the same bits
            for v, pv in other:
                if abs(u - v) <= self.epsilon:
                    total += pu * pv
        return total

    @property
    def nbytes(self) -> int:
        return 16 * sum(map(len, self._held))

    def _state(self) -> dict[str, Array]:
        flat = np.array([sample for samples in self._held for sample in samples], np.float64).reshape(-1, 2)
        return {
            "bounds": np.array([self._start, self._end], np.int64),
            "offsets": np.cumsum([0, *map(len, self._held)], dtype=np.int64),
            "values": flat[:, 0],
            "probabilities": flat[:, 1],
        }

    def _load(self, state: Mapping[str, Array]) -> None:
        read = StateReader(state)  # a state may come from anyone: check it before using it
        self._start, self._end = read.ascending("bounds", 2, at_least=0, at_most=2**62).tolist()
        values = read.column("values", np.float64)
        shares = read.column("probabilities", np.float64, len(values), at_least=0, at_most=1)
        self._held = tuples(read.offsets("offsets", self._end - self._start, len(values)), values, shares)


def tuples(offsets: Int64, values: Float64, probabilities: Float64) -> list[Samples]:
    """The samples of each tuple, ascending by (value, probability)."""
    samples = list(zip(values.tolist(), probabilities.tolist(), strict=True))
    return [sorted(samples[begin:end]) for begin, end in pairwise(offsets.tolist())]
