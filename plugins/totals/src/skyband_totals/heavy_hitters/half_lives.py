"""What is left of a weight after some half-lives, the same to the last bit on every machine. Loads no compiled code.

A processor's own 2^x, and a library's, differ in the last bit from others. Here are two tables of 512 powers each, from
decimal arithmetic, and three terms of a series: sums and products of float64, which IEEE 754 rounds in one way.
"""

from decimal import Decimal, localcontext
from functools import cache
from math import log

import numpy as np
from skyband.arrays import Float64, Int64, read_only

_STEPS = 512
_LN_2 = log(2)


def left_after(ages: Int64, half_life: int) -> Float64:
    """float64[n]: 2^(-age / half-life) of ages, int64[n] of any sign, to within 1e-15 of it; 0 below 1e-308. O(n)."""
    whole, part = np.divmod(-ages, half_life)
    fraction = part / half_life
    step = np.minimum((fraction * _STEPS**2).astype(np.int64), _STEPS**2 - 1)
    rest = (fraction - step / _STEPS**2) * _LN_2  # below 3e-6, so that its fourth power is below 1e-22
    series = 1 + rest * (1 + rest * (1 / 2 + rest * (1 / 6)))
    coarse, fine = _powers()
    exponents = np.clip(whole, -2000, 2000).astype(np.int32)
    powers: Float64 = np.ldexp(coarse[step // _STEPS] * fine[step % _STEPS] * series, exponents)
    return powers


@cache
def _powers() -> tuple[Float64, Float64]:
    """2^(i / 512) and 2^(i / 512²), float64[512] each, every one the nearest there is."""
    with localcontext(prec=40):
        tables = [
            np.array([float(Decimal(2) ** (Decimal(i) / divisor)) for i in range(_STEPS)])
            for divisor in (_STEPS, _STEPS**2)
        ]
    return read_only(tables[0]), read_only(tables[1])
