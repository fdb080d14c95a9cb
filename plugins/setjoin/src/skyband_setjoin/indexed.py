"""The window's sets together with the lists of their tokens: expiry, insertion and lookup in both."""

import numpy as np
from skyband.arrays import TIME_MIN
from skyband.kernels.nested import nested_njit, shared_njit

from skyband_setjoin import index as lists
from skyband_setjoin.sets import FIRST, NEXT

SHORTEST, FIRST_SEEN = range(2)


@nested_njit
def horizon_of(now, length):
    """The time of the oldest sets that are valid at `now`."""
    return now - length if now >= TIME_MIN + length else TIME_MIN


@shared_njit
def expire(sets, index, horizon):
    """Forget the sets older than `horizon`."""
    counts, records, ring = sets.marks, sets.records, sets.tokens
    marks, table, pool = index.marks, index.table, index.pool
    mask = len(ring) - 1
    while counts[FIRST] < counts[NEXT]:
        record = records[counts[FIRST] & (len(records) - 1)]
        if record.time >= horizon:
            break
        for i in range(record.start, record.start + record.size):
            lists.drop_oldest(marks, table, pool, lists.find(table, ring[i & mask], record.side))
        counts[FIRST] += 1


@nested_njit
def find_all(table, side, tokens, size, places):
    """Find the slot of each token's list, NONE if it has none."""
    for i in range(size):
        places[i] = lists.find(table, tokens[i], side)


@nested_njit
def walk_order(table, places, size, order, walk, weights):
    """The order in which the tokens' lists are scanned; tokens without a list (NONE) come first.

    SHORTEST: the shortest list first. FIRST_SEEN: the token that entered the window last first.
    """
    for i in range(size):
        weight = np.int64(TIME_MIN)
        if places[i] != lists.NONE:
            row = table[places[i]]
            weight = np.int64(row.count) if order == SHORTEST else -row.arrival
        j = i
        while j > 0 and weights[j - 1] > weight:
            weights[j], walk[j] = weights[j - 1], walk[j - 1]
            j -= 1
        weights[j], walk[j] = weight, i


@nested_njit
def insert_all(index, side, number, tokens, size, signature, places):
    """Add a set to the lists of its tokens, with room reserved."""
    marks, table, pool = index.marks, index.table, index.pool
    for i in range(size):
        place = places[i]
        if place == lists.NONE:
            place = lists.insert(marks, table, pool, tokens[i], side)
        lists.push(marks, table, pool, place, number, size, signature)


@nested_njit
def ones(x):
    """The number of bits set in a uint64; LLVM compiles this pattern to one instruction."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))
