"""matcher/block: rejects pairs by their probability mass, and compares the rest in blocks of tuples."""

from typing import ClassVar

import numpy as np
from attrs import define, field
from skyband.arrays import Float64, Int64

from skyband_uncertain.matchers.block_kernels import mark, match
from skyband_uncertain.matchers.pair_kernels import Found
from skyband_uncertain.matchers.tuple_store import HoldingMatcher, Samples


@define(eq=False)
class BlockMatcher(HoldingMatcher):
    """Rejects most tuples by four numbers each, then compares the rest in blocks of many tuples. The default.

    Samples of a tuple that match one sample of the other tuple are within 2·epsilon of each other. So a match is at
    most as probable as the tuple's most probable interval of that length. And unless the two tuples' quantiles at
    beta/2 from either end are within epsilon, the rest is less probable than beta. Without beta, these quantiles are
    the ends of the tuples' ranges. The bounds also hold for rounded sums, so no match is lost.

    Parameters
    ----------
    epsilon : float
        two samples match if they differ by at most this much (at least 0)
    beta : float, default None
        drop matches below this probability; none: keep all (at least 0 and below 1)

    Complexity
    ----------
    A probe costs O(n + r·s²) with vector instructions, for n tuples held of s samples each, r of them not rejected.
    On the paper's streams r was 3 to 14 of 100.

    References
    ----------
    Dallachiesa, Jacques-Silva, Gedik, Wu and Palpanas, Sliding windows over uncertain data streams, KAIS 2015, equation
    21 defines the probability. The bounds are Skyband's own.

    Examples
    --------
    >>> import skyband
    >>> matcher = skyband.create("matcher", "block", epsilon=0.5)
    >>> matcher.append(offsets=[0, 2, 3], values=[1.0, 2.0, 9.0], probabilities=[0.5, 0.5, 1.0])
    >>> positions, probabilities = matcher.match(values=[1.2], probabilities=[1.0])
    >>> positions.tolist(), probabilities.tolist()
    ([0], [0.5])
    """

    name: ClassVar[str] = "block"

    _marks: Float64 = field(factory=lambda: np.empty((4, 0)), init=False)

    def _add(self, tuples: Samples) -> None:
        HoldingMatcher._add(self, tuples)
        limits = self.epsilon, self.beta or 0.0
        if self._marks.shape[1] == len(self._cuts):
            mark(*tuples, *limits, self._marks, self._count - len(tuples.cuts) + 1)
        else:
            self._marks = np.empty((4, len(self._cuts)))
            mark(*self._held(), *limits, self._marks, 0)

    def _forget(self, arrivals: int, samples: int) -> int:
        self._marks = np.empty((4, 0))
        return HoldingMatcher._forget(self, arrivals, samples)

    def _find(self, probes: Samples, starts: Int64, ends: Int64) -> Found:
        marks = np.empty((4, len(starts)))
        limits = self.epsilon, self.beta or 0.0
        mark(*probes, *limits, marks, 0)
        matches: Found = match(*probes, marks, starts, ends, self._base, *self._held(), self._marks, *limits)
        return matches

    @property
    def nbytes(self) -> int:
        """Bytes of the samples held and of four numbers per tuple."""
        return super().nbytes + 32 * len(self)
