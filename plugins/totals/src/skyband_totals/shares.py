"""The least total of an object, in exact decimals: 0.07 is seven hundredths, which float64 cannot represent.

A total is large enough if it is at least share times the grand total, and at least `at_least`, in exact arithmetic.
Loads no compiled code.
"""

import math
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import NamedTuple

from skyband_totals.fixed_point import FULL


class Least(NamedTuple):
    """The least total of an answer, for compiled code: numerator / 10**places of the grand total, and `units` units."""

    numerator: int
    """At most 17 digits; 0 without a share."""
    places: int
    units: int
    """1 without a least total, because totals of 0 are left out."""


@cache
def least_of(share: float | None, at_least: float | None = None, unit: float = 1.0) -> Least:
    """The shortest decimals of a share, and of a total in weights of this unit.

    They are as written, with up to 15 digits and mostly 17.
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
    while exponent > 0:  # a share is at most 1, so only for 1.0
        numerator, exponent = numerator * 10, exponent - 1
    while numerator % 10 == 0 and exponent < 0:
        numerator, exponent = numerator // 10, exponent + 1
    return numerator, -exponent


def most_objects(share: float) -> int:
    """The most objects that can have the share: 100,000 for 0.00001, although 1 / 0.00001 is below that in float64."""
    numerator, places = _decimal(share)
    return int(min(10**places // numerator, 2**62))


def least_units(least: Least, grand: int) -> int:
    """The least total in whole units that is large enough for a grand total."""
    return max(-(-least.numerator * grand // 10**least.places), least.units)


def least_estimate(least: Least, grand: float) -> float:
    """The least float64 in units that is large enough for an estimated grand total."""
    exact = max(Fraction(grand) * least.numerator / 10**least.places, Fraction(least.units))
    nearest = float(exact)
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)
