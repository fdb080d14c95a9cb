"""window/normal: approximates the number of existing tuples by a normal variable."""

from typing import ClassVar

from attrs import define

from skyband_uncertain.windows import poisson_binomial_moments_kernels as kernels
from skyband_uncertain.windows.poisson_binomial_moments import MomentsWindow


@define(eq=False)
class NormalWindow(MomentsWindow):
    """An approximate window: treats the number of existing tuples as normally distributed.

    It is close to the exact window if the number of existing tuples varies widely. If it hardly varies, because
    probabilities are close to 0 or 1, the approximation is a step from 0 to 1, and decides wrongly near it.
    `window/refined-normal` is better at the same cost.

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
    4.4, equation 15.

    Examples
    --------
    >>> import skyband
    >>> window = skyband.create("window", "normal", size=2, alpha=0.75)
    >>> window.append([0.5] * 8).tolist()
    [0, 0, 0, 0, 0, 1, 2, 3]
    >>> len(window), window.presence().round(3).tolist()
    (5, [0.309, 0.5, 0.76, 1.0, 1.0])
    """

    name: ClassVar[str] = "normal"
    kind: ClassVar[int] = kernels.NORMAL
