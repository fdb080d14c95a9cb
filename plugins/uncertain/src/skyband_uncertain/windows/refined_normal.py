"""window/refined-normal: the normal approximation corrected for skewness."""

from typing import ClassVar

from attrs import define

from skyband_uncertain.windows import poisson_binomial_moments_kernels as kernels
from skyband_uncertain.windows.poisson_binomial_moments import MomentsWindow


@define(eq=False)
class RefinedNormalWindow(MomentsWindow):
    """An approximate window: a normal distribution corrected for skewness. The best of the approximations.

    It differs from the exact window at a few arrivals in a hundred, by one tuple. Its accuracy depends on the variance
    of the number of existing tuples, not on `size`: if probabilities are close to 1, use `window/exact`.
    The corrected probability is clipped to [0, 1].

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
    An arrival costs O(1) amortised. Memory is 8 bytes for each tuple kept.

    References
    ----------
    Dallachiesa, Jacques-Silva, Gedik, Wu and Palpanas, Sliding windows over uncertain data streams, KAIS 2015, section
    4.4, equations 16 and 17, where Phi is the distribution function and phi the density.

    Examples
    --------
    >>> import skyband
    >>> window = skyband.create("window", "refined-normal", size=2, alpha=0.75)
    >>> window.append([0.5] * 8).tolist()
    [0, 0, 0, 0, 0, 1, 2, 3]
    >>> len(window), window.presence().round(3).tolist()
    (5, [0.309, 0.5, 0.76, 1.0, 1.0])
    """

    name: ClassVar[str] = "refined-normal"
    kind: ClassVar[int] = kernels.REFINED
