"""The aggregates as plain Python, in the order of summation that the kernels keep to."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from skyband.arrays import Float64


def scorer(aggregate: str | Sequence[float] | Callable[[Float64], float]) -> Callable[[list[float]], float]:
    """The score of an object from its values, one a stream."""
    if callable(aggregate):
        function: Any = aggregate
        return lambda values: float(function(np.array(values)))
    if not isinstance(aggregate, str):
        return lambda values: _sum(w * value for w, value in zip(aggregate, values, strict=True))
    named: dict[str, Callable[[list[float]], float]] = {
        "sum": _sum,
        "mean": lambda values: _sum(values) / len(values),
        "min": min,
        "max": max,
    }
    return named[aggregate]


def _sum(values: Any) -> float:
    """From left to right, rounding at each step; `sum` of Python 3.12 compensates and would differ."""
    total = 0.0
    for value in values:
        total += value
    return total
