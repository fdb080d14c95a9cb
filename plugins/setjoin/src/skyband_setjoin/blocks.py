# mypy: disable-error-code="untyped-decorator,no-untyped-def"
"""Stretches of long lists that are passed over at once, in compiled code: what is known of 64 entries together.

A list is walked from its youngest set to its oldest, and what a pair has to beat rises on the way. So where the most
similar pair that a stretch could give is below what a pair with its youngest set has to beat, none of it matters.
Where the two are equal, which they are for a token that all sets share, each set is looked at once: a pair that loses
its tie now loses every later one, so what is found is remembered.
"""

import numpy as np
from numba import njit

from skyband_setjoin.similarity import similarity
from skyband_setjoin.stairs import rank_before

ENTRIES = 64

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
"""64 entries of a list, by its token and the numbers of the first and the last set, which tell them for good.

refused: no further pair with one of these sets as its older one matters if it is only so similar (−inf: unknown)
least, most: their smallest and largest size
"""


@njit(cache=True)
def fitted(blocks, pool):
    """Blocks for the lists of a pool. What is known of them is lost where the pool has become another size."""
    room = len(pool) // ENTRIES + 1
    return blocks if room <= len(blocks) <= 4 * room else np.zeros(room, BLOCK)


@njit(cache=True)
def place_of(offset, slot):
    """The place of the block that ends with a slot of the ring at `offset`; rings do not share blocks."""
    return offset // ENTRIES + slot // ENTRIES


@njit(cache=True)
def none_matters(block, token, entries, youngest, bounds, limit, probe):
    """Whether a new set forms no relevant pair with any of the 64 entries up to `last` of a token's list.

    What is known of them is kept in `block`. entries: (pool, offset of the ring, last, mask, the oldest set's number).
    bounds: (items, K, SIZE) of the stock, and (older, steps, base, shift) of its stairs; limit: the place in B of what
    pairs with the youngest set have to beat.
    probe: (kind and function of similarity, number, size and remaining tokens of the new set, whether it is left).
    """
    kind, own, number, size, remaining, new_left = probe
    pool, offset, last, mask, first = entries
    items = bounds[0]
    oldest = first + ((np.int64(pool[offset + ((last + 1 - ENTRIES) & mask)].number) - first) & 0xFFFFFFFF)
    if block.youngest != youngest or block.oldest != oldest or block.token != token:
        block.token, block.oldest, block.youngest, block.refused = token, oldest, youngest, -np.inf
        block.least, block.most = _sizes(pool, offset, last, mask)
    likest = min(max(remaining, np.int64(block.least)), np.int64(block.most))
    bound = similarity(kind, own, min(remaining, likest), size, likest)
    if bound <= block.refused or bound < items[limit].score:
        return True
    if bound > items[limit].score or not _all_lose(entries, bounds, bound, number, new_left):
        return False
    block.refused = bound
    return True


@njit(cache=True)
def _sizes(pool, offset, last, mask):
    """The smallest and the largest size of the 64 entries of a ring at `offset` up to `last`."""
    least, most = np.int64(pool[offset + (last & mask)].size), np.int64(0)
    for j in range(last - ENTRIES + 1, last + 1):
        size = np.int64(pool[offset + (j & mask)].size)
        least, most = min(least, size), max(most, size)
    return least, most


@njit(cache=True)
def _all_lose(entries, bounds, bound, number, new_left):
    """Whether pairs of similarity `bound` of set `number` with these 64 entries all lose their ties.

    None has less than `bound` to beat: an older set never has less than a younger one.
    """
    pool, offset, last, mask, first = entries
    items, k, stocked, older, steps, base, shift = bounds
    rank = stocked
    for j in range(last, last - ENTRIES, -1):
        candidate = first + ((np.int64(pool[offset + (j & mask)].number) - first) & 0xFFFFFFFF)
        rank = rank_before(older, steps, base, shift, rank, candidate)
        worst = items[k - 1 + rank]
        left, right = (number, candidate) if new_left else (candidate, number)
        if worst.score == bound and (left < worst.tie or (left == worst.tie and right < worst.key)):
            return False
    return True
