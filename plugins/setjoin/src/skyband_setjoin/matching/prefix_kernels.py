# mypy: disable-error-code="no-untyped-def"
"""Matching by the rarest tokens of each set, in compiled code.

least(n) is the least overlap of a set of n tokens with any match, need(n, m) that with a match of m tokens. Tokens have
a total order, the rare ones first (`rarity`), fixed between two rebuilds. The index has the n − least(n) + 1 rarest
tokens of each set, its prefix. A new set scans the lists of its own prefix, or of its n − need(n, m) + 1 rarest tokens
if no set in the window has fewer than m: need does not fall as m grows.

No match is missed: let w be the rarest token that a matching pair shares, and o their overlap. o − 1 shared tokens
follow w in either set, so w is at place n − o <= n − least(n) or before in one and m − least(m) in the other: in both
prefixes. With w at places i and j, min(n − i, m − j) >= o >= need, so the pair is not skipped; and its place in the new
set is at most n − need(n, m), for every set in the window. At a later shared token the bound is smaller still, so a
pair that it rejects does not match. As sets do not arrive by size, the whole prefix is indexed, and not only the part
for sets at least as long.

Sets expire by number alone. A list's old entries are cut off when it is scanned; lists that are not scanned are cleared
by the rebuild, after as many more sets as two windows hold, when the order is learnt again. Both depend on the sets
only, not on the batches.

Sources: AllPairs (Bayardo et al., WWW 2007) and PPJoin (Xiao et al., WWW 2008) for prefixes and places, the bitmap
filter of Sandes et al. for signatures, SSSJ (De Francisci Morales and Gionis, PVLDB 2016) for cutting lists during
scans. Learning the order again is ours.
"""

import numpy as np
from skyband.kernels.nested import kernel_njit, nested_njit
from skyband.roles.sharding import BUILD, PROBE

from skyband_setjoin import index as lists
from skyband_setjoin import sets as window
from skyband_setjoin.index import ENTRIES, LISTS
from skyband_setjoin.indexed import find_all, horizon_of, ones
from skyband_setjoin.matching.answers import MATCH, append_matches, arrange, with_room
from skyband_setjoin.matching.bags import bag_for, fill, in_common, mask_for
from skyband_setjoin.matching.bounds import NEVER, least_of, rule_from, slack_of, widest_of
from skyband_setjoin.matching.rarity import learnt, rarest_first
from skyband_setjoin.matching.window_matcher import KEEP_FIRST, LENGTH, MOST, SIDES
from skyband_setjoin.sets import FIRST, NEXT, SMALLEST
from skyband_setjoin.similarity_kernel import HAMMING, OVERLAP, similarity

CLIPPED = 0xFFFF
"""The most that an entry's 16 bits hold: a larger size is looked up, a larger place only weakens a bound."""

TOGETHER = 64
"""Entries of a list that are skipped at once if all their signatures are too far apart. A loop over fewer is unrolled
rather than vectorised, and takes half as long again."""

SHORTEST_ROUND = 256
KEPT_SINCE, LIVE_THEN = range(2)
_NEGATIVE = 1 << 31


@kernel_njit
def take(sets, index, levels, round_, own, rest, settings, numbers, times, offsets, tokens, sides, parts):
    """Take in a batch; returns the new (sets, index, levels), cuts int64[n + 1] and MATCH[…] of each set.

    levels: see `rarity`; round_: int64[2], sets KEPT_SINCE the last rebuild, and LIVE_THEN; settings: int64[4], see
    window_matcher.
    """
    rule = rule_from(own, rest)
    two, length, rows = settings[SIDES] == 2, abs(settings[LENGTH]), settings[LENGTH] < 0
    longest = 1
    for row in range(len(times)):
        longest = max(longest, offsets[row + 1] - offsets[row])
    words, keys, places = np.empty(longest, np.int64), np.empty(longest, np.uint64), np.empty(longest, np.int64)
    bag = bag_for(longest)
    cuts = np.zeros(len(times) + 1, np.int64)
    matches, answers = np.empty(16, MATCH), np.empty(16, MATCH)
    for row in range(len(times)):
        window.expire(sets, horizon_of(times[row] + rows, length))
        mask = mask_for(offsets[row + 1] - offsets[row])
        size, signature = fill(bag, mask, numbers[row], tokens, offsets[row], offsets[row + 1], words)
        side, count = np.int64(sides[row]), np.int64(0)
        prefix = size - least_of(rule, size) + 1
        if prefix > 0:
            rarest_first(levels, words, keys, size, prefix)
        if parts[row] & PROBE and prefix > 0:
            walked = size - max(least_of(rule, size), _need(rule, size, sets.marks[SMALLEST])) + 1
            find_all(index.table, 1 - side if two else side, words, prefix, places)
            matches, count = _probe(
                sets, index, rule, bag, mask, signature, size, places, walked, numbers[row], settings[MOST], matches
            )
            count = arrange(matches, count, settings[MOST])
            answers = append_matches(answers, cuts[row], matches, count)
        cuts[row + 1] = cuts[row] + count
        if parts[row] & BUILD and prefix > 0 and not (settings[KEEP_FIRST] and count):
            if not window.has_room(sets, size):
                sets = window.enlarged(sets, size)
            window.append(sets, numbers[row], times[row], side, words, size)
            live = sets.marks[NEXT] - sets.marks[FIRST]
            round_[KEPT_SINCE] += 1
            if round_[KEPT_SINCE] >= max(SHORTEST_ROUND, 2 * min(live, round_[LIVE_THEN])):
                sets = window.trim(sets)
                levels = learnt(sets)
                index = rebuilt(sets, rule, levels)
                round_[KEPT_SINCE], round_[LIVE_THEN] = 0, live
            else:
                if two or not parts[row] & PROBE:
                    find_all(index.table, side, words, prefix, places)
                index = _entered(index, sets.marks, side, words, size, signature, places, prefix)
    return (window.trim(sets), index, levels), cuts, answers


@nested_njit
def _need(rule, size, smallest):
    """The least overlap of a set with a match at least as large as the smallest set; 0 if unknown."""
    slack = slack_of(rule, size, smallest)
    return (size + smallest - slack) >> 1 if slack != NEVER else np.int64(0)


@nested_njit
def rebuilt(sets, rule, levels):
    """Sort the tokens of the window's sets by this order, and index the sets. O(tokens of the window)."""
    index = lists.blank()
    marks, records, ring = sets.marks, sets.records, sets.tokens
    longest = np.int64(1)
    for slot in range(marks[FIRST], marks[NEXT]):
        longest = max(longest, np.int64(records[slot & (len(records) - 1)].size))
    words, keys, places = np.empty(longest, np.int64), np.empty(longest, np.uint64), np.empty(longest, np.int64)
    until = np.zeros(3, np.int64)
    for slot in range(marks[FIRST], marks[NEXT]):
        record = records[slot & (len(records) - 1)]
        size, start = np.int64(record.size), record.start
        signature = np.uint64(0)
        for i in range(size):
            words[i] = ring[(start + i) & (len(ring) - 1)]
            signature ^= np.uint64(1) << (window.mixed(words[i]) >> np.uint64(58))
        prefix = size - least_of(rule, size) + 1
        rarest_first(levels, words, keys, size, prefix)
        for i in range(size):
            ring[(start + i) & (len(ring) - 1)] = words[i]
        until[FIRST], until[NEXT] = marks[FIRST], slot + 1
        find_all(index.table, np.int64(record.side), words, prefix, places)
        index = _entered(index, until, np.int64(record.side), words, size, signature, places, prefix)
    return index


@nested_njit
def _entered(index, marks, side, words, size, signature, places, prefix):
    """Add the last set, by `marks`, to the lists of its prefix, which are at `places`; returns the index."""
    if 2 * (index.marks[LISTS] + prefix) > len(index.table):
        index = lists.roomy(index, prefix)
        find_all(index.table, side, words, prefix, places)
    if not lists.is_reserved(index.marks, index.table, index.pool, places, prefix):
        for i in range(prefix):
            if places[i] != lists.NONE:
                _cut(index.marks, index.table, index.pool, places[i], marks[FIRST])
        index = lists.reserved(index, places, prefix)
    counts, table, pool = index.marks, index.table, index.pool
    for i in range(prefix):
        place = places[i]
        if place == lists.NONE:
            place = lists.insert(counts, table, pool, words[i], side)
        packed = min(size, CLIPPED) | (min(i, CLIPPED) << 16)
        lists.push(counts, table, pool, place, marks[NEXT] - 1, packed, signature)
    return index


@nested_njit
def _cut(counts, table, pool, place, first):
    """Cut off the entries of sets before number `first`; the list stays, even if empty."""
    row = table[place]
    offset, head, count, mask = np.int64(row.offset), np.int64(row.head), np.int64(row.count), (1 << row.bits) - 1
    old = 0
    # Older sets are less than 2^31 behind, as the next rebuild removes them: 32 bits suffice for the difference.
    while old < count and (np.int64(pool[offset + ((head + old) & mask)].number) - first) & _NEGATIVE:
        old += 1
    if old:
        row.head = (head + old) & mask
        row.count = count - old
        counts[ENTRIES] -= old


@nested_njit(vectorized=True)
def _fewest_apart(pool, begin, signature):
    """The fewest bits in which a signature differs from those of some entries. LLVM vectorises it.

    The index is unsigned: if it could be negative, entries would be gathered one by one.
    """
    fewest = np.int64(64)
    for j in range(begin, begin + TOGETHER):
        fewest = min(fewest, ones(signature ^ pool[np.uint64(j)].signature))
    return fewest


@nested_njit
def _probe(  # noqa: C901 - a numeric kernel is one loop
    sets, index, rule, bag, mask, signature, size, places, prefix, number, most, matches
):
    """Find the matches of a set; returns `matches` and their number."""
    records, ring, first = sets.records, sets.tokens, sets.marks[FIRST]
    counts, table, pool = index.marks, index.table, index.pool
    slots, stamps = bag.tokens, bag.stamps
    kind, own, threshold = rule.kind, rule.own, rule.threshold
    ends_early = most > 0 and 0 <= kind <= HAMMING and kind != OVERLAP
    count = equal = 0
    widest = widest_of(rule, size)
    for i in range(prefix):
        if places[i] == lists.NONE:
            continue
        _cut(counts, table, pool, places[i], first)
        row = table[places[i]]
        offset, head, ring_mask = np.int64(row.offset), np.int64(row.head), (1 << row.bits) - 1
        end = head + np.int64(row.count)
        for begin in range(head, end, TOGETHER):
            at = begin & ring_mask
            if at + TOGETHER <= ring_mask + 1 and _fewest_apart(pool, offset + at, signature) > widest:
                continue
            until = min(np.int64(begin + TOGETHER), end)
            for j in range(begin, until):
                entry = pool[offset + (j & ring_mask)]
                apart = ones(signature ^ entry.signature)
                if apart > widest:
                    continue
                other_size = np.int64(entry.size) & CLIPPED
                place = np.int64(entry.size) >> 16
                record = records[(first + ((np.int64(entry.number) - first) & 0xFFFFFFFF)) & (len(records) - 1)]
                if other_size == CLIPPED:
                    other_size = np.int64(record.size)
                slack = slack_of(rule, size, other_size)
                if apart > slack:
                    continue
                need = (size + other_size - slack) >> 1
                if min(size - i, other_size - place) < need or record.stamp == number:
                    continue
                record.stamp = number
                common = in_common(slots, stamps, mask, number, ring, record.start, other_size, other_size - need)
                if common <= 0:
                    continue
                score = similarity(kind, own, common, size, other_size)
                if score >= threshold:
                    matches = with_room(matches, count)
                    matches[count].earlier, matches[count].similarity = record.number, score
                    count += 1
                    # Nothing is more similar than an equal set, and the earliest of these is first in every list.
                    equal += common == size and common == other_size
                    if ends_early and equal == most:
                        return matches, count
    return matches, count
