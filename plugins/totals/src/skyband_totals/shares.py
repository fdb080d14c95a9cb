"""How large an object's total must be, as it is written: 0.07 is seven hundredths, which no float64 is.

A total is large enough where it is at least share times the grand total, and at least `at_least`, in exact arithmetic.
Loads no compiled code.
"""

import math
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import NamedTuple

from skyband_totals.fixed_point import FULL


class Least(NamedTuple):
    """The least total of an answer, for compiled code: numerator / 10**places of the grand total, and so many units."""

    numerator: int
    """At most 17 digits; 0 where no share is asked."""
    places: int
    units: int
    """1 where no total is asked: less has no object of an answer."""


@cache
def least_of(share: float | None, at_least: float | None = None, unit: float = 1.0) -> Least:
    """A share, and a total in weights of this unit: the shortest decimals that these float64 are.

    That is what was written, up to 15 digits and mostly 17.
    """
    units = 1 if at_least is None else min(max(1, -(-_fraction(at_least) // _fraction(unit))), FULL)
    numerator, places = (0, 0) if share is None else _decimal(share)
    return Least(numerator, places, units)


def _fraction(number: float) -> Fraction:
    return Fraction(repr(float(number)))


@cache
def _decimal(share: float) -> tuple[int, int]:
    """The numerator and the decimal places of a share."""
    _, digits, power = Decimal(repr(float(share))).as_tuple()
    exponent = int(power)
    numerator = int("".join(map(str, digits)))
    while exponent > 0:  # at most 1, so 1.0 and no more
        numerator, exponent = numerator * 10, exponent - 1
    while numerator % 10 == 0 and exponent < 0:
        numerator, exponent = numerator // 10, exponent + 1
    return numerator, -exponent


def most_objects(share: float) -> int:
    """How many objects can have the share, each: 100,000 for 0.00001, though 1 / 0.00001 is below that."""
    numerator, places = _decimal(share)
    return int(min(10**places // numerator, 2**62))


def least_units(least: Least, grand: int) -> int:
    """The least total in whole units that is large enough beside a grand total."""
    return max(-(-least.numerator * grand // 10**least.places), least.units)


def least_estimate(least: Least, grand: float) -> float:
    """The least float64 in units that is large enough beside an estimated grand total."""
    exact = max(Fraction(grand) * least.numerator / 10**least.places, Fraction(least.units))
    nearest = float(exact)
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)
