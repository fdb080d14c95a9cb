"""How often a bounded backend may be wrong before that cannot be bad luck."""

from functools import cache
from math import exp, lgamma, log, log1p


@cache
def allowed_failures(trials: int, delta: float, flake: float) -> int:
    """The fewest failures m such that P(more than m of `trials` fail) <= `flake` when each fails with `delta`.

    So a backend that keeps its promise exceeds m with probability at most `flake`. Exact binomial tail, O(trials).
    """
    if not delta:
        return 0
    tail = 0.0
    for failures in range(trials, 0, -1):
        tail += _mass(trials, failures, delta)
        if tail > flake:
            return failures
    return 0


def _mass(trials: int, failures: int, delta: float) -> float:
    if delta >= 1:
        return float(failures == trials)
    ways = lgamma(trials + 1) - lgamma(failures + 1) - lgamma(trials - failures + 1)
    return exp(ways + failures * log(delta) + (trials - failures) * log1p(-delta))
