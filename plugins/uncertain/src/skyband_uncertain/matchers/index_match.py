"""matcher/index-match: a grid over the bounding intervals of the tuples held."""

from typing import ClassVar, NamedTuple

import numpy as np
from attrs import define, field
from numba import njit
from skyband.arrays import Float64, Int64
from skyband.kernels.nested import nested_njit

from skyband_uncertain.matchers.pair_kernels import Found, every_pair, first_of, nothing, room
from skyband_uncertain.matchers.tuple_store import HoldingMatcher, Samples


class Grid(NamedTuple):
    """Cells of equal width: cell c has the tuples members[cells[c]] to members[cells[c + 1]]."""

    origin: float
    per_half: float
    cells: Int64
    members: Int64


@define(eq=False)
class IndexMatcher(HoldingMatcher):
    """Finds the tuples whose range of samples is within epsilon by a grid, and compares only those.

    A tuple's range covers all its samples, so no match is lost. The grid's cells are as wide as the larger of epsilon
    and the mean range, so that a tuple is in few of them.

    Parameters
    ----------
    epsilon : float
        two samples match if they differ by at most this much (at least 0)
    beta : float, default None
        drop matches below this probability; none: keep all (at least 0 and below 1)

    Complexity
    ----------
    A probe costs O(c + r·s²): c entries of the cells it visits, and r tuples compared, of s samples each. The grid is
    rebuilt after arrivals, in O(n) for n tuples held.

    References
    ----------
    Dallachiesa, Jacques-Silva, Gedik, Wu and Palpanas, Sliding windows over uncertain data streams, KAIS 2015, section
    6.2.1 (Index-Match), after Lian and Chen.

    Examples
    --------
    >>> import skyband
    >>> matcher = skyband.create("matcher", "index-match", epsilon=0.5)
    >>> matcher.append(offsets=[0, 2, 3], values=[1.0, 2.0, 9.0], probabilities=[0.5, 0.5, 1.0])
    >>> positions, probabilities = matcher.match(values=[1.2], probabilities=[1.0])
    >>> positions.tolist(), probabilities.tolist()
    ([0], [0.5])
    """

    name: ClassVar[str] = "index-match"

    _grid: Grid | None = field(default=None, init=False)

    def _add(self, tuples: Samples) -> None:
        HoldingMatcher._add(self, tuples)
        self._grid = None

    def _find(self, probes: Samples, starts: Int64, ends: Int64) -> Found:
        samples = self._held()
        if self._grid is None:
            self._grid = Grid(*_grid(samples.cuts, samples.values, self.epsilon))
        limits = self.epsilon, self.beta or 0.0
        matches: Found = _match(*probes, starts, ends, self._base, *samples, *self._grid, *limits)
        return matches

    @property
    def nbytes(self) -> int:
        """Bytes of the samples held and of the grid."""
        samples = sum(array.nbytes for array in self._since_start())
        return samples if self._grid is None else samples + self._grid.cells.nbytes + self._grid.members.nbytes


@njit(cache=True, nogil=True)
def _grid(cuts: Int64, v: Float64, epsilon: float) -> tuple[float, float, Int64, Int64]:
    """Build the grid, computing with halves so that no difference of finite values overflows."""
    low, high, width, filled = np.inf, -np.inf, 0.0, 0
    for t in range(len(cuts) - 1):
        if cuts[t] < cuts[t + 1]:
            least, most = 0.5 * v[cuts[t]], 0.5 * v[cuts[t + 1] - 1]
            low, high = min(low, least), max(high, most)
            filled += 1
            width += (most - least - width) / filled
    if filled == 0:
        return 0.0, 0.0, np.zeros(2, np.int64), np.empty(0, np.int64)
    width = max(width, 0.5 * epsilon, (high - low) / filled)
    per_half = 1.0 / width if width > 1e-300 else 0.0
    length = _cell(2.0 * high, 2.0 * low, per_half, 2**62) + 1
    cells = np.zeros(length + 1, np.int64)
    for t in range(len(cuts) - 1):
        if cuts[t] < cuts[t + 1]:
            last = _cell(v[cuts[t + 1] - 1], 2.0 * low, per_half, length)
            for cell in range(_cell(v[cuts[t]], 2.0 * low, per_half, length), last + 1):
                cells[cell + 1] += 1
    cells = np.cumsum(cells)
    members, filled_to = np.empty(cells[-1], np.int64), cells.copy()
    for t in range(len(cuts) - 1):
        if cuts[t] < cuts[t + 1]:
            last = _cell(v[cuts[t + 1] - 1], 2.0 * low, per_half, length)
            for cell in range(_cell(v[cuts[t]], 2.0 * low, per_half, length), last + 1):
                members[filled_to[cell]] = t
                filled_to[cell] += 1
    return 2.0 * low, per_half, cells, members


@nested_njit(nogil=True)
def _cell(value: float, origin: float, per_half: float, length: int) -> int:
    """The cell of a value. It is monotone, so an interval is in the cells from its least to its greatest value."""
    cell = (0.5 * value - 0.5 * origin) * per_half
    return int(min(max(cell, 0.0), length - 1.0))


@njit(cache=True, nogil=True)
def _match(
    probes: Int64, u: Float64, pu: Float64, starts: Int64, ends: Int64,
    base: int, cuts: Int64, v: Float64, pv: Float64,
    origin: float, per_half: float, cells: Int64, members: Int64, epsilon: float, beta: float,
) -> Found:  # fmt: skip
    found, count = nothing()
    near = np.zeros(len(cuts), np.bool_)
    for i in range(len(starts)):
        begin, end = probes[i], probes[i + 1]
        if begin == end:
            continue
        least, most = u[begin], u[end - 1]
        # Widened beyond epsilon by more than the rounding of the subtraction in the test.
        slack = 4e-16 * (max(abs(least), abs(most)) + epsilon)
        last = _cell(most + epsilon + slack, origin, per_half, len(cells) - 1)
        near[:] = False
        for cell in range(_cell(least - epsilon - slack, origin, per_half, len(cells) - 1), last + 1):
            for t in members[cells[cell] : cells[cell + 1]]:
                near[t] = v[cuts[t]] - most <= epsilon and least - v[cuts[t + 1] - 1] <= epsilon
        found = room(found, count, ends[i] - starts[i])
        for position in range(starts[i], ends[i]):
            t = position - base
            if near[t]:
                total = every_pair(u, pu, begin, end, v, pv, cuts[t], cuts[t + 1], epsilon)
                if total > 0.0 and total >= beta:
                    found[0][count], found[1][count], found[2][count] = i, position, total
                    count += 1
    return first_of(found, count)
