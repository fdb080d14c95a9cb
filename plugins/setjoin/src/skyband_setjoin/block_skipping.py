"""Skips blocks of 64 entries of long lists at once, in compiled code.

A list is scanned from its youngest set to its oldest, and the bound that a pair has to beat rises on the way. A block
is skipped if no pair of it can be as similar as the bound at its youngest set. If it can be exactly as similar, as for
a token that all sets share, each of its sets is checked once: a pair that loses its tie now loses every later one, so
the result is stored.
"""

import numpy as np
from numba import njit
from skyband.arrays import Array
from skyband.kernels.nested import nested_njit

from skyband_setjoin.indexed import ones
from skyband_setjoin.similarity_kernel import similarity
from skyband_setjoin.stairs import rank_before

ENTRIES = 64
LONG = 4 * ENTRIES
"""Entries from which on a list is long enough to check its blocks."""

BLOCK = np.dtype(
    [
        ("token", np.int64),
        ("oldest", np.int64),
        ("youngest", np.int64),
        ("refused", np.float64),
        ("least", np.int32),
        ("most", np.int32),
    ]
)
"""64 entries of a list, identified for good by its token and the numbers of the first and the last set.

refused: no later pair whose older set is one of these matters if it is at most this similar (−inf: unknown)
least, most: their smallest and largest size
"""


def fitted(blocks: Array, pool: Array) -> Array:
    """Blocks for the lists of a pool; their contents are lost if the pool's size has changed."""
    room = len(pool) // ENTRIES + 1
    return blocks if room <= len(blocks) <= 4 * room else np.zeros(room, BLOCK)


@nested_njit
def place_of(offset, slot):
    """The index of the block that ends with a slot of the ring at `offset`; rings do not share blocks."""
    return offset // ENTRIES + slot // ENTRIES


@njit(cache=True, inline="always")
def none_matters(block, token, pool, offset, last, mask, first, youngest, records, items, k, stocked, older, steps, base, shift, limit, kind, own, number, size, signature, remaining, new_left):  # fmt: skip  # noqa: E501
    """Says whether a new set forms no relevant pair with any of the 64 entries up to `last` of a token's list.

    `block` caches facts about them. The list: its ring at `offset` of the pool, its mask, and the numbers of the oldest
    valid set, `first`, and of the youngest of these entries. The sets' records. The bounds: items, K and SIZE of the
    stock, its stairs, and `limit`, the rank in B that pairs with the youngest have to beat. The new set: number, size,
    signature, how many of its tokens remain, and whether it is left.
    """
    oldest = first + ((np.int64(pool[offset + ((last + 1 - ENTRIES) & mask)].number) - first) & 0xFFFFFFFF)
    if block.youngest != youngest or block.oldest != oldest or block.token != token:
        block.token, block.oldest, block.youngest, block.refused = token, oldest, youngest, -np.inf
        block.least, block.most = _sizes(pool, offset, last, mask)
    least, most = np.int64(block.least), np.int64(block.most)
    bound = _at_most(kind, own, remaining, size, least, most)
    if bound <= block.refused:
        return True
    if limit >= stocked:
        if not _all_saturated(pool, offset, last, mask, first, records, k, bound):
            return False
        block.refused = bound
        return True
    score = items[limit].score
    if bound < score:
        return True
    shared = (size + _closest(pool, offset + ((last + 1 - ENTRIES) & mask), signature)) >> 1
    if shared < remaining:
        bound = _at_most(kind, own, shared, size, least, most)
        if bound <= block.refused or bound < score:
            return True
    if bound > score or not _all_lose(
        pool, offset, last, mask, first, items, k, stocked, older, steps, base, shift, bound, number, new_left
    ):
        return False
    block.refused = bound
    return True


@nested_njit
def _at_most(kind, own, shared, size, least, most):
    """The largest similarity of a set with sets of sizes `least` to `most` that share at most `shared` tokens."""
    likest = min(max(shared, least), most)
    return similarity(kind, own, min(shared, likest), size, likest)


@njit(cache=True, inline="always")
def _closest(pool, begin, signature):
    """The largest difference of a size and the tokens in one set only, by signatures. LLVM vectorises it.

    The index is unsigned: if it could be negative, entries would be gathered one by one.
    """
    closest = np.int64(-(2**62))
    for j in range(begin, begin + ENTRIES):
        entry = pool[np.uint64(j)]
        closest = max(closest, np.int64(entry.size) - ones(signature ^ entry.signature))
    return closest


@njit(cache=True, inline="always")
def _sizes(pool, offset, last, mask):
    """The smallest and the largest size of the 64 entries of a ring at `offset` up to `last`."""
    least, most = np.int64(pool[offset + (last & mask)].size), np.int64(0)
    for j in range(last - ENTRIES + 1, last + 1):
        size = np.int64(pool[offset + (j & mask)].size)
        least, most = min(least, size), max(most, size)
    return least, most


@nested_njit
def _all_saturated(pool, offset, last, mask, first, records, k, bound):
    """Whether each of these 64 sets has k later ones with at least similarity `bound`."""
    for j in range(last, last - ENTRIES, -1):
        candidate = first + ((np.int64(pool[offset + (j & mask)].number) - first) & 0xFFFFFFFF)
        record = records[candidate & (len(records) - 1)]
        if record.hits < k or record.level < bound:
            return False
    return True


@nested_njit
def _all_lose(pool, offset, last, mask, first, items, k, stocked, older, steps, base, shift, bound, number, new_left):
    """Whether all pairs of similarity `bound` of set `number` with these 64 entries lose their ties.

    Each has to beat `bound` or more: an older set never has less to beat than a younger one.
    """
    rank = stocked
    for j in range(last, last - ENTRIES, -1):
        candidate = first + ((np.int64(pool[offset + (j & mask)].number) - first) & 0xFFFFFFFF)
        rank = rank_before(older, steps, base, shift, rank, candidate)
        worst = items[k - 1 + rank]
        left, right = (number, candidate) if new_left else (candidate, number)
        if worst.score == bound and (left < worst.tie or (left == worst.tie and right < worst.key)):
            return False
    return True
