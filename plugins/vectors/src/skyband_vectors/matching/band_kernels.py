"""Matching by the signs of random projections, in compiled code.

A plane through the origin, even in all directions, has two vectors at the angle θ on one side with probability 1 - θ/π.
So all r planes of a band have them so with the r-th power of that, and vectors that agree in a band are compared by the
definition. Charikar, Similarity estimation techniques from rounding algorithms, STOC 2002.
"""

import numpy as np
from skyband.kernels.nested import kernel_njit, nested_njit
from skyband.roles.sharding import BUILD, PROBE
from skyband_setjoin.matching.answers import MATCH, append_matches, arrange, with_room
from skyband_setjoin.matching.bands import link_in, refitted
from skyband_setjoin.matching.bounds import NEVER
from skyband_setjoin.sets import mixed

from skyband_vectors.matching.definition_kernels import COSINE_KIND, inner, similarity
from skyband_vectors.matching.scan_kernels import is_below


@kernel_njit
def tags_of(products, margin, planes, entries, bands):
    """uint32[n, bands]: a hash of the signs of each vector's products with the planes of a band.

    products: float32[n, p], about the cosines with the planes; those within the margin of 0 are computed by the
    definition, so that tags depend on no other vector of a batch.
    """
    hashes = len(planes) // bands
    tags = np.empty((len(products), bands), np.uint32)
    for i in range(len(products)):
        for band in range(bands):
            signs = np.int64(0)
            for k in range(band * hashes, band * hashes + hashes):
                product = np.float64(products[i, k])
                if abs(product) < margin:
                    product = inner(planes[k], entries[i])
                signs = (signs << 1) | np.int64(product >= 0.0)
            tags[i, band] = np.uint32(mixed(signs) >> np.uint64(32))
    return tags


@kernel_njit
def refit(bands, room, first, stop):
    """The bands with `room` buckets and links, and the rows in the slots from `first` to `stop`."""
    return refitted(bands, room, first, stop)


@nested_njit
def _compared(new, i, others, j, threshold, margin, matches, count):
    """Add the match of two vectors, if they match by the definition; returns `matches` and their number."""
    x, y = new.entries[i], others.entries[j]
    if is_below(COSINE_KIND, x, y, new.lengths[i], others.lengths[j], threshold, margin):
        return matches, count
    value = similarity(COSINE_KIND, inner(x, y), new.squares[i], others.squares[j])
    if value >= threshold:
        matches = with_room(matches, count)
        matches[count].earlier, matches[count].similarity = others.numbers[j], value
        count += 1
    return matches, count


@kernel_njit
def decide(new, row, old, places, two, threshold, margin, most):
    """MATCH[r]: the matches of a row among vectors held at these places, in the contract's order."""
    matches, count = np.empty(16, MATCH), 0
    for j in places:
        if not (two and old.sides[j] == new.sides[row]):
            matches, count = _compared(new, row, old, j, threshold, margin, matches, count)
    return matches[: arrange(matches, count, most)]


@kernel_njit
def take(bands, stamps, tags, stop, new, old, times, old_times, horizons, parts, two, drops, threshold, margin, most):
    """Take in a batch; returns cuts int64[n + 1], MATCH[at least cuts[-1]], the rows kept and the pairs compared.

    stop: the slot of the first row that is kept. stamps: int64[links], the number of the row that saw a slot last.
    horizons: the time of the oldest vectors of each row. drops: a row that matches is not kept.
    margin: how far a float32 product of vectors of length 1 may be from their cosine.
    """
    first, room = stop - len(old_times), len(bands.links)
    cuts, stay = np.zeros(len(times) + 1, np.int64), np.empty(len(times), np.int64)
    matches, answers = np.empty(16, MATCH), np.empty(16, MATCH)
    used = looks = 0
    for i in range(len(times)):
        count = 0
        for band in range(tags.shape[1] if parts[i] & PROBE else 0):
            tag = tags[i, band]
            slot = bands.heads[band, np.int64(tag) & (room - 1)]
            while slot >= first:
                is_old, place = slot < stop, slot & (room - 1)
                j = slot - first if is_old else stay[slot - stop]
                if (old_times[j] if is_old else times[j]) < horizons[i]:
                    break
                link = bands.links[place, band]
                slot = slot - np.int64(link.back) if link.back else np.int64(NEVER)
                if link.tag != tag or stamps[place] == new.numbers[i]:
                    continue
                stamps[place] = new.numbers[i]
                if two and (old.sides[j] if is_old else new.sides[j]) == new.sides[i]:
                    continue
                looks += 1
                matches, count = _compared(new, i, old if is_old else new, j, threshold, margin, matches, count)
        count = arrange(matches, count, most)
        answers = append_matches(answers, cuts[i], matches, count)
        cuts[i + 1] = cuts[i] + count
        if parts[i] & BUILD and not (drops and count > 0):
            stay[used] = i
            link_in(bands, stop + used, tags[i])
            used += 1
    return cuts, answers, stay[:used], looks


@kernel_njit
def link_all(bands, slot, tags):
    """Put rows with these tags in the bands, the first in this slot."""
    for i in range(len(tags)):
        link_in(bands, slot + i, tags[i])
