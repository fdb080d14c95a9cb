"""Kernels that stamp a table with the times of keys.

They take `room`, int64[LEVELS, arrays], whose first `levels` levels are in use and hold TIME_MIN in cells that no key
has reached. They start to use further levels as keys reach them, and return the number of levels in use.
"""

from typing import Any

import numpy as np
from numba import njit
from skyband.arrays import TIME_MIN
from skyband.kernels.mixing import GAMMA, mix
from skyband.kernels.nested import nested_njit

from skyband_distinct.stamps.likelihood import LEVELS
from skyband_distinct.stamps.recent_keys import BLOCK

_0, _1, _32 = np.uint64(0), np.uint64(1), np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
LAST_LEVEL = np.uint64(1 << (LEVELS - 1))


@njit(inline="always")
def zeros_below(word: np.uint64) -> Any:
    """A word with ones in place of the zeros below its lowest one."""
    return (word - _1) & ~word


@njit(inline="always")
def bits_set(bits: np.uint64) -> Any:
    """The number of set bits; compiles to one or two instructions."""
    bits = bits - ((bits >> _1) & np.uint64(0x5555555555555555))
    bits = (bits & np.uint64(0x3333333333333333)) + ((bits >> np.uint64(2)) & np.uint64(0x3333333333333333))
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (bits * np.uint64(0x0101010101010101)) >> np.uint64(56)


@nested_njit
def _reach(room: Any, levels: int, level: int) -> int:
    """Start to use all levels up to `level`; returns the number in use."""
    while levels <= level:
        room[levels, :] = TIME_MIN
        levels += 1
    return levels


@njit(cache=True)
def stamp_one(room: Any, levels: int, times: Any, keys: Any, salt: np.uint64, highs: Any) -> int:
    """Each key stamps one cell. O(1) a row. Also writes the latest time of each BLOCK of rows into `highs`.

    Blocks are short, so that a processor stamps one while it computes the cells of the next.
    """
    arrays, flat = np.uint64(room.shape[1]) & _LOW, room.reshape(-1)
    cells = np.empty(BLOCK, np.uint64)
    # Unsigned, because numba would check the sign of every index.
    rows, most = np.uint64(len(keys)), np.uint64(BLOCK)
    for first in range(_0, rows, most):
        block = min(most, rows - first)
        reached, high = _0, times[first]
        # This loop is vectorised, and twice as fast because the factors are known to be below 2^32.
        for row in range(block):
            word = mix(keys[first + row] ^ salt)
            zeros = zeros_below(word | LAST_LEVEL)
            cells[row] = bits_set(zeros) * arrays + (((word >> _32) * arrays) >> _32)
            reached |= zeros
            high = max(high, times[first + row])
        highs[first // most] = high
        if bits_set(reached) >= levels:
            levels = _reach(room, levels, np.int64(bits_set(reached)))
        for row in range(block):
            flat[cells[row]] = max(flat[cells[row]], times[first + row])
    return levels


@njit(cache=True)
def stamp_strata(room: Any, levels: int, times: Any, keys: Any, salt: np.uint64, firsts: Any, widths: Any) -> int:
    """Each key stamps one cell in each stratum of arrays [firsts[i], firsts[i] + widths[i]). O(strata) a row."""
    arrays, flat = np.uint64(room.shape[1]) & _LOW, room.reshape(-1)
    cells = np.empty(len(firsts), np.uint64)
    for row in range(len(keys)):
        seed, time = mix(keys[row] ^ salt), times[row]
        reached = _0
        # Vectorised, with unsigned cells, as in stamp_one.
        for stratum in range(len(firsts)):
            word = mix(seed + np.uint64(stratum + 1) * GAMMA)
            zeros = zeros_below(word | LAST_LEVEL)
            array = firsts[stratum] + (((word >> _32) * (widths[stratum] & _LOW)) >> _32)
            cells[stratum] = bits_set(zeros) * arrays + array
            reached |= zeros
        if bits_set(reached) >= levels:
            levels = _reach(room, levels, np.int64(bits_set(reached)))
        for stratum in range(len(firsts)):
            if flat[cells[stratum]] < time:
                flat[cells[stratum]] = time
    return levels


@njit(cache=True)
def stamp_all(room: Any, levels: int, times: Any, keys: Any, salt: np.uint64) -> int:
    """Each key stamps one cell in every array. O(arrays / 64) a row; rows must be ordered youngest first.

    Bit-sliced: a word stands for 64 arrays, and a random word halves those still without a level. Cells that a younger
    row of the batch has stamped are marked, so that only the first hit on a cell stores.
    """
    words = room.shape[1] // 64
    stamped = np.zeros((LEVELS, words), np.uint64)
    alive, hits = np.empty(words, np.uint64), np.empty(words, np.uint64)
    for row in range(len(keys)):
        seed, time = mix(keys[row] ^ salt), times[row]
        alive[:] = _ALL
        for level in range(LEVELS):
            base = seed + np.uint64(level) * GAMMA
            any_hit, any_alive = _0, _0
            marked = stamped[level]
            for word in range(words):
                bits = mix(base + np.uint64(word * LEVELS) * GAMMA) if level < LEVELS - 1 else _ALL
                hit = alive[word] & bits & ~marked[word]
                rest = alive[word] & ~bits
                hits[word] = hit
                alive[word] = rest
                any_hit |= hit
                any_alive |= rest
            if any_hit != _0:
                levels = _reach(room, levels, level)
                for word in range(words):
                    hit = hits[word]
                    marked[word] |= hit
                    while hit != _0:
                        array = word * 64 + np.int64(bits_set(zeros_below(hit)))
                        room[level, array] = max(room[level, array], time)
                        hit &= hit - _1
            if any_alive == _0:
                break
    return levels


@njit(cache=True)
def raise_to(stamps: Any, others: Any) -> None:
    """Raise the stamps to those of a table with at most as many levels. O(cells), at the speed of memory."""
    for level in range(others.shape[0]):
        row, other = stamps[level], others[level]
        for array in range(len(row)):
            row[array] = max(row[array], other[array])
