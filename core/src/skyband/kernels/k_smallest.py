"""The k smallest of a run of hashes, in O(1) expected each, for every step of the k-skyband sweep.

Hashes are evenly distributed, so their high bits already sort them: a table of buckets in the order of the hashes,
with a chain of entries in each, linked through `chain`, as are the free entries. The largest is in the last used
bucket, which only moves down; when it reaches the middle of the table, the buckets are halved, so that there is about
one hash per bucket throughout. The loop that owns a table keeps its few scalars (shift from hash to bucket, last
bucket, first free entry, size, largest hash) in local variables, for speed.
"""

from typing import Any

import numpy as np
from numba import njit

from skyband.kernels.nested import nested_njit

NOTHING = -1


@nested_njit
def empty_table(k: int) -> tuple[Any, Any, Any, int]:
    """The heads of the buckets, the chain, the hashes of up to k + 1 entries, all free, and the shift."""
    bits = 2
    while (1 << bits) < 2 * k:
        bits += 1
    return (
        np.full(1 << bits, NOTHING, np.int32),
        np.arange(1, k + 3).astype(np.int32),
        np.empty(k + 2, np.uint64),
        64 - bits,
    )


@njit(inline="always")
def holds(heads: Any, chain: Any, hashes: Any, bucket: int, value: np.uint64) -> bool:
    """Whether a hash is in its bucket."""
    entry = np.int64(heads[bucket])
    while entry != NOTHING and hashes[entry] != value:
        entry = np.int64(chain[entry])
    return bool(entry != NOTHING)


@njit(inline="always")
def drop_largest(heads: Any, chain: Any, hashes: Any, bucket: int, free: int) -> Any:
    """Free the largest entry of a bucket; returns it, now the first free entry."""
    entry = np.int64(heads[bucket])
    before, largest, largest_before = np.int64(NOTHING), entry, np.int64(NOTHING)
    while chain[entry] != NOTHING:
        before, entry = entry, np.int64(chain[entry])
        if hashes[entry] > hashes[largest]:
            largest, largest_before = entry, before
    if largest_before == NOTHING:
        heads[bucket] = chain[largest]
    else:
        chain[largest_before] = chain[largest]
    chain[largest] = free
    return largest


@njit(inline="always")
def largest_of(heads: Any, chain: Any, hashes: Any, bucket: int) -> Any:
    """The largest hash of a non-empty bucket."""
    entry = np.int64(heads[bucket])
    largest = hashes[entry]
    while chain[entry] != NOTHING:
        entry = np.int64(chain[entry])
        largest = max(largest, hashes[entry])
    return largest


@nested_njit
def halve_buckets(heads: Any, chain: Any, hashes: Any, last: Any, shift: int) -> Any:
    """Spread buckets 0 to `last`, in the lower half, over twice as many with this shift; returns the last in use."""
    for bucket in range(last, -1, -1):  # from the top, so that each is read before it is overwritten
        entry = np.int64(heads[bucket])
        heads[bucket] = NOTHING
        heads[2 * bucket] = NOTHING
        heads[2 * bucket + 1] = NOTHING
        while entry != NOTHING:
            following = np.int64(chain[entry])
            half = np.int64(hashes[entry] >> np.uint64(shift))
            chain[entry] = heads[half]
            heads[half] = entry
            entry = following
    last = 2 * last + 1
    while heads[last] == NOTHING:
        last -= 1
    return last


@nested_njit
def insert(
    heads: Any, chain: Any, hashes: Any, shift: Any, last: Any, free: Any, size: int, limit: Any, k: int, value: Any
) -> Any:
    """Insert a hash that is below `limit`, the largest of k; returns the new shift, last, free, size and limit."""
    bucket, entry = np.int64(value >> np.uint64(shift)), free
    free = np.int64(chain[entry])
    hashes[entry], chain[entry], heads[bucket] = value, heads[bucket], entry
    last = max(last, bucket)
    size += 1
    if size > k:
        free = drop_largest(heads, chain, hashes, last, free)
        size = k
    if size == k:
        while heads[last] == NOTHING:
            last -= 1
        limit = largest_of(heads, chain, hashes, last)
        while 2 * last + 1 < len(heads) and shift > 0:
            shift -= 1
            last = np.int64(halve_buckets(heads, chain, hashes, last, shift))
    return shift, last, free, size, limit
