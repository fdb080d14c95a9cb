"""The uncertain tuples that a matcher holds, in the form that all matchers use and snapshot."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from attrs import define, field
from skyband.arrays import Array, Float64, Int64
from skyband.roles.matcher import Matcher, checked_tuples
from skyband.state_validation import StateReader

from skyband_uncertain.matchers.pair_kernels import Found, sort_each
from skyband_uncertain.windows.window_base import MOST_POSITIONS

FEW = 40
"""The most samples of a tuple to sort by insertion."""


class Samples(NamedTuple):
    """Tuples as flat arrays: tuple i has the samples cuts[i] to cuts[i + 1], ascending by (value, probability)."""

    cuts: Int64
    values: Float64
    probabilities: Float64


def in_order(offsets: Int64, values: Float64, probabilities: Float64) -> Samples:
    """The tuples with their samples in the order of summation. O(m log m)."""
    if len(values) <= FEW or (np.diff(offsets) <= FEW).all():
        return Samples(writable(offsets), *sort_each(offsets, values, probabilities))
    owners = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    order = np.lexsort((probabilities, values, owners))
    return Samples(writable(offsets), values[order], probabilities[order])


def writable(array: Array) -> Array:
    """A copy of a read-only array, which is another type to numba and would compile kernels again."""
    return array if array.flags.writeable else array.copy()


@define(eq=False)
class HoldingMatcher(Matcher):
    """A matcher that keeps its tuples as `Samples`, from which its index can be rebuilt.

    The arrays grow by doubling, and drop their front when they are full: amortised O(1) per sample.
    """

    _base: int = field(default=0, init=False)
    _count: int = field(default=0, init=False)
    _cuts: Int64 = field(factory=lambda: np.zeros(1, np.int64), init=False)
    _values: Float64 = field(factory=lambda: np.empty(0), init=False)
    _weights: Float64 = field(factory=lambda: np.empty(0), init=False)

    def _append(self, offsets: Int64, values: Float64, probabilities: Float64) -> None:
        self._add(in_order(offsets, values, probabilities))

    def _add(self, tuples: Samples) -> None:
        arrivals = len(tuples.cuts) - 1
        used = int(self._cuts[self._count])
        if self._count + arrivals >= len(self._cuts) or used + len(tuples.values) > len(self._values):
            used = self._forget(arrivals, len(tuples.values))
        self._cuts[self._count + 1 : self._count + arrivals + 1] = tuples.cuts[1:] + used
        self._values[used : used + len(tuples.values)] = tuples.values
        self._weights[used : used + len(tuples.values)] = tuples.probabilities
        self._count += arrivals

    def _forget(self, arrivals: int, samples: int) -> int:
        """Drop the evicted tuples and make room for as many again; returns how many samples are left."""
        cuts, values, weights = self._since_start()
        count, remaining = len(cuts) - 1, len(values)
        self._cuts = np.zeros(2 * (count + arrivals) + 1, np.int64)
        self._values, self._weights = np.empty(2 * (remaining + samples)), np.empty(2 * (remaining + samples))
        self._cuts[: count + 1], self._values[:remaining], self._weights[:remaining] = cuts, values, weights
        self._base, self._count = self._start, count
        return remaining

    def _match(self, offsets: Int64, values: Float64, probabilities: Float64, starts: Int64, ends: Int64) -> Found:
        return self._find(in_order(offsets, values, probabilities), writable(starts), writable(ends))

    @abstractmethod
    def _find(self, probes: Samples, starts: Int64, ends: Int64) -> Found:
        """The matches of each probe among the tuples held from starts[i] to ends[i], ascending."""

    def _evict(self, start: int) -> None:
        """Evicted tuples are outside every probe's range; `_forget` drops them."""

    def _held(self) -> Samples:
        """The tuples from position `_base` on; the arrays are views."""
        used = int(self._cuts[self._count])
        return Samples(self._cuts[: self._count + 1], self._values[:used], self._weights[:used])

    def _since_start(self) -> Samples:
        cuts, values, weights = self._held()
        first = self._start - self._base
        begin = cuts[first]
        return Samples(cuts[first:] - begin, values[begin:], weights[begin:])

    def _state(self) -> dict[str, Array]:
        return {"bounds": np.array([self._start, self._end]), **self._since_start()._asdict()}

    def _load(self, state: Mapping[str, Array]) -> None:
        reader = StateReader(state)
        self._start, self._end = reader.ascending("bounds", 2, at_least=0, at_most=MOST_POSITIONS).tolist()
        cuts = reader.column("cuts", np.int64, self._end - self._start + 1)
        values, weights = (reader.column(name, np.float64) for name in ("values", "probabilities"))
        checked_tuples(cuts, values, weights)
        falls = (values[1:] < values[:-1]) | ((values[1:] == values[:-1]) & (weights[1:] < weights[:-1]))
        begins = np.zeros(len(values) + 1, bool)
        begins[cuts] = True
        reader.require(not (falls & ~begins[1:-1]).any(), "values", "must be in order within a tuple")
        self._base = self._start
        self._add(Samples(cuts, values, weights))

    @property
    def nbytes(self) -> int:
        """Bytes of the samples held."""
        samples = int(self._cuts[self._count] - self._cuts[self._start - self._base])
        return 8 * (len(self) + 1) + 16 * samples
