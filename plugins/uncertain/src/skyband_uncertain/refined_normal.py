"""window/refined-normal: the normal approximation corrected for skewness."""

from typing import ClassVar

from attrs import define

from skyband_uncertain import count_moments_kernels as kernels
from skyband_uncertain.count_moments import MomentsWindow


@define(eq=False)
class RefinedNormalWindow(MomentsWindow):
    """The best of the approximations: it differs from the exact window on a few arrivals in a hundred, by one tuple.

    The variance of the count decides how good it is, not `size`: probabilities close to 1 need the exact window.
    The corrected tail may leave [0, 1], and is clipped, and need not fall as the suffix grows: the window is the one
    that evicting from the old end arrives at. O(1) an arrival.

    Source: Dallachiesa et al., eq. 16 and 17, where Phi is the distribution function and phi the density.
    """

    name: ClassVar[str] = "refined-normal"
    kind: ClassVar[int] = kernels.REFINED
