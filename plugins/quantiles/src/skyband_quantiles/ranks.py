"""Shares as exact decimals, and the rank of a quantile; loads no compiled code.

Of n values in ascending order the q-quantile is the one of rank max(1, ceil(q n)): the smallest value with at least the
share q of the rows at or below it. A share is stored in whole billionths, to make ranks exact: the product of floats
gives the eighth of 100 values for q = 0.07, as 0.07 * 100 is 7.000000000000001.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from numbers import Real
from typing import Any

import numpy as np
from skyband.arrays import Int64
from skyband.config.literals import literal
from skyband.errors import InputError

BILLION = 10**9
"""Shares have at most nine decimals."""


@lru_cache(maxsize=1024)
def billionths(share: float) -> int | None:
    """The decimal form of a share in billionths; None if it has more than nine decimals."""
    whole = Fraction(repr(share)) * BILLION
    return int(whole) if whole.denominator == 1 else None


def fault_of_share(share: Any) -> str | None:
    """The fault of a share, with the remedy; None if it is a number from 0 to 1 with at most nine decimals."""
    if isinstance(share, bool) or not isinstance(share, Real):
        return f"must be a number from 0 to 1, such as 0.95 (got {literal(share)})"
    value: Any = share
    if not 0 <= value <= 1:
        remedy = f": {float(value) / 100:g} for the {float(value):g}th percentile" if 1 < value <= 100 else ""
        whole = int(value) if isinstance(value, float) and value.is_integer() else value
        return f"must be from 0 to 1{remedy} (got {literal(whole)})"
    if billionths(float(value)) is None:
        return f"must have at most nine decimals (got {literal(value)})"
    return None


def shares_of(name: str, values: Sequence[float]) -> Int64:
    """int64[q]: shares in billionths. Raises InputError with the index of a wrong one."""
    parts = np.empty(len(values), np.int64)
    for place, value in enumerate(values):
        fault = fault_of_share(value.item() if isinstance(value, np.generic) else value)
        if fault:
            raise InputError(name, fault, place)
        parts[place] = billionths(float(value)) or 0
    return parts


def rank(part: int, rows: int) -> int:
    """The rank of the quantile of `part` billionths among `rows` rows, at least 1."""
    return max(1, -(-part * rows // BILLION))


def rank_of(part: int, rows: int) -> int:
    """Like `rank`, without overflow in 64 bits, for compiled code."""
    rank = part * (rows // BILLION) + (part * (rows % BILLION) + (BILLION - 1)) // BILLION
    return rank if rank > 1 else 1
