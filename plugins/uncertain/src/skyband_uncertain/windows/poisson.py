"""window/poisson: approximates the number of existing tuples by a Poisson variable."""

from typing import ClassVar

from attrs import define, field

from skyband_uncertain.windows import poisson_binomial_moments_kernels as kernels
from skyband_uncertain.windows.poisson_binomial_moments import MomentsWindow


@define(eq=False)
class PoissonWindow(MomentsWindow):
    """An approximate window: treats the number of existing tuples as Poisson distributed.

    It keeps too many tuples, because a Poisson count varies more than the true one, unless every tuple is improbable.

    Parameters
    ----------
    size : int
        number of existing tuples that the window must hold (at least 1)
    alpha : float
        probability with which it must hold them (above 0 and at most 1)
    beta : float, default None
        drop matches below this probability; none: keep all (at least 0 and below 1)

    Complexity
    ----------
    An arrival costs O(1) amortised: one comparison of the mean with the least mean that reaches alpha, which is
    computed once. Memory is 8 bytes for each tuple kept.

    References
    ----------
    Dallachiesa, Jacques-Silva, Gedik, Wu and Palpanas, Sliding windows over uncertain data streams, KAIS 2015, section
    4.4, equation 14, read as the sum over i < size of mu^i e^−mu / i!.

    Examples
    --------
    >>> import skyband
    >>> window = skyband.create("window", "poisson", size=2, alpha=0.75)
    >>> window.append([0.5] * 8).tolist()
    [0, 0, 0, 0, 0, 0, 1, 2]
    >>> len(window), window.presence().round(3).tolist()
    (6, [0.287, 0.406, 0.558, 0.736, 1.0, 1.0])
    """

    name: ClassVar[str] = "poisson"
    kind: ClassVar[int] = kernels.POISSON

    _found: int | None = field(default=None, init=False)

    def _mean_limit(self) -> int:
        if self._found is None:
            threshold = self._threshold
            self._found = kernels.mean_for(self.size, float(threshold.limit), threshold.strict, self._scale)
        return self._found
