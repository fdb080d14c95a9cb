"""window/poisson: the number of existing tuples taken for a Poisson variable."""

from typing import ClassVar

from attrs import define, field

from skyband_uncertain import count_moments_kernels as kernels
from skyband_uncertain.count_moments import MomentsWindow


@define(eq=False)
class PoissonWindow(MomentsWindow):
    """Keeps too many tuples: a Poisson count varies as much as if every tuple were improbable.

    O(1) an arrival: a test compares the mean with the one that reaches alpha, found once.

    Source: Dallachiesa et al., eq. 14, read as the sum over i < size of mu^i e^−mu / i!.
    """

    name: ClassVar[str] = "poisson"
    kind: ClassVar[int] = kernels.POISSON

    _found: int | None = field(default=None, init=False)

    def _mean_limit(self) -> int:
        if self._found is None:
            threshold = self._threshold
            self._found = kernels.mean_for(self.size, float(threshold.limit), threshold.strict, self._scale)
        return self._found
