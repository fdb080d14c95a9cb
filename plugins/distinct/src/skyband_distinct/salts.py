"""The mixer of keys and the salts of sketches, without compiled code (`skyband.kernels.mixing`).

Keys arrive hashed (`skyband.columns.hashing`), but each sketch mixes them again: sketches with different seeds must be
independent, and plain numbers must work as keys too.
"""

import numpy as np
from skyband.arrays import UInt64

MULTIPLY_1, MULTIPLY_2 = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
GAMMA = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1


def salt(seed: int, stream: int = 0) -> np.uint64:
    """The word that a sketch xors into its keys, different for every (seed, stream) with stream < 2^32."""
    word = seed & _MASK
    for step in (stream + 1, 0x5EED):
        word = (word + step * GAMMA) & _MASK
        word = ((word ^ (word >> 30)) * MULTIPLY_1) & _MASK
        word = ((word ^ (word >> 27)) * MULTIPLY_2) & _MASK
        word ^= word >> 31
    return np.uint64(word)


def mixed(keys: UInt64) -> UInt64:
    """uint64[n]: `mix` of each key."""
    words = (keys ^ (keys >> np.uint64(30))) * np.uint64(MULTIPLY_1)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(MULTIPLY_2)
    hashes: UInt64 = words ^ (words >> np.uint64(31))
    return hashes
