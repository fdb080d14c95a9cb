"""`shares.least_units` in compiled code: 57 bits of a share times 63 bits of a grand total, in four 32-bit words."""

from typing import Any

import numpy as np
from skyband.kernels.nested import nested_njit

_32 = np.uint64(32)
_WORD = np.uint64(0xFFFFFFFF)
_NONE, _ONE, _TEN = np.uint64(0), np.uint64(1), np.uint64(10)
_AT_ONCE = 9
"""The decimal places of one division: 10**9 is below 2**30."""


@nested_njit
def least_total(least: Any, grand: Any) -> Any:
    """The least int64 that is large enough (`shares.Least`) for a grand total (int64 >= 0)."""
    units = np.int64(least[2])
    return units if least[0] == 0 else max(_of_share(least, grand), units)


@nested_njit
def _of_share(share: Any, grand: Any) -> Any:
    """The least int64 with the share of a grand total, rounded up exactly."""
    numerator, total = np.uint64(share[0]), np.uint64(grand)
    a, b, c, d = numerator & _WORD, numerator >> _32, total & _WORD, total >> _32
    low, high = a * d, b * c
    first = (a * c) >> _32
    second = first + (low & _WORD) + (high & _WORD)
    third = (second >> _32) + (low >> _32) + (high >> _32) + b * d
    w0, w1, w2, w3 = (a * c) & _WORD, second & _WORD, third & _WORD, third >> _32
    places = share[1]
    remainder = _NONE
    while places > 0:
        by = _ONE
        for _ in range(min(places, _AT_ONCE)):
            by *= _TEN
        places -= _AT_ONCE
        rest = w3 % by
        w3 //= by
        word = (rest << _32) | w2
        w2, rest = word // by, word % by
        word = (rest << _32) | w1
        w1, rest = word // by, word % by
        word = (rest << _32) | w0
        w0, rest = word // by, word % by
        remainder |= rest
    least = (w1 << _32) | w0
    return np.int64(least) + np.int64(remainder > _NONE)
