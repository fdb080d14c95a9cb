"""The answers of a quantile sketch by definition: sorts all rows of the window for each answer."""

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import ceil
from typing import Any

import numpy as np
from attrs import field, frozen
from skyband.arrays import Float64, Int64


@cache
def rank(q: float, rows: int) -> int:
    """The rank of the q-quantile among `rows` rows, with q as an exact decimal."""
    return max(1, ceil(Fraction(repr(float(q))) * rows))


@frozen
class QuantileOracle:
    """The definition. times int64[n], values float64[n]: all rows so far."""

    times: Int64 = field(factory=lambda: np.empty(0, np.int64))
    values: Float64 = field(factory=lambda: np.empty(0))

    def inside(self, start: int, end: int) -> list[float]:
        """The values of rows with start <= time < end, ascending; -0.0 is 0.0."""
        begin, stop = (len(self.times) if moment > 2**63 - 1 else np.searchsorted(self.times, max(moment, -(2**63)))
                       for moment in (start, end))  # fmt: skip
        values: list[float] = np.sort(self.values[begin:stop] + 0.0).tolist()
        return values

    def quantiles(self, start: int, end: int, at: Sequence[float]) -> list[float | None]:
        """The quantiles of rows with start <= time < end; None if there are none."""
        return _quantiles(self.inside(start, end), at)

    def shares(self, start: int, end: int, above: Sequence[float]) -> list[float | None]:
        """The share of these rows that are above each limit."""
        return _shares(self.inside(start, end), above)

    def answer(self, start: int, end: int, at: Sequence[float], above: Sequence[float]) -> tuple[Any, ...]:
        """(rows, quantiles, shares), each three times: as value, low and high."""
        values = self.inside(start, end)
        columns = [_quantiles(values, at), _shares(values, above)]
        return len(values), *([(value, value, value) for value in column] for column in columns)


def _quantiles(values: list[float], at: Sequence[float]) -> list[float | None]:
    return [values[rank(q, len(values)) - 1] if values else None for q in at]


def _shares(values: list[float], above: Sequence[float]) -> list[float | None]:
    return [sum(value > limit for value in values) / len(values) if values else None for limit in above]
