"""Turns a key and a sketch's seed into random bits, the same on every machine.

Keys arrive hashed (`skyband.columns.hashing`), but each sketch mixes them again: sketches with different seeds must be
independent, and plain numbers must work as keys too. The mixer is the finaliser of splitmix64 (Stafford's variant 13):
a bijection of 64-bit words, so distinct keys never collide here.
"""

import numpy as np
from numba import njit

from skyband_distinct.salts import GAMMA as _GAMMA
from skyband_distinct.salts import MULTIPLY_1, MULTIPLY_2, salt

__all__ = ["GAMMA", "mix", "salt"]

_MULTIPLY_1, _MULTIPLY_2, GAMMA = map(np.uint64, (MULTIPLY_1, MULTIPLY_2, _GAMMA))
_30, _27, _31 = np.uint64(30), np.uint64(27), np.uint64(31)


@njit(inline="always")
def mix(key: np.uint64) -> np.uint64:
    """64 random bits from a word."""
    word = (key ^ (key >> _30)) * _MULTIPLY_1
    word = (word ^ (word >> _27)) * _MULTIPLY_2
    return word ^ (word >> _31)
