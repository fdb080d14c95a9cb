"""The share that an object must have, as it is written: 0.07 is seven hundredths, which no float64 is.

A total is large enough where it is at least share times the grand total, in exact arithmetic. Loads no compiled code.
"""

import math
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import NamedTuple


class Share(NamedTuple):
    """numerator / 10**places, for compiled code: a numerator of at most 17 digits; 0 where no share is asked."""

    numerator: int
    places: int


NO_SHARE = Share(0, 0)


@cache
def share_of(share: float | None) -> Share:
    """The shortest decimal that is this float64: what was written, up to 15 digits and mostly 17."""
    if share is None:
        return NO_SHARE
    _, digits, power = Decimal(repr(float(share))).as_tuple()
    exponent = int(power)
    numerator = int("".join(map(str, digits)))
    while exponent > 0:  # at most 1, so 1.0 and no more
        numerator, exponent = numerator * 10, exponent - 1
    while numerator % 10 == 0 and exponent < 0:
        numerator, exponent = numerator // 10, exponent + 1
    return Share(numerator, -exponent)


def most_objects(share: float) -> int:
    """How many objects can have the share, each: 100,000 for 0.00001, though 1 / 0.00001 is below that."""
    numerator, places = share_of(share)
    return int(min(10**places // numerator, 2**62))


def least_units(share: float | None, grand: int) -> int:
    """The least total in whole units that has the share of a grand total."""
    numerator, places = share_of(share)
    return -(-numerator * grand // 10**places)


def least_estimate(share: float | None, grand: float) -> float:
    """The least float64 that has the share of an estimated grand total."""
    numerator, places = share_of(share)
    exact = Fraction(grand) * numerator / 10**places
    nearest = float(exact)
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)
