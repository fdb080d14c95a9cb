"""Buckets of hashes, several a row: rows of a bucket are linked, the newest first, and nothing is ever deleted.

Rows are in order of arrival, and numbered without gaps: slots. A link says how far back the next row of its bucket is,
so the first expired row ends a scan.
"""

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from skyband.kernels.nested import nested_njit

from skyband_setjoin.matching.bounds import NEVER

_MOST_OF_BAND = 64
"""Hashes of a band."""

LINK = np.dtype([("tag", np.uint32), ("back", np.uint32)])
"""A row in a band: its tag there, and how many slots back the next of its bucket is; 0: none."""


class Bands(NamedTuple):
    """The buckets of every band.

    heads: int64[b, power of two], the newest slot of a bucket, by the low bits of its tag; NEVER if there was none
    links: LINK[power of two, b], by the low bits of the slot
    """

    heads: Any
    links: Any


def no_bands(count: int, room: int) -> Bands:
    """Bands without rows: as many as `count`, with links for `room` rows, a power of two."""
    return Bands(np.full((count, room), NEVER, np.int64), np.zeros((room, count), LINK))


@lru_cache(maxsize=64)
def bands_for(agreement: float, recall: float, most: int) -> tuple[int, int]:
    """(bands, hashes of each): as many hashes as `most` in all allows, as these keep candidates few.

    agreement: the probability p that two rows at the threshold have one hash in common. The bands are the fewest with
    1 − (1 − p^r)^b >= recall; one hash each if the threshold is too low for `most`.
    """
    best = (_bands(agreement, recall, 1), 1)
    for hashes in range(2, min(most, _MOST_OF_BAND) + 1):
        bands = _bands(agreement, recall, hashes)
        if bands * hashes <= most:
            best = (bands, hashes)
    return best


def _bands(agreement: float, recall: float, hashes: int) -> int:
    alike_in_one = agreement**hashes
    if alike_in_one >= 1.0:
        return 1
    return math.ceil(math.log1p(-recall) / math.log1p(-alike_in_one))


@nested_njit
def link_in(bands, slot, tags):
    """Put the row in this slot at the head of its bucket in each band; tags: uint32[b]."""
    heads, links = bands.heads, bands.links
    for band in range(len(tags)):
        bucket = np.int64(tags[band]) & (heads.shape[1] - 1)
        behind = slot - heads[band, bucket]
        link = links[slot & (len(links) - 1), band]
        link.tag = tags[band]
        link.back = np.uint32(behind if heads[band, bucket] != NEVER and behind < 1 << 32 else 0)
        heads[band, bucket] = slot


@nested_njit
def refitted(bands, room, first, stop):
    """The bands with `room` buckets and links, and the rows in the slots from `first` to `stop`. O(b · rows)."""
    old = bands.links
    count = old.shape[1]
    grown = Bands(np.full((count, room), NEVER, np.int64), np.zeros((room, count), LINK))
    tags = np.empty(count, np.uint32)
    for slot in range(first, stop):
        for band in range(count):
            tags[band] = old[slot & (len(old) - 1), band].tag
        link_in(grown, slot, tags)
    return grown
