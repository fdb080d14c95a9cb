"""The base of the approximate windows: running sums of the moments of the count, eq. 11 to 13."""

from typing import ClassVar

import numpy as np
from attrs import define, field
from skyband.arrays import Float64, Int64
from skyband.errors import SnapshotError

from skyband_uncertain.windows import poisson_binomial_moments_kernels as kernels
from skyband_uncertain.windows.window_base import KeptWindow


@define(eq=False)
class MomentsWindow(KeptWindow):
    """A window that decides by the mean, variance and skewness of the number of existing tuples.

    The sums are whole multiples of a fixed fraction, so that subtraction leaves no residue in streams of any length.
    With alpha = 1 no approximation is needed, and none is used.
    """

    kind: ClassVar[int]

    _sums: Int64 = field(factory=lambda: np.zeros(3, np.int64), init=False)

    @property
    def _scale(self) -> float:
        """Steps per unit, such that sums stay below 2^62."""
        return float(2 ** max(0, 62 - self._most.bit_length()))

    @property
    def _most(self) -> int:
        """The largest number of existing tuples of any window."""
        return 4 * self.size + 4096

    def _decide(self, first: int) -> Int64:
        history, threshold = self._history, self._threshold
        p = history.buffer[: history.count]
        starts = np.empty(len(p) - first, np.int64)
        start = self._start - history.base
        limit = float(threshold.limit)
        kernels.advance(
            p, start, first, self._sums, starts,
            self.kind, self.size, self._scale, limit, threshold.strict, self._mean_limit(),
        )  # fmt: skip
        return starts

    def _mean_limit(self) -> int:
        """The mean, in steps, from which on the oldest tuple is dropped, if the mean alone decides."""
        return 0

    def _taken_over(self) -> None:
        younger = self._history.buffer[1 : self._history.count]
        if not self._threshold.certain and float(younger.sum()) > self._most:
            raise SnapshotError(f"is inconsistent: probabilities: must not sum to more than {self._most}")
        self._sums[:] = kernels.sums_of(younger, self._scale)

    def _presence(self, probabilities: Float64, positions: Int64, ends: Int64) -> Float64:
        out, presences = np.empty(len(positions)), np.empty(len(positions))
        order = np.lexsort((-positions, ends))
        kernels.presence(probabilities, positions[order], ends[order], self.kind, self.size, self._scale, presences)
        out[order] = presences
        return out
