# mypy: disable-error-code="no-untyped-def"
"""Matching by the rarest tokens of each set, in compiled code.

least(n) is the least overlap with which any set matches one of n tokens, need(n, m) that with one of m. Tokens have a
total order, the rare ones first (`rarity`), fixed between two rebuilds, and the lists of the index hold of each set its
n − least(n) + 1 rarest tokens: its prefix. A new set walks the lists of its own prefix, or of its n − need(n, m) + 1
rarest tokens where no set in the window has fewer than m: need does not fall as m grows.

No match is missed: let w be the rarest token that a matching pair has in common, and o their overlap. o − 1 common
tokens follow w in either set, so it stands at a place of at most n − o <= n − least(n) in one and m − least(m) in the
other, which is in both prefixes; and min(n − i, m − j) >= o >= need, i and j being its places, so the pair is not
passed over. The place in the new set is at most n − need(n, m) where that is so for every set in the window. At a later
common token that bound is smaller still: a pair that it rejects is none. As sets do not come by size, the whole prefix
is indexed and not only what sets at least as long would need.

Sets expire by number alone: a list's old entries are cut off when it is walked, and what nobody walks goes with the
rebuild, after as many sets again as two windows hold, when the order is learnt anew. Both follow from the sets, and not
from how they were cut into batches.

Source: AllPairs (Bayardo et al., WWW 2007) and PPJoin (Xiao et al., WWW 2008) for prefix and places, the bitmap filter
of Sandes et al. for signatures; that lists are cut when they are walked is from SSSJ (De Francisci Morales and Gionis,
PVLDB 2016), the order that is learnt anew is ours.
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
from skyband_setjoin.matching.window_matcher import KEEP_FIRST, LENGTH, SIDES, WANTED
from skyband_setjoin.sets import FIRST, NEXT, SMALLEST
from skyband_setjoin.similarity_kernel import HAMMING, OVERLAP, similarity

CLIPPED = 0xFFFF
"""An entry has 16 bits for a size, which then is looked up, and as many for a place, where it only weakens a bound."""

TOGETHER = 64
"""Entries of a list that are passed over at once where the signatures of all are too far apart. A loop over fewer is
unrolled and not done in vectors, which takes half as long again."""

SHORTEST_ROUND = 256
KEPT_SINCE, LIVE_THEN = range(2)
_NEGATIVE = 1 << 31


@kernel_njit
def take(sets, index, levels, round_, own, rest, asked, numbers, times, offsets, tokens, sides, parts):
    """Take in a batch; returns (sets, index, levels) to go on with, cuts int64[n + 1] and MATCH[…] of each set.

    levels: see `rarity`; round_: int64[2], sets KEPT_SINCE the last rebuild, and LIVE_THEN; asked: int64[4], see
    window_matcher.
    """
    rule = rule_from(own, rest)
    two, length, rows = asked[SIDES] == 2, abs(asked[LENGTH]), asked[LENGTH] < 0
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
                sets, index, rule, bag, mask, signature, size, places, walked, numbers[row], asked[WANTED], matches
            )
            count = arrange(matches, count, asked[WANTED])
            answers = append_matches(answers, cuts[row], matches, count)
        cuts[row + 1] = cuts[row] + count
        if parts[row] & BUILD and prefix > 0 and not (asked[KEEP_FIRST] and count):
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
    """The least overlap with which a set matches one that is no smaller than the smallest; 0 where that is not told."""
    slack = slack_of(rule, size, smallest)
    return (size + smallest - slack) >> 1 if slack != NEVER else np.int64(0)


@nested_njit
def rebuilt(sets, rule, levels):
    """An index of the window's sets by this order, and their tokens put in it. O(tokens of the window)."""
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
    """The index with the last set, as `marks` has it, in the lists of its prefix, which are at `places`."""
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
    """Cut off the entries of sets older than number `first` of the window; the list stays, if empty."""
    row = table[place]
    offset, head, count, mask = np.int64(row.offset), np.int64(row.head), np.int64(row.count), (1 << row.bits) - 1
    old = 0
    # What is older is less than 2^31 behind, as it goes with the next rebuild: the difference tells it in 32 bits.
    while old < count and (np.int64(pool[offset + ((head + old) & mask)].number) - first) & _NEGATIVE:
        old += 1
    if old:
        row.head = (head + old) & mask
        row.count = count - old
        counts[ENTRIES] -= old


@nested_njit(vectorized=True)
def _fewest_apart(pool, begin, signature):
    """The fewest bits in which a signature and those of some entries differ. LLVM takes several at once.

    The index has no sign: where it might count from the array's end, entries are gathered one by one.
    """
    fewest = np.int64(64)
    for j in range(begin, begin + TOGETHER):
        fewest = min(fewest, ones(signature ^ pool[np.uint64(j)].signature))
    return fewest


@nested_njit
def _probe(  # noqa: C901 - a numeric kernel is one loop
    sets, index, rule, bag, mask, signature, size, places, prefix, number, wanted, matches
):
    """Put what matches a set into `matches`; returns it and how many."""
    records, ring, first = sets.records, sets.tokens, sets.marks[FIRST]
    counts, table, pool = index.marks, index.table, index.pool
    slots, stamps = bag.tokens, bag.stamps
    kind, own, threshold = rule.kind, rule.own, rule.threshold
    ends_early = wanted > 0 and 0 <= kind <= HAMMING and kind != OVERLAP
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
                theirs = np.int64(entry.size) & CLIPPED
                place = np.int64(entry.size) >> 16
                record = records[(first + ((np.int64(entry.number) - first) & 0xFFFFFFFF)) & (len(records) - 1)]
                if theirs == CLIPPED:
                    theirs = np.int64(record.size)
                slack = slack_of(rule, size, theirs)
                if apart > slack:
                    continue
                need = (size + theirs - slack) >> 1
                if min(size - i, theirs - place) < need or record.stamp == number:
                    continue
                record.stamp = number
                common = in_common(slots, stamps, mask, number, ring, record.start, theirs, theirs - need)
                if common <= 0:
                    continue
                score = similarity(kind, own, common, size, theirs)
                if score >= threshold:
                    matches = with_room(matches, count)
                    matches[count].earlier, matches[count].similarity = record.number, score
                    count += 1
                    # Nothing is as similar as an equal set, and of these the earlier come first in every list.
                    equal += common == size and common == theirs
                    if ends_early and equal == wanted:
                        return matches, count
    return matches, count
