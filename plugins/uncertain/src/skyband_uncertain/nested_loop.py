"""matcher/nested-loop: every sample of a probe against every sample held, the paper's baseline."""
# mypy: disable-error-code="untyped-decorator"

from typing import ClassVar

from attrs import define
from numba import njit
from skyband.arrays import Float64, Int64

from skyband_uncertain.pair_kernels import Found, every_pair, first_of, nothing, room
from skyband_uncertain.tuple_store import HoldingMatcher, Samples


@define(eq=False)
class NestedLoopMatcher(HoldingMatcher):
    """No pruning at all: O(n·s^2) a probe, n tuples of s samples.

    Source: Dallachiesa et al., eq. 20 and 21; the baseline of section 7.4.3.
    """

    name: ClassVar[str] = "nested-loop"

    def _find(self, probes: Samples, starts: Int64, ends: Int64) -> Found:
        limits = self.epsilon, self.beta or 0.0
        found: Found = _match(*probes, starts, ends, self._base, *self._held(), *limits)
        return found


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
