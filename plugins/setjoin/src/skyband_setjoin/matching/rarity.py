# mypy: disable-error-code="no-untyped-def"
"""A total order of tokens, the rare ones first, learnt from the sets of a window, in compiled code.

Tokens are counted in buckets by hash, and each count is kept as a one-byte level, about twelve levels per doubling.
Two tokens of one bucket seem as frequent as both together. That costs time only: any total order is correct, and ours
is by level, then hash, then token. Tokens that the window did not contain are first.
"""

import math

import numpy as np
from skyband.kernels.nested import nested_njit

from skyband_setjoin.sets import FIRST, NEXT, mixed

LEAST_BITS, MOST_BITS = 8, 18
FINENESS = 8.0
_FEW = 32


@nested_njit
def learnt(sets):
    """uint8[power of two]: the level of each bucket, from the window's sets. O(tokens of the window)."""
    marks, records, ring = sets.marks, sets.records, sets.tokens
    total = np.int64(0)
    for slot in range(marks[FIRST], marks[NEXT]):
        total += np.int64(records[slot & (len(records) - 1)].size)
    bits = LEAST_BITS
    while bits < MOST_BITS and 1 << bits < total:
        bits += 1
    counts = np.zeros(1 << bits, np.int64)
    for slot in range(marks[FIRST], marks[NEXT]):
        record = records[slot & (len(records) - 1)]
        for i in range(record.start, record.start + record.size):
            counts[mixed(ring[i & (len(ring) - 1)]) >> np.uint64(64 - bits)] += 1
    levels = np.empty(len(counts), np.uint8)
    for bucket in range(len(counts)):
        levels[bucket] = min(255, int(FINENESS * math.log2(1.0 + counts[bucket])))
    return levels


@nested_njit
def rarest_first(levels, words, keys, size, count):
    """Move the `count` rarest of `size` distinct words to the front, in order. keys: uint64[at least size], scratch."""
    shift = np.uint64(64)
    room = len(levels)
    while room > 1:
        room >>= 1
        shift -= np.uint64(1)
    for i in range(size):
        mix = mixed(words[i])
        keys[i] = (np.uint64(levels[mix >> shift]) << np.uint64(56)) | (mix >> np.uint64(8))
    if size <= _FEW:
        for i in range(min(count, size - 1)):
            best = i
            for j in range(i + 1, size):
                if keys[j] < keys[best] or (keys[j] == keys[best] and words[j] < words[best]):
                    best = j
            _swap(words, keys, i, best)
        return
    for place in range(size // 2 - 1, -1, -1):
        _sink(words, keys, place, size)
    stop = size
    for _ in range(count):
        stop -= 1
        _swap(words, keys, 0, stop)
        _sink(words, keys, 0, stop)
    for i in range(size // 2):
        words[i], words[size - 1 - i] = words[size - 1 - i], words[i]


@nested_njit
def _sink(words, keys, place, stop):
    """Move a word down the heap of `words[:stop]`, the rarest at its top, to its place."""
    while 2 * place + 1 < stop:
        child = 2 * place + 1
        if child + 1 < stop and _precedes(words, keys, child + 1, child):
            child += 1
        if not _precedes(words, keys, child, place):
            return
        _swap(words, keys, place, child)
        place = child


@nested_njit
def _precedes(words, keys, i, j):
    return keys[i] < keys[j] or (keys[i] == keys[j] and words[i] < words[j])


@nested_njit
def _swap(words, keys, i, j):
    words[i], words[j] = words[j], words[i]
    keys[i], keys[j] = keys[j], keys[i]
