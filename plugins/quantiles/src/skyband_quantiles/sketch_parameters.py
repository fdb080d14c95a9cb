"""The parameters of quantile sketches, each a field of an attrs class; loads no compiled code."""

import math
from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
from attrs import define
from skyband.config.literals import is_huge, literal
from skyband.config.parameters import checked, choice, integer, number
from skyband.errors import Problem

LONGEST = 2**61
"""The longest window; times are at most twice this from 0, so that the sum of two never overflows."""
MOST_CUTS = 60


def as_numbers(value: Any) -> Any:
    """Convert a list of numbers to floats, -0.0 to 0.0; other values, and numbers too large for a float, stay."""
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        return tuple(map(as_number, value))
    return value


def as_number(value: Any) -> Any:
    """Convert a number to a float, -0.0 to 0.0; other values stay as they are."""
    return float(value) + 0.0 if _is_number(value) else value


def _is_number(value: Any) -> bool:
    """Whether a value is a number (also a decimal of SQL) that is near a float64."""
    is_number = not isinstance(value, bool) and isinstance(value, int | float | np.integer | np.floating | Decimal)
    return is_number and not is_huge(value)


def checked_list(fault_of: Any, example: str, most: int) -> Any:
    """The check of a list of different numbers without faults."""

    def check(value: Any) -> str | list[Problem]:
        if not isinstance(value, tuple) or len(value) > most:
            return f"must be a list of at most {most} numbers, such as {example} (got {literal(value)})"
        faults = [(place, fault_of(number)) for place, number in enumerate(value)]
        faults += [
            (place, f"is listed twice (got {number!r})")
            for place, number in enumerate(value)
            if number in value[:place]
        ]
        return [Problem(f"[{place}]", fault) for place, fault in faults if fault]

    return check


def fault_of_limit(value: Any) -> str | None:
    """The fault of a limit; None if it is a finite number."""
    if not _is_number(value) or not math.isfinite(value):
        return f"must be a finite number (got {literal(value)})"
    return None


def _check_cuts(value: Any) -> str | None:
    if not isinstance(value, tuple) or len(value) > MOST_CUTS or any(fault_of_limit(cut) for cut in value):
        return f"must be a list of at most {MOST_CUTS} finite numbers (got {literal(value)})"
    rising = all(first < second for first, second in pairwise(value))
    return None if rising else f"must be ascending, without duplicates (got {literal(value)})"


def longest() -> Any:
    """The longest window of a sketch."""
    return integer(at_least=1, at_most=LONGEST, help="the longest window that it answers, in units of time or in rows")


def every() -> Any:
    """The step at whose multiples most windows start."""
    return integer(1, at_least=1, at_most=LONGEST, help="most windows start at multiples of this")


def offset() -> Any:
    """The shift of `every`."""
    return integer(0, at_least=0, at_most=LONGEST, help="how much later than multiples of `every` they start")


def cuts() -> Any:
    """Limits known in advance."""
    return checked(
        (), type="list of float", check=_check_cuts, bounds=f"at most {MOST_CUTS}, ascending",
        help="numbers, known in advance, to get the share of rows above each", converter=as_numbers,
    )  # fmt: skip


def alpha() -> Any:
    """The error of values."""
    return number(0.01, at_least=1e-6, below=1, help="the largest relative error of values")


def epsilon_of_rows() -> Any:
    """The error of the number of rows."""
    return number(
        0.02,
        at_least=0.001,
        at_most=0.5,
        help="the largest share of the rows for which it may be unknown whether they count",
    )


def epsilon() -> Any:
    """The error of ranks."""
    return number(0.02, at_least=0.001, below=1, help="the largest error of ranks, as a share of the rows")


def delta() -> Any:
    """How often `epsilon` may be exceeded."""
    return number(0.05, at_least=1e-9, below=1, help="the share of answers that may be off by more than epsilon")


def seed() -> Any:
    """The seed of the random numbers."""
    return integer(
        0, at_least=0, at_most=2**63 - 1, help="seed of the random numbers; only sketches with equal seeds merge"
    )


@define
class SketchParameters:
    """The parameters of a quantile sketch whose state is read."""

    longest: int = longest()
    every: int = every()
    offset: int = offset()
    cuts: tuple[float, ...] = cuts()
    by: str = choice("time", "rows", default="time", help="whether windows are times or row counts")
