# mypy: disable-error-code="untyped-decorator"
"""How keys stamp a table, int64[levels, arrays], NEVER in cells that no key has reached.

The three ways to stamp share a protocol: they begin at row `start` and return a row before which all is done, to go
on from when the table has more levels, or the number of rows. Stamping a row twice is harmless.
"""

from typing import Any

import numpy as np
from numba import njit

from skyband_distinct.likelihood import LEVELS
from skyband_distinct.mixing import GAMMA, mix
from skyband_distinct.recent_keys import BLOCK

_0, _1, _32 = np.uint64(0), np.uint64(1), np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_LAST_LEVEL = np.uint64(1 << (LEVELS - 1))


@njit(inline="always")
def _trailing_zeros(word: np.uint64) -> Any:
    """Of a word that is not 0; compiles to one instruction or two."""
    word = (word & (~word + _1)) - _1
    word = word - ((word >> _1) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@njit(cache=True)
def stamp_one(stamps: Any, times: Any, keys: Any, salt: np.uint64, highs: Any, start: int) -> int:
    """Each key stamps one cell. O(1) a row. On the way, writes the latest time of each BLOCK of rows into `highs`."""
    arrays = np.uint64(stamps.shape[1]) & _LOW
    flat = stamps.reshape(-1)
    # Unsigned, because numba would look at the sign of every index.
    cells, room = np.empty(BLOCK, np.uint64), np.uint64(len(flat))
    for first in range(start, len(keys), BLOCK):
        block_times, block_keys = times[first : first + BLOCK], keys[first : first + BLOCK]
        highest = _0
        # This loop becomes vector code, with the factors known to be below 2^32 in half the time.
        for row in range(len(block_keys)):
            word = mix(block_keys[row] ^ salt)
            level = _trailing_zeros((word & _LOW) | _LAST_LEVEL) & np.uint64(LEVELS - 1)
            cells[row] = level * arrays + (((word >> _32) * arrays) >> _32)
            highest = max(highest, cells[row])
        if highest >= room:
            return first
        high = block_times[0]
        for row in range(len(block_times)):
            high = max(high, block_times[row])
            flat[cells[row]] = max(flat[cells[row]], block_times[row])
        highs[first // BLOCK] = high
    return len(keys)


@njit(cache=True)
def stamp_strata(stamps: Any, times: Any, keys: Any, salt: np.uint64, firsts: Any, widths: Any, start: int) -> int:
    """Each key stamps one cell in each stratum of arrays [firsts[i], firsts[i] + widths[i]). O(strata) a row."""
    arrays = np.uint64(stamps.shape[1]) & _LOW
    flat = stamps.reshape(-1)
    cells, room = np.empty(len(firsts), np.uint64), np.uint64(len(flat))
    for row in range(start, len(keys)):
        seed, time = mix(keys[row] ^ salt), times[row]
        highest = _0
        # Vector code and unsigned cells, as in stamp_one.
        for stratum in range(len(firsts)):
            word = mix(seed + np.uint64(stratum + 1) * GAMMA)
            level = _trailing_zeros((word & _LOW) | _LAST_LEVEL) & np.uint64(LEVELS - 1)
            array = firsts[stratum] + (((word >> _32) * (widths[stratum] & _LOW)) >> _32)
            cells[stratum] = level * arrays + array
            highest = max(highest, cells[stratum])
        if highest >= room:
            return row
        for stratum in range(len(firsts)):
            if flat[cells[stratum]] < time:
                flat[cells[stratum]] = time
    return len(keys)


@njit(cache=True)
def stamp_all(stamps: Any, times: Any, keys: Any, salt: np.uint64, done: Any, start: int) -> int:
    """Each key stamps one cell in every array. O(arrays / 64) a row; rows must come youngest first.

    Bit-sliced: a word stands for 64 arrays, a random word halves those still without a level. `done`,
    uint64[LEVELS, arrays / 64], marks the cells that a younger row of the batch has stamped: only its first hit
    on a cell stores.
    """
    levels, arrays = stamps.shape
    words = arrays // 64
    alive = np.empty(words, np.uint64)
    hits = np.empty(words, np.uint64)
    for row in range(start, len(keys)):
        seed, time = mix(keys[row] ^ salt), times[row]
        alive[:] = _ALL
        for level in range(LEVELS):
            base = seed + np.uint64(level) * GAMMA
            fresh, left = _0, _0
            finished = done[level]
            for word in range(words):
                bits = mix(base + np.uint64(word * LEVELS) * GAMMA) if level < LEVELS - 1 else _ALL
                hit = alive[word] & bits & ~finished[word]
                rest = alive[word] & ~bits
                hits[word] = hit
                alive[word] = rest
                fresh |= hit
                left |= rest
            if fresh != _0:
                if level >= levels:
                    return row
                for word in range(words):
                    hit = hits[word]
                    finished[word] |= hit
                    while hit != _0:
                        array = word * 64 + np.int64(_trailing_zeros(hit))
                        stamps[level, array] = max(stamps[level, array], time)
                        hit &= hit - _1
            if left == _0:
                break
    return len(keys)


@njit(cache=True)
def raise_to(stamps: Any, others: Any) -> None:
    """Raise the stamps to those of a table with the same levels or fewer. O(cells), as fast as they can be read."""
    for level in range(others.shape[0]):
        row, other = stamps[level], others[level]
        for array in range(len(row)):
            row[array] = max(row[array], other[array])
