# mypy: disable-error-code="no-untyped-def"
"""Stretches of long lists that are passed over at once, in compiled code: what is known of 64 entries together.

A list is walked from its youngest set to its oldest, and what a pair has to beat rises on the way. So where the most
similar pair that a stretch could give is below what a pair with its youngest set has to beat, none of it matters.
Where the two are equal, which they are for a token that all sets share, each set is looked at once: a pair that loses
its tie now loses every later one, so what is found is remembered.
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
"""Entries of a list that is long enough for its stretches to be looked at."""

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


def fitted(blocks: Array, pool: Array) -> Array:
    """Blocks for the lists of a pool. What is known of them is lost where the pool has become another size."""
    room = len(pool) // ENTRIES + 1
    return blocks if room <= len(blocks) <= 4 * room else np.zeros(room, BLOCK)


@nested_njit
def place_of(offset, slot):
    """The place of the block that ends with a slot of the ring at `offset`; rings do not share blocks."""
    return offset // ENTRIES + slot // ENTRIES


@njit(cache=True, inline="always")
def none_matters(block, token, pool, offset, last, mask, first, youngest, records, items, k, stocked, older, steps, base, shift, limit, kind, own, number, size, signature, remaining, new_left):  # fmt: skip  # noqa: E501
    """Whether a new set forms no relevant pair with any of the 64 entries up to `last` of a token's list.

    What is known of them is kept in `block`. The list: its ring at `offset` of the pool, its mask, and the number of
    the oldest valid set, `first`, and of the youngest of these entries. The sets' records. The bounds: items, K and
    SIZE of the stock, its stairs, and `limit`, the place in B of what pairs with the youngest have to beat. The new
    set: number, size, signature, how many of its tokens remain, and whether it is left.
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
    """The largest similarity of a set with sets of sizes `least` to `most` that share at most so many tokens."""
    likest = min(max(shared, least), most)
    return similarity(kind, own, min(shared, likest), size, likest)


@njit(cache=True, inline="always")
def _closest(pool, begin, signature):
    """The largest size less the tokens that are in one set only, seen from signatures. LLVM takes several at once.

    The index has no sign: where it might count from the array's end, entries are gathered one by one.
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
    """Whether each of these 64 sets has had k later ones that are at least so similar to it."""
    for j in range(last, last - ENTRIES, -1):
        candidate = first + ((np.int64(pool[offset + (j & mask)].number) - first) & 0xFFFFFFFF)
        record = records[candidate & (len(records) - 1)]
        if record.hits < k or record.level < bound:
            return False
    return True


@nested_njit
def _all_lose(pool, offset, last, mask, first, items, k, stocked, older, steps, base, shift, bound, number, new_left):
    """Whether pairs of similarity `bound` of set `number` with these 64 entries all lose their ties.

    None has less than `bound` to beat: an older set never has less than a younger one.
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
