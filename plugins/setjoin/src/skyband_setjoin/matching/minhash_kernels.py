"""Matching by MinHash bands, in compiled code.

The least hash of two sets by one function is equal with probability t, their Jaccard similarity. So all r of a band
agree with probability t^r, and at least one band of b with 1 − (1 − t^r)^b. Sets that agree in a band are compared
token by token. The sets of a bucket are linked, the newest first, by how far back the next one is. They are in order
of arrival, so the first expired set ends a scan, and nothing is ever deleted.

Source: Broder, On the Resemblance and Containment of Documents, 1997; bands as in Indyk and Motwani, STOC 1998.
"""

from typing import Any, NamedTuple

import numpy as np
from skyband.kernels.nested import kernel_njit, nested_njit, shared_njit
from skyband.roles.sharding import BUILD, PROBE

from skyband_setjoin import sets as window
from skyband_setjoin.indexed import horizon_of
from skyband_setjoin.matching.answers import MATCH, append_matches, arrange, with_room
from skyband_setjoin.matching.bags import bag_for, fill, in_common, mask_for
from skyband_setjoin.matching.bands import link_in, refitted
from skyband_setjoin.matching.bounds import NEVER, rule_from, slack_of
from skyband_setjoin.matching.window_matcher import KEEP_FIRST, LENGTH, MOST, SIDES
from skyband_setjoin.sets import FIRST, NEXT, mixed
from skyband_setjoin.similarity_kernel import similarity


class Hashes(NamedTuple):
    """The functions x → factors[k] · x + terms[k] modulo 2^32: uint32[b · r] each, grouped by band."""

    factors: Any
    terms: Any


@kernel_njit
def take(sets, bands, hashes, own, rest, settings, numbers, times, offsets, tokens, sides, parts):
    """Take in a batch; returns the new (sets, bands), cuts int64[n + 1] and MATCH[…], the matches of each set."""
    rule = rule_from(own, rest)
    two, length, rows = settings[SIDES] == 2, abs(settings[LENGTH]), settings[LENGTH] < 0
    longest = 1
    for row in range(len(times)):
        longest = max(longest, offsets[row + 1] - offsets[row])
    words, bag = np.empty(longest, np.int64), bag_for(longest)
    least, tags = np.empty(len(hashes.factors), np.uint32), np.empty(len(bands.heads), np.uint32)
    cuts = np.zeros(len(times) + 1, np.int64)
    matches, answers = np.empty(16, MATCH), np.empty(16, MATCH)
    for row in range(len(times)):
        window.expire(sets, horizon_of(times[row] + rows, length))
        mask = mask_for(offsets[row + 1] - offsets[row])
        size, _ = fill(bag, mask, numbers[row], tokens, offsets[row], offsets[row + 1], words)
        side, count = np.int64(sides[row]), np.int64(0)
        if size:
            _tag(hashes, words, size, least, tags)
        if parts[row] & PROBE and size:
            other = 1 - side if two else np.int64(-1)
            matches, count = _probe(sets, bands, rule, bag, mask, tags, size, other, numbers[row], matches)
            count = arrange(matches, count, settings[MOST])
            answers = append_matches(answers, cuts[row], matches, count)
        cuts[row + 1] = cuts[row] + count
        if parts[row] & BUILD and size and not (settings[KEEP_FIRST] and count):
            if not window.has_room(sets, size):
                sets = window.enlarged(sets, size)
                bands = fitted(bands, sets)
            window.append(sets, numbers[row], times[row], side, words, size)
            link_in(bands, sets.marks[NEXT] - 1, tags)
    sets = window.trim(sets)
    return (sets, fitted(bands, sets)), cuts, answers


@nested_njit
def _tag(hashes, words, size, least, tags):
    """Write the minhashes of a set to `least`, and a hash of those of each band to `tags`."""
    factors, terms = hashes.factors, hashes.terms
    for k in range(len(least)):
        least[k] = np.uint32(0xFFFFFFFF)
    for i in range(size):
        token = np.uint32(mixed(words[i]) >> np.uint64(32))
        for k in range(len(least)):
            least[k] = min(least[k], np.uint32(factors[k] * token + terms[k]))
    rows = len(least) // len(tags)
    for band in range(len(tags)):
        value = np.uint64(band)
        for k in range(band * rows, band * rows + rows):
            value = (value ^ np.uint64(least[k])) * np.uint64(0x9E3779B97F4A7C15)
            value ^= value >> np.uint64(32)
        tags[band] = np.uint32(value & np.uint64(0xFFFFFFFF))


@nested_njit
def _probe(sets, bands, rule, bag, mask, tags, size, other, number, matches):
    """Find matches of a set, on side `other` unless that is −1; returns `matches` and their number."""
    records, ring, first = sets.records, sets.tokens, sets.marks[FIRST]
    heads, links = bands.heads, bands.links
    slots, stamps = bag.tokens, bag.stamps
    count = 0
    for band in range(len(tags)):
        slot = heads[band, np.int64(tags[band]) & (heads.shape[1] - 1)]
        while slot >= first:
            place = slot & (len(records) - 1)
            link, record = links[place, band], records[place]
            slot = slot - np.int64(link.back) if link.back else np.int64(NEVER)
            if link.tag != tags[band] or record.stamp == number or record.side == 1 - other:
                continue
            record.stamp = number
            other_size = np.int64(record.size)
            slack = slack_of(rule, size, other_size)
            if slack == NEVER:
                continue
            need = (size + other_size - slack) >> 1
            common = in_common(slots, stamps, mask, number, ring, record.start, other_size, other_size - need)
            if common <= 0:
                continue
            score = similarity(rule.kind, rule.own, common, size, other_size)
            if score >= rule.threshold:
                matches = with_room(matches, count)
                matches[count].earlier, matches[count].similarity = record.number, score
                count += 1
    return matches, count


@shared_njit
def fitted(bands, sets):
    """The bands with as many buckets and links as the window's ring has records."""
    room = len(sets.records)
    return bands if room == len(bands.links) else refitted(bands, room, sets.marks[FIRST], sets.marks[NEXT])
