# mypy: disable-error-code="untyped-decorator"
"""How a sketch turns a key and its seed into random bits, the same on every machine.

Keys arrive hashed (`skyband.columns.hashing`), but each sketch mixes them once more: sketches of different seeds must
be independent of each other, and plain numbers must do as keys too. The mixer is the finaliser of splitmix64
(Stafford's variant 13): a bijection of 64-bit words, so distinct keys never collide here.
"""

import numpy as np
from numba import njit

_MULTIPLY_1 = np.uint64(0xBF58476D1CE4E5B9)
_MULTIPLY_2 = np.uint64(0x94D049BB133111EB)
GAMMA = np.uint64(0x9E3779B97F4A7C15)
_30, _27, _31 = np.uint64(30), np.uint64(27), np.uint64(31)
_MASK = (1 << 64) - 1


@njit(inline="always")
def mix(key: np.uint64) -> np.uint64:
    """Sixty-four random bits out of a word."""
    word = (key ^ (key >> _30)) * _MULTIPLY_1
    word = (word ^ (word >> _27)) * _MULTIPLY_2
    return word ^ (word >> _31)


def salt(seed: int, stream: int = 0) -> np.uint64:
    """The word a sketch xors into its keys: unlike for every (seed, stream), stream < 2^32."""
    word = seed & _MASK
    for step in (stream + 1, 0x5EED):
        word = (word + step * int(GAMMA)) & _MASK
        word = ((word ^ (word >> 30)) * int(_MULTIPLY_1)) & _MASK
        word = ((word ^ (word >> 27)) * int(_MULTIPLY_2)) & _MASK
        word ^= word >> 31
    return np.uint64(word)
