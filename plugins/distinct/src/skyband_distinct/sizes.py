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


def fm_arrays(epsilon: float, delta: float) -> int:
    """The paper's l = (2 / epsilon^2) ln(1 / delta), in whole words of 64: 15,040 at epsilon 0.02, delta 0.05.

    An array's first gap deviates by 1.12 levels, the mean of l by a relative 0.78 / sqrt(l): with this l, at most
    0.55 epsilon / sqrt(ln(1 / delta)), which leaves delta ample room.
    """
    return 64 * math.ceil(2 * math.log(1 / delta) / epsilon**2 / 64)


def fm_recent(epsilon: float) -> int:
    """The paper's L = 1 / epsilon: below it, an error of epsilon is less than one key."""
    return math.ceil(1 / epsilon)


def likelihood_recent(epsilon: float) -> int:
    """Recent keys below which the likelihood estimate is not needed.

    With fewer than 1 / epsilon keys, two that share a cell are one error too many, and that is likelier than delta:
    at epsilon 0.02, delta 0.05 and 45 keys it happens to 6 % of the tables. From 8 / epsilon keys on, shared cells
    are many enough to be corrected for, and 3.4 standard deviations fit into epsilon.
    """
    return math.ceil(8 / epsilon)


def pcsa_recent(epsilon: float, arrays: int, zeta: int) -> int:
    """Recent keys below which SE-PCSA's estimate is useless: with fewer than 8 keys an array, it is biased."""
    return max(fm_recent(epsilon), math.ceil(8 * arrays / zeta))
