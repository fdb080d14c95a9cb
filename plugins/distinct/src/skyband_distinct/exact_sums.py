"""Sums of float64 that do not depend on the order of what is added up, in compiled code.

Numbers are added up without rounding, as few numbers that do not overlap (Shewchuk 1997, as Python's `math.fsum`), and
rounded once at the end. None may be infinite or so large that the sum is.
"""

from typing import Any

import numpy as np
import skyband.kernels.numba_compiler_patches  # noqa: F401 - has numba go on where it can keep nothing
from numba import njit
from skyband.arrays import Float64, read_only
from skyband.errors import InputError
from skyband.kernels.nested import nested_njit

from skyband_distinct.latest_values import LARGEST

MOST_TERMS = 64
"""Room for the terms of a sum: 2,098 bits lie between the ends of float64, 53 in each."""


@nested_njit
def add_to(terms: Any, count: int, value: float) -> int:
    """Add a value to the first `count` of the terms of a sum, in place; returns how many there are then."""
    after = 0
    for place in range(count):
        term = terms[place]
        if abs(value) < abs(term):
            value, term = term, value
        high = value + term
        low = term - (high - value)
        if low != 0.0:
            terms[after] = low
            after += 1
        value = high
    if value != 0.0:
        terms[after] = value
        after += 1
    return after


@nested_njit
def rounded(terms: Any, count: int) -> float:
    """The float64 nearest to what the terms add up to, of two as near the even one."""
    if count == 0:
        return 0.0
    place = count - 1
    high, low = terms[place], 0.0
    while place > 0:
        value = high
        place -= 1
        term = terms[place]
        high = value + term
        low = term - (high - value)
        if low != 0.0:
            break
    # Half a unit of the last place was rounded to even: what lies below it decides.
    if place > 0 and ((low < 0.0 and terms[place - 1] < 0.0) or (low > 0.0 and terms[place - 1] > 0.0)):
        twice = low * 2.0
        value = high + twice
        if twice == value - high:
            high = value
    return float(high)


@njit(cache=True)
def exact_terms(values: Any) -> Any:
    """Few numbers that add up to what float64[n] do, to the last bit: float64[m]. O(n)."""
    terms = np.empty(MOST_TERMS)
    count = 0
    for row in range(len(values)):
        count = add_to(terms, count, values[row])
    return terms[:count].copy()


@njit(cache=True)
def exact_sums(values: Any, offsets: Any) -> Any:
    """Each sum of values[offsets[i]:offsets[i + 1]], rounded once: float64[m]. O(n)."""
    sums = np.empty(len(offsets) - 1)
    terms = np.empty(MOST_TERMS)
    for number in range(len(sums)):
        count = 0
        for row in range(offsets[number], offsets[number + 1]):
            count = add_to(terms, count, values[row])
        sums[number] = rounded(terms, count)
    return sums


def terms_of(values: Float64) -> Float64:
    """As `exact_terms`. Raises InputError where a value is so large that a sum of such may be infinite."""
    if len(values) and not float(np.abs(values).max()) <= LARGEST:
        row = int(np.abs(values).argmax())
        raise InputError("values", f"must lie within ±2^960 to be added up (got {values[row]:g})")
    terms: Float64 = exact_terms(read_only(np.ascontiguousarray(values)))
    return terms
