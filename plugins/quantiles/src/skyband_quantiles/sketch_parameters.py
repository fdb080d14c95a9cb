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
"""No window is longer, and no time farther than twice this from 0, so that no sum of two leaves 64 bits."""
MOST_CUTS = 60


def as_numbers(value: Any) -> Any:
    """A list of numbers as floats, with one zero; what is none, or no float has so many digits, stays as it is."""
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        return tuple(map(as_number, value))
    return value


def as_number(value: Any) -> Any:
    """A number as a float, with one zero; what is none stays as it is."""
    return float(value) + 0.0 if _is_number(value) else value


def _is_number(value: Any) -> bool:
    """Of a number that a float64 is near to; SQL's decimals are."""
    is_number = not isinstance(value, bool) and isinstance(value, int | float | np.integer | np.floating | Decimal)
    return is_number and not is_huge(value)


def checked_list(fault_of: Any, example: str, most: int) -> Any:
    """The check of a list of numbers, each of which has no fault and is there once."""

    def check(value: Any) -> str | list[Problem]:
        if not isinstance(value, tuple) or len(value) > most:
            return f"must be a list of at most {most} numbers, such as {example} (got {literal(value)})"
        faults = [(place, fault_of(number)) for place, number in enumerate(value)]
        faults += [
            (place, f"is there twice (got {number!r})") for place, number in enumerate(value) if number in value[:place]
        ]
        return [Problem(f"[{place}]", fault) for place, fault in faults if fault]

    return check


def fault_of_limit(value: Any) -> str | None:
    """What is wrong with a number whose share above is asked for; None where it is one."""
    if not _is_number(value) or not math.isfinite(value):
        return f"must be a finite number (got {literal(value)})"
    return None


def _check_cuts(value: Any) -> str | None:
    if not isinstance(value, tuple) or len(value) > MOST_CUTS or any(fault_of_limit(cut) for cut in value):
        return f"must be a list of at most {MOST_CUTS} finite numbers (got {literal(value)})"
    rising = all(first < second for first, second in pairwise(value))
    return None if rising else f"must be ascending, each number once (got {literal(value)})"


def longest() -> Any:
    """How far back a sketch answers."""
    return integer(at_least=1, at_most=LONGEST, help="how far back it answers, in the unit of the times or in rows")


def every() -> Any:
    """The step at whose multiples most questions begin."""
    return integer(1, at_least=1, at_most=LONGEST, help="most questions begin at multiples of this")


def offset() -> Any:
    """How much later."""
    return integer(0, at_least=0, at_most=LONGEST, help="how much later than multiples of `every` they begin")


def cuts() -> Any:
    """Limits known ahead."""
    return checked(
        (), type="list of float", check=_check_cuts, bounds=f"at most {MOST_CUTS}, ascending",
        help="numbers whose share above is asked for, known ahead", converter=as_numbers,
    )  # fmt: skip


def alpha() -> Any:
    """The error of values."""
    return number(0.01, at_least=1e-6, below=1, help="how far values may be off, as part of the value")


def epsilon_of_rows() -> Any:
    """The error of ages."""
    return number(
        0.02,
        at_least=0.001,
        at_most=0.5,
        help="share of the rows of which it may be unknown whether they count",
    )


def epsilon() -> Any:
    """The error of ranks."""
    return number(0.02, at_least=0.001, below=1, help="how far ranks may be off, as part of the rows")


def delta() -> Any:
    """How often it may be exceeded."""
    return number(0.05, at_least=1e-9, below=1, help="share of the answers that may be off by more")


def seed() -> Any:
    """What the random numbers begin with."""
    return integer(
        0, at_least=0, at_most=2**63 - 1, help="seed of the random numbers; sketches merge only if theirs agree"
    )


@define
class SketchParameters:
    """The parameters of a quantile sketch whose state is read."""

    longest: int = longest()
    every: int = every()
    offset: int = offset()
    cuts: tuple[float, ...] = cuts()
    by: str = choice("time", "rows", default="time", help="whether windows are times or row counts")
