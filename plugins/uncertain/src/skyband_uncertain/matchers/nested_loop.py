"""matcher/nested-loop: compares every sample of a probe with every sample held, the paper's baseline."""

from typing import ClassVar

import skyband.kernels.numba_compiler_patches  # noqa: F401 - lets numba continue without a cache folder
from attrs import define
from numba import njit
from skyband.arrays import Float64, Int64

from skyband_uncertain.matchers.pair_kernels import Found, every_pair, first_of, nothing, room
from skyband_uncertain.matchers.tuple_store import HoldingMatcher, Samples


@define(eq=False)
class NestedLoopMatcher(HoldingMatcher):
    """Compares every sample of a probe with every sample held: the paper's baseline.

    Nothing is pruned and no index is kept. Use it to check another matcher, or for few tuples.

    Parameters
    ----------
    epsilon : float
        two samples match if they differ by at most this much (at least 0)
    beta : float, default None
        drop matches below this probability; none: keep all (at least 0 and below 1)

    Complexity
    ----------
    A probe costs O(n·s²), for n tuples held of s samples each.

    References
    ----------
    Dallachiesa, Jacques-Silva, Gedik, Wu and Palpanas, Sliding windows over uncertain data streams, KAIS 2015,
    equations 20 and 21; the baseline of section 7.4.3.

    Examples
    --------
    >>> import skyband
    >>> matcher = skyband.create("matcher", "nested-loop", epsilon=0.5)
    >>> matcher.append(offsets=[0, 2, 3], values=[1.0, 2.0, 9.0], probabilities=[0.5, 0.5, 1.0])
    >>> positions, probabilities = matcher.match(values=[1.2], probabilities=[1.0])
    >>> positions.tolist(), probabilities.tolist()
    ([0], [0.5])
    """

    name: ClassVar[str] = "nested-loop"

    def _find(self, probes: Samples, starts: Int64, ends: Int64) -> Found:
        limits = self.epsilon, self.beta or 0.0
        matches: Found = _match(*probes, starts, ends, self._base, *self._held(), *limits)
        return matches


@njit(cache=True, nogil=True)
def _match(
    probes: Int64, u: Float64, pu: Float64, starts: Int64, ends: Int64,
    base: int, cuts: Int64, v: Float64, pv: Float64, epsilon: float, beta: float,
) -> Found:  # fmt: skip
    found, count = nothing()
    for i in range(len(starts)):
        found = room(found, count, ends[i] - starts[i])
        for position in range(starts[i], ends[i]):
            t = position - base
            total = every_pair(u, pu, probes[i], probes[i + 1], v, pv, cuts[t], cuts[t + 1], epsilon)
            if total > 0.0 and total >= beta:
                found[0][count], found[1][count], found[2][count] = i, position, total
                count += 1
    return first_of(found, count)
