"""The key `half_life`, and decay factors with the same bits on every machine.

2^x differs in its last bit between processors and libraries. So this uses two tables of 512 powers each, from decimal
arithmetic, and three terms of a series: sums and products of float64, which IEEE 754 rounds in one way.
"""

from decimal import Decimal, localcontext
from functools import cache
from math import log
from typing import Any

import numpy as np
from attrs.converters import optional

from skyband.arrays import Float64, Int64, read_only
from skyband.config.calendar_lengths import Length
from skyband.config.durations import Duration, duration, parsed
from skyband.errors import Problem
from skyband.windows.window_parameters import of_calendar

STEPS = 512
LN_2 = log(2)


def half_life_parameter(what: str) -> Any:
    """The field `half_life`; what: the values that halve, such as "rows weigh"."""
    return duration(
        None, at_least=1, kw_only=True, converter=optional(parsed),
        help=f'{what} half as much after each such time, as in "1 hour"',
    )  # fmt: skip


def half_life_problems(half_life: Duration, rows: bool, *lengths: Length) -> list[Problem]:
    """What is wrong with a half-life; rows: whether windows are in rows; lengths: `every` and the windows."""
    if rows or half_life.rows:
        message = "must be a length of time, and needs windows in time"
        return [Problem("half_life", f"{message} (got {half_life})")]
    if of_calendar(*lengths):
        message = 'needs windows and `every` of fixed length: write "24 hours" for a day'
        return [Problem("half_life", f"{message} (got {half_life})")]
    return []


def left_after(ages: Int64, half_life: int) -> Float64:
    """float64[n]: 2^(-age / half-life) of ages, int64[n] of any sign, within 1e-15 of it; 0 below 1e-308. O(n)."""
    whole, part = np.divmod(-ages, half_life)
    fraction = part / half_life
    step = np.minimum((fraction * STEPS**2).astype(np.int64), STEPS**2 - 1)
    rest = (fraction - step / STEPS**2) * LN_2  # below 3e-6, so that its fourth power is below 1e-22
    series = 1 + rest * (1 + rest * (1 / 2 + rest * (1 / 6)))
    coarse, fine = powers_of_two()
    exponents = np.clip(whole, -2000, 2000).astype(np.int32)
    powers: Float64 = np.ldexp(coarse[step // STEPS] * fine[step % STEPS] * series, exponents)
    return powers


@cache
def powers_of_two() -> tuple[Float64, Float64]:
    """2^(i / 512) and 2^(i / 512²), float64[512] each, correctly rounded."""
    with localcontext(prec=40):
        tables = [
            np.array([float(Decimal(2) ** (Decimal(i) / divisor)) for i in range(STEPS)])
            for divisor in (STEPS, STEPS**2)
        ]
    return read_only(tables[0]), read_only(tables[1])
