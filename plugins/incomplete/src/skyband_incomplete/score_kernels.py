"""Computes an object's score from its values per stream, in compiled code."""

from typing import Any

from numba import njit

BY_SUM, BY_MIN, BY_MAX = range(3)
"""A weighted sum, divided; the least; the greatest."""


@njit(nogil=True, inline="always")
def score_of(values: Any, kind: int, weights: Any, divisor: float) -> Any:
    """The score of a vector of values, one per stream, summed from the first on. O(streams)."""
    if kind == BY_SUM:
        score = 0.0
        for stream in range(len(weights)):
            score += weights[stream] * values[stream]
        return score / divisor
    score = values[0]
    for stream in range(1, len(values)):
        score = min(score, values[stream]) if kind == BY_MIN else max(score, values[stream])
    return score
