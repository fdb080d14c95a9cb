"""Compiled sums of float64 that do not depend on the order of the values.

Values are added without rounding, as a few numbers that do not overlap (Shewchuk 1997, like Python's `math.fsum`), and
rounded once at the end. No value may be infinite, or so large that the sum is.
"""

from typing import Any

import numpy as np
import skyband.kernels.numba_compiler_patches  # noqa: F401 - lets numba compile without a writable cache
from numba import njit
from skyband.arrays import Float64, read_only
from skyband.errors import InputError
from skyband.kernels.nested import nested_njit

from skyband_distinct.sketch_parameters import LARGEST

MOST_TERMS = 64
"""The most terms of a sum: float64 spans 2,098 bits, and each term holds 53."""


@nested_njit
def add_to(terms: Any, count: int, value: float) -> int:
    """Add a value to the first `count` terms of a sum, in place; returns the new number of terms."""
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
    """The float64 nearest to the sum of the terms; the even one of two that are equally near."""
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
    # Half a unit in the last place was rounded to even: the terms below decide.
    if place > 0 and ((low < 0.0 and terms[place - 1] < 0.0) or (low > 0.0 and terms[place - 1] > 0.0)):
        twice = low * 2.0
        value = high + twice
        if twice == value - high:
            high = value
    return float(high)


@njit(cache=True)
def exact_terms(values: Any) -> Any:
    """float64[m]: a few numbers with exactly the sum of float64[n]. O(n)."""
    terms = np.empty(MOST_TERMS)
    count = 0
    for row in range(len(values)):
        count = add_to(terms, count, values[row])
    return terms[:count].copy()


@njit(cache=True)
def exact_sums(values: Any, offsets: Any) -> Any:
    """float64[m]: the sum of each values[offsets[i]:offsets[i + 1]], rounded once. O(n)."""
    sums = np.empty(len(offsets) - 1)
    terms = np.empty(MOST_TERMS)
    for number in range(len(sums)):
        count = 0
        for row in range(offsets[number], offsets[number + 1]):
            count = add_to(terms, count, values[row])
        sums[number] = rounded(terms, count)
    return sums


def terms_of(values: Float64) -> Float64:
    """Like `exact_terms`. Raises InputError if a value is so large that the sum might be infinite."""
    if len(values) and not float(np.abs(values).max()) <= LARGEST:
        row = int(np.abs(values).argmax())
        raise InputError("values", f"must lie within ±2^960 to be added up (got {values[row]:g})")
    terms: Float64 = exact_terms(read_only(np.ascontiguousarray(values)))
    return terms
