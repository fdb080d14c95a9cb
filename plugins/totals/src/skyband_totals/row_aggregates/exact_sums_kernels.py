"""Compiled code for sums and sums of squares of windows, exact whatever the values, each rounded once.

A number is m · 2^e with a whole m. Its magnitude is written in digits of 32 bits above the least exponent of all, so
prefix sums of each digit, modulo 2^64, subtract exactly for up to 2^29 values. See `places_kernels` for first and stop.
"""

import math
from typing import Any

import numpy as np
import skyband.kernels.numba_compiler_patches  # noqa: F401 - lets numba compile without a writable cache
from numba import njit

_LOW = np.int64(0xFFFFFFFF)
_LEAST = -1074
"""The exponent of the smallest float64."""


@njit(cache=True)
def sums_of_units(units: Any, first: Any, stop: Any) -> Any:
    """float64[w, q]: the nearest to the sum of whole numbers, int64[n] of at most 2^53 each. O(n + w · q)."""
    high, low = np.zeros(len(units) + 1, np.int64), np.zeros(len(units) + 1, np.int64)
    for place in range(len(units)):
        high[place + 1] = high[place] + (units[place] >> 32)
        low[place + 1] = low[place] + (units[place] & _LOW)
    answers = np.empty(first.shape)
    for window in range(len(first)):
        for question in range(len(stop)):
            begin, end = first[window, question], stop[question]
            lower = low[end] - low[begin]
            upper = high[end] - high[begin] + (lower >> 32)
            answers[window, question] = _nearest(upper, lower & _LOW)
    return answers


@njit(cache=True)
def _nearest(high: int, low: int) -> float:
    """The float64 nearest to high · 2^32 + low, with low below 2^32."""
    if -(2**31) <= high < 2**31:
        return np.float64((high << 32) + low)
    negative = high < 0
    if negative:
        high, low = -high - (low > 0), (-low) & 0xFFFFFFFF
    room = 30
    while room and high >> (62 - room):
        room -= 1
    lost = 32 - room
    # Of the bits that are lost only whether any is set matters: they are below half of the last bit of a float64.
    whole = (high << room) | (low >> lost) | np.int64(low & ((np.int64(1) << lost) - 1) != 0)
    nearest = math.ldexp(np.float64(whole), lost)
    return -nearest if negative else nearest


@njit(cache=True)
def spreads_of_units(units: Any, first: Any, stop: Any) -> Any:
    """float64[w, q]: the nearest to n · Σm² - (Σm)² of whole numbers, if it fits 64 bits; else -1. O(n + w · q)."""
    total, squares = np.zeros(len(units) + 1, np.int64), np.zeros(len(units) + 1, np.int64)
    largest = np.int64(0)
    for place in range(len(units)):
        total[place + 1] = total[place] + units[place]
        squares[place + 1] = squares[place] + units[place] * units[place]
        largest = max(largest, abs(units[place]))
    answers = np.empty(first.shape)
    for window in range(len(first)):
        for question in range(len(stop)):
            begin, end = first[window, question], stop[question]
            count = end - begin
            if np.float64(count) * np.float64(largest) >= 2.0**31:
                answers[window, question] = -1.0
                continue
            whole = total[end] - total[begin]
            answers[window, question] = np.float64(count * (squares[end] - squares[begin]) - whole * whole)
    return answers


@njit(cache=True)
def exponents_of(numbers: Any) -> Any:
    """The least and the largest exponent of float64[n], as whole multiples of a power of two below 2^53; 0 is none."""
    least, largest = 2000, -2000
    for number in numbers:
        if number != 0:
            _, exponent = math.frexp(number)
            exponent = max(exponent - 53, _LEAST)
            least, largest = min(least, exponent), max(largest, exponent)
    return least, largest


@njit(cache=True)
def sums_of_floats(numbers: Any, least: int, digits: int, first: Any, stop: Any) -> Any:
    """float64[w, q]: the nearest to the exact sum of float64[n], as math.fsum gives. O((n + w · q) · digits).

    least: the least exponent; digits: enough for the largest.
    """
    prefix = np.zeros((len(numbers) + 1, digits), np.int64)
    for place in range(len(numbers)):
        prefix[place + 1] = prefix[place]
        _add(prefix[place + 1], numbers[place], least)
    answers = np.empty(first.shape)
    whole = np.zeros(digits + 2, np.int64)
    for window in range(len(first)):
        for question in range(len(stop)):
            negative = _difference(prefix[stop[question]], prefix[first[window, question]], whole)
            nearest = _rounded(whole, least)
            answers[window, question] = -nearest if negative else nearest
    return answers


@njit(cache=True)
def spreads_of_floats(numbers: Any, least: int, digits: int, first: Any, stop: Any) -> Any:
    """float64[w, q]: the nearest to n · Σv² - (Σv)² of float64[n]. O((n + w · q · digits) · digits)."""
    double = 2 * digits
    prefix, squares = np.zeros((len(numbers) + 1, digits), np.int64), np.zeros((len(numbers) + 1, double), np.int64)
    one = np.zeros(digits, np.int64)
    for place in range(len(numbers)):
        prefix[place + 1] = prefix[place]
        squares[place + 1] = squares[place]
        _add(prefix[place + 1], numbers[place], least)
        one[:] = 0
        _add(one, abs(numbers[place]), least)
        _add_product(squares[place + 1], one, one, np.int64(1))
    answers = np.empty(first.shape)
    whole, square = np.zeros(digits + 2, np.int64), np.zeros(double + 2, np.int64)
    spread = np.zeros(double + 5, np.int64)
    for window in range(len(first)):
        for question in range(len(stop)):
            begin, end = first[window, question], stop[question]
            _difference(prefix[end], prefix[begin], whole)
            _difference(squares[end], squares[begin], square)
            spread[:] = 0
            for digit in range(len(square)):
                product = square[digit] * (end - begin)
                spread[digit] += product & _LOW
                spread[digit + 1] += product >> 32
            _carry(spread)
            _add_product(spread, whole, whole, np.int64(-1))
            _carry(spread)
            answers[window, question] = _rounded(spread, 2 * least)
    return answers


@njit(cache=True)
def _add(digits: Any, number: float, least: int) -> None:
    """Add a float64 to digits of 32 bits above an exponent, each digit with the number's sign."""
    if number == 0:
        return
    _, exponent = math.frexp(abs(number))
    exponent = max(exponent - 53, _LEAST)
    mantissa = np.int64(math.ldexp(abs(number), -exponent))
    place, bits = (exponent - least) >> 5, (exponent - least) & 31
    sign = 1 if number > 0 else -1
    low, high = mantissa & _LOW, mantissa >> 32
    digits[place] += sign * ((low << bits) & _LOW)
    middle = (low >> (32 - bits)) + ((high << bits) & _LOW)
    digits[place + 1] += sign * (middle & _LOW)
    top = (high >> (32 - bits)) + (middle >> 32)
    if top:
        digits[place + 2] += sign * top


@njit(cache=True)
def _add_product(digits: Any, one: Any, other: Any, sign: int) -> None:
    """Add sign times the product of two numbers in digits of 32 bits; `digits` may then be larger than 32 bits."""
    for digit in range(len(one)):
        if one[digit] == 0:
            continue
        for right in range(len(other)):
            if other[right] == 0:
                continue
            product = np.uint64(one[digit]) * np.uint64(other[right])
            digits[digit + right] += sign * np.int64(product & np.uint64(0xFFFFFFFF))
            digits[digit + right + 1] += sign * np.int64(product >> np.uint64(32))


@njit(cache=True)
def _carry(digits: Any) -> None:
    """Make each digit from 0 to 2^32 - 1; the last one takes the rest, and the sign."""
    carry = np.int64(0)
    for digit in range(len(digits)):
        total = digits[digit] + carry
        if digit == len(digits) - 1:
            digits[digit] = total
        else:
            digits[digit] = total & _LOW
            carry = total >> 32


@njit(cache=True)
def _difference(later: Any, earlier: Any, whole: Any) -> bool:
    """Set `whole`, which has two more digits, to the magnitude of later - earlier; returns whether that is negative."""
    whole[:] = 0
    for digit in range(len(later)):
        whole[digit] = later[digit] - earlier[digit]
    _carry(whole)
    if whole[len(whole) - 1] >= 0:
        return False
    for digit in range(len(whole)):
        whole[digit] = -whole[digit]
    _carry(whole)
    return True


@njit(cache=True)
def _rounded(digits: Any, exponent: int) -> float:
    """The float64 nearest to a number in digits times 2^exponent; half-way to the even one."""
    top = len(digits) - 1
    while top >= 0 and digits[top] == 0:
        top -= 1
    if top < 0:
        return 0.0
    length = 32 * top
    while digits[top] >> (length - 32 * top):
        length += 1
    keep = min(53, length + exponent - _LEAST)
    if keep < 0:
        return 0.0
    lost = length - keep
    if lost <= 0:
        mantissa = np.int64(0)
        for digit in range(top, -1, -1):
            mantissa = (mantissa << 32) | digits[digit]
        return math.ldexp(np.float64(mantissa), exponent)
    mantissa = np.int64(0)
    for bit in range(length - 1, lost - 1, -1):
        mantissa = (mantissa << 1) | ((digits[bit >> 5] >> (bit & 31)) & 1)
    half = (digits[(lost - 1) >> 5] >> ((lost - 1) & 31)) & 1
    if half:
        more = digits[(lost - 1) >> 5] & ((np.int64(1) << ((lost - 1) & 31)) - 1)
        digit = ((lost - 1) >> 5) - 1
        while more == 0 and digit >= 0:
            more = digits[digit]
            digit -= 1
        if more or mantissa & 1:
            mantissa += 1
    return math.ldexp(np.float64(mantissa), lost + exponent)
