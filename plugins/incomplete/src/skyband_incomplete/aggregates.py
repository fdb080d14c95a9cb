"""The aggregates in plain Python, with the kernels' order of summation."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from skyband.arrays import Float64
from skyband.errors import ConfigError, Problem


def scorer(aggregate: str | Sequence[float] | Callable[[Float64], float]) -> Callable[[list[float]], float]:
    """The score of an object from its values, one per stream."""
    if callable(aggregate):
        function = finite(aggregate)
        return lambda values: function(np.array(values))
    if not isinstance(aggregate, str):
        return lambda values: _sum(w * value for w, value in zip(aggregate, values, strict=True))
    named: dict[str, Callable[[list[float]], float]] = {
        "sum": _sum,
        "mean": lambda values: _sum(values) / len(values),
        "min": min,
        "max": max,
    }
    return named[aggregate]


def finite(function: Callable[[Float64], float]) -> Callable[[Float64], float]:
    """Wrap a user's function, which was tried on few values, to raise ConfigError unless it returns a finite number."""

    def score(values: Float64) -> float:
        try:
            value = float(function(values))
        except Exception as error:
            message = f"fails on {values.tolist()}: {type(error).__name__}: {error}"
            raise ConfigError(Problem("aggregate", message)) from error
        if not math.isfinite(value):
            raise ConfigError(Problem("aggregate", f"must return a finite number (got {value} on {values.tolist()})"))
        return value

    return score


def _sum(values: Any) -> float:
    """From left to right, rounding at each step; `sum` of Python 3.12 compensates and would differ."""
    total = 0.0
    for value in values:
        total += value
    return total
