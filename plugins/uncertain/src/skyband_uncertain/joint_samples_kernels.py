"""Points of one to three coordinates: which are within a distance, and with which probability uncertain ones are."""

import math

import numpy as np
from numba import njit
from skyband.arrays import Float64, Int64
from skyband.kernels.nested import shared_njit

_FARTHEST = 1000
"""The largest exponent of two to scale a distance by, so that no scale overflows."""


def scale_for(limit: float) -> float:
    """A power of two that scales distances of about `limit` near 1, so that squares neither overflow nor vanish."""
    power = math.frexp(limit)[1] if math.isfinite(limit) else 0
    return math.ldexp(1.0, -max(-_FARTHEST, min(power, _FARTHEST)))


@shared_njit(nogil=True)
def within(u: Float64, a: int, v: Float64, b: int, limit: float, scale: float, euclidean: bool) -> bool:
    """Whether point a of u (float64[d, m]) is at most `limit` from point b of v: sqrt(x² + y² + z²) in float64.

    As sqrt(x²) is |x| in float64 and sums are monotone, a point within `limit` is also within it in each coordinate.
    """
    total = 0.0
    for c in range(len(u)):
        apart = abs(u[c, a] - v[c, b])
        if apart > limit:
            return False
        total += (apart * scale) * (apart * scale)
    return not euclidean or math.sqrt(total) <= limit * scale


@njit(cache=True, nogil=True)
def joint_probabilities(
    probes: Int64, u_cuts: Int64, u: Float64, pu: Float64, places: Int64, v_cuts: Int64, v: Float64, pv: Float64,
    limit: float, scale: float, euclidean: bool,
) -> Float64:  # fmt: skip
    """float64[r]: for each pair of tuples, the sum of pu·pv over their samples within `limit`, in the matchers' order.

    Matchers sum the products of all samples within it in the first coordinate, so no rounded sum here is above theirs.
    """
    joint = np.empty(len(probes))
    for pair in range(len(probes)):
        total = 0.0
        for a in range(u_cuts[probes[pair]], u_cuts[probes[pair] + 1]):
            for b in range(v_cuts[places[pair]], v_cuts[places[pair] + 1]):
                if within(u, a, v, b, limit, scale, euclidean):
                    total += pu[a] * pv[b]
        joint[pair] = total
    return joint
