"""matcher/sort-match: one ascending array of all samples held, searched for each sample of a probe."""

from typing import ClassVar

import numpy as np
from attrs import define, field
from numba import njit
from skyband.arrays import Float64, Int64
from skyband.kernels.nested import nested_njit

from skyband_uncertain.matchers.pair_kernels import Found, first_of, nothing, room
from skyband_uncertain.matchers.tuple_store import HoldingMatcher, Samples


@define(eq=False)
class SortMatcher(HoldingMatcher):
    """Keeps all samples in one sorted array, and scans only those within epsilon of a probe's samples.

    The paper keeps the samples in a red-black tree; here it is a flat array. Evicted samples are removed once they are
    a quarter of it. Use it if epsilon is small, so that few samples are near.

    Parameters
    ----------
    epsilon : float
        two samples match if they differ by at most this much (at least 0)
    beta : float, default None
        drop matches below this probability; none: keep all (at least 0 and below 1)

    Complexity
    ----------
    A probe costs O(s·log m + r) for its s samples, m samples held, and r of them near. A batch of arrivals is merged
    in O(m).

    References
    ----------
    Dallachiesa, Jacques-Silva, Gedik, Wu and Palpanas, Sliding windows over uncertain data streams, KAIS 2015, section
    6.2.2 (Sort-Match).

    Examples
    --------
    >>> import skyband
    >>> matcher = skyband.create("matcher", "sort-match", epsilon=0.5)
    >>> matcher.append(offsets=[0, 2, 3], values=[1.0, 2.0, 9.0], probabilities=[0.5, 0.5, 1.0])
    >>> positions, probabilities = matcher.match(values=[1.2], probabilities=[1.0])
    >>> positions.tolist(), probabilities.tolist()
    ([0], [0.5])
    """

    name: ClassVar[str] = "sort-match"

    _sorted: Float64 = field(factory=lambda: np.empty(0), init=False)
    _shares: Float64 = field(factory=lambda: np.empty(0), init=False)
    _owners: Int64 = field(factory=lambda: np.empty(0, np.int64), init=False)
    _swept: int = field(default=0, init=False)

    def _add(self, tuples: Samples) -> None:
        HoldingMatcher._add(self, tuples)
        if 4 * (self._start - self._swept) > self._base + self._count - self._swept:
            alive = self._owners >= self._start
            self._sorted, self._shares = self._sorted[alive], self._shares[alive]
            self._owners, self._swept = self._owners[alive], self._start
        arrivals = len(tuples.cuts) - 1
        first = self._base + self._count - arrivals
        owners = np.repeat(np.arange(first, first + arrivals), np.diff(tuples.cuts))
        order = np.lexsort((tuples.probabilities, tuples.values))
        places = np.searchsorted(self._sorted, tuples.values[order])
        self._sorted = np.insert(self._sorted, places, tuples.values[order])
        self._shares = np.insert(self._shares, places, tuples.probabilities[order])
        self._owners = np.insert(self._owners, places, owners[order])

    def _find(self, probes: Samples, starts: Int64, ends: Int64) -> Found:
        merged = self._sorted, self._shares, self._owners
        limits = self.epsilon, self.beta or 0.0
        matches: Found = _match(*probes, starts, ends, self._swept, self._base + self._count, *merged, *limits)
        return matches

    @property
    def nbytes(self) -> int:
        """Bytes of the samples held, in order of arrival and of value."""
        return sum(array.nbytes for array in (*self._since_start(), self._sorted, self._shares, self._owners))


@njit(cache=True, nogil=True)
def _match(
    probes: Int64, u: Float64, pu: Float64, starts: Int64, ends: Int64, oldest: int, youngest: int,
    v: Float64, pv: Float64, owners: Int64, epsilon: float, beta: float,
) -> Found:  # fmt: skip
    """The terms of one tuple are added in the defined order: by probe sample, then by value."""
    found, count = nothing()
    totals = np.zeros(youngest - oldest)
    for i in range(len(starts)):
        found = room(found, count, ends[i] - starts[i])
        totals[:] = 0.0
        for a in range(probes[i], probes[i + 1]):
            value, weight = u[a], pu[a]
            b = _first_near(v, value, epsilon)
            while b < len(v) and v[b] - value <= epsilon:
                totals[owners[b] - oldest] += weight * pv[b]
                b += 1
        for position in range(starts[i], ends[i]):
            total = totals[position - oldest]
            if total > 0.0 and total >= beta:
                found[0][count], found[1][count], found[2][count] = i, position, total
                count += 1
    return first_of(found, count)


@nested_njit(nogil=True)
def _first_near(v: Float64, value: float, epsilon: float) -> int:
    """The first place with value − v <= epsilon, by the same subtraction that decides a match."""
    low, high = 0, len(v)
    while low < high:
        middle = (low + high) // 2
        if value - v[middle] > epsilon:
            low = middle + 1
        else:
            high = middle
    return low
