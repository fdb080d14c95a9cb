"""Turns a word into 64 random bits, the same on every machine: the finaliser of splitmix64 (Stafford's variant 13).

It is a bijection, so distinct words never collide.
"""

import numpy as np
from numba import njit

MULTIPLY_1, MULTIPLY_2, GAMMA = map(np.uint64, (0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0x9E3779B97F4A7C15))
_30, _27, _31 = np.uint64(30), np.uint64(27), np.uint64(31)


@njit(inline="always")
def mix(word: np.uint64) -> np.uint64:
    """64 random bits from a word."""
    word = (word ^ (word >> _30)) * MULTIPLY_1
    word = (word ^ (word >> _27)) * MULTIPLY_2
    return word ^ (word >> _31)


def salt_of(seed: int) -> np.uint64:
    """The word that differs for every seed, to draw other random numbers with."""
    word = (seed * int(GAMMA) + 0x5EED) & (1 << 64) - 1
    for multiplier, shift in ((MULTIPLY_1, 30), (MULTIPLY_2, 27)):
        word = ((word ^ (word >> shift)) * int(multiplier)) & (1 << 64) - 1
    return np.uint64(word ^ (word >> 31))
