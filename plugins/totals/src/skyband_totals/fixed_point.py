"""Converts whole units to numbers; loads no compiled code."""

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

MOST = 2**53
"""The most units of a row: float64 represents every whole number up to here."""

MOST_TOGETHER = 2**51
"""The most units in one weight: float64 has two weights for each number of units up to here."""


FULL = 2**63 - 1
"""The most units of all rows in the longest window together."""


def fit_together(*units: Any) -> bool:
    """Whether the sum of units, int64[n] each of at least 0, is at most FULL, computed exactly. O(n)."""
    high, low = (sum(int(part.sum()) for part in parts) for parts in zip(*map(_halves, units), strict=True))
    return (high << 32) + low <= FULL


def _halves(units: Any) -> tuple[Any, Any]:
    """Their bits from 2^32 on and those below; sums of either fit 64 bits."""
    return units >> 32, units & 0xFFFFFFFF


@cache
def fraction(unit: float) -> tuple[float, float]:
    """A unit as its decimal numerator and denominator: 1 and 10 for 0.1, which float64 cannot represent."""
    top, bottom = Fraction(repr(float(unit))).as_integer_ratio()
    return (float(top), float(bottom)) if max(top, bottom) <= MOST else (float(unit), 1.0)


def worth(units: Any, unit: float) -> Any:
    """The worth of a number of units, float64 of its shape: 39 units of 0.1 are 3.9, and not 39 times 0.1.

    O(n). The nearest float64 if units times the numerator is below 2^53.
    """
    top, bottom = fraction(unit)
    return np.divide(np.multiply(units, top, dtype=np.float64), bottom)
