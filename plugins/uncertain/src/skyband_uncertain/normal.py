"""window/normal: the number of existing tuples taken for a normal variable."""

from typing import ClassVar

from attrs import define

from skyband_uncertain import count_moments_kernels as kernels
from skyband_uncertain.count_moments import MomentsWindow


@define(eq=False)
class NormalWindow(MomentsWindow):
    """Good where the count varies by many tuples; without variance it is a step. O(1) an arrival.

    Source: Dallachiesa et al., eq. 15.
    """

    name: ClassVar[str] = "normal"
    kind: ClassVar[int] = kernels.NORMAL
