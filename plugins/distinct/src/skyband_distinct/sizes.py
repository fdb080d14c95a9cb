"""How large a sketch must be for its epsilon and delta."""

import math
from statistics import NormalDist

from skyband_distinct.likelihood import DEVIATION

_MARGIN = 1.1
_FEWEST = 64


def quantile(delta: float) -> float:
    """How many standard deviations a normal value stays within, but for a share `delta`."""
    return -NormalDist().inv_cdf(delta / 2)


def likelihood_arrays(epsilon: float, delta: float) -> int:
    """Arrays that bring the likelihood estimate within epsilon, a tenth to spare, but for a share delta."""
    return max(_FEWEST, math.ceil((_MARGIN * DEVIATION * quantile(delta) / epsilon) ** 2))
