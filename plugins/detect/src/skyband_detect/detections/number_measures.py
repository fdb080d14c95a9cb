"""Measures of numbers, as rules write them: "sum bytes", "mean bytes", "p99 of seconds", "median of seconds"."""

import re
from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import Any, NamedTuple

from skyband.config.literals import literal

from skyband_detect.total_role import BILLION, MEAN, QUANTILE, SUM

_SUM_OR_MEAN = re.compile(r"(sum|mean)\s+(\S.*)")
_QUANTILE = re.compile(r"(median|p(\d+(?:\.\d+)?))\s+of\s+(\S.*)")
_MOST = 2**53
"""The most units of a bound: float64 represents every whole number up to here."""


class NumberMeasure(NamedTuple):
    """What a rule computes from a column."""

    kind: str
    """sum, mean or quantile."""
    column: str
    billionths: int = 0
    """The quantile."""


def number_measure(measure: str) -> NumberMeasure | None:
    """The measure of a rule, if it is of numbers. Raises ValueError if it names no quantile that there is."""
    match = _SUM_OR_MEAN.fullmatch(measure)
    if match is not None:
        return NumberMeasure(SUM if match[1] == "sum" else MEAN, match[2].strip())
    match = _QUANTILE.fullmatch(measure)
    if match is None:
        return None
    percent = Decimal(50) if match[2] is None else Decimal(match[2])
    billionths = percent * (BILLION // 100)
    if not 0 < percent <= 100 or billionths != int(billionths):
        raise ValueError(f"must be of a percentile above 0 and at most 100, in at most 7 decimals (got {measure!r})")
    return NumberMeasure(QUANTILE, match[3].strip(), int(billionths))


def bound_problem(value: Any) -> str | None:
    """What is wrong with a bound of numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return f"must be a number (got {literal(value)})"
    return None if -_MOST <= value <= _MOST else f"must be a finite number of at most 2**53 (got {literal(value)})"


def in_units(bound: float, unit: float) -> tuple[int, int]:
    """A bound as whole units, rounded down, and billionths of a unit, rounded up, as the decimals that are written."""
    units = Fraction(repr(bound) if isinstance(bound, float) else bound) / Fraction(repr(unit))
    whole = units.numerator // units.denominator
    billionths = ceil((units - whole) * BILLION)
    return (whole + 1, 0) if billionths == BILLION else (whole, billionths)
