"""Bounds of the means behind counts that are seen, so wide that they hold for all objects of an answer at once."""

import numpy as np
from skyband.arrays import Float64

_STEPS = 60
_FEWEST = 1e-12


def bounds_of(counts: Float64, sample: float, delta: float) -> tuple[Float64, Float64]:
    """(low, high) of the mean of each count, float64[n], out of a sample of this size; false with probability delta.

    At most sample / mean objects have a mean so large. So a mean is out of the question where that many times the
    chance of a count so far from it is below delta / 4; the chance by Chernoff's bound for Poisson counts,
    exp(−(mean − count + count ln(count / mean))).
    """
    goal = np.log(4 * max(sample, 1.0) / delta)
    low = _bisect(counts, goal, np.full(len(counts), _FEWEST), np.maximum(counts, _FEWEST), rising=True)
    top = counts + 2 * goal + np.sqrt(2 * goal * counts) + 4 * goal
    high = _bisect(counts, goal, np.maximum(counts, _FEWEST), top, rising=False)
    return np.where(low <= 2 * _FEWEST, 0.0, low), high


def _bisect(counts: Float64, goal: float, low: Float64, high: Float64, rising: bool) -> Float64:
    """The mean between two, nearer to the count, beyond which means are out of the question."""
    for _ in range(_STEPS):
        middle = np.sqrt(low * high)
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = middle - counts + np.where(counts > 0, counts * np.log(counts / middle), 0.0)
        out = distance + np.log(middle) > goal
        move = out if rising else ~out
        low, high = np.where(move, middle, low), np.where(move, high, middle)
    return low if rising else high
