# mypy: disable-error-code="untyped-decorator,no-untyped-def"
"""SWOOP's loop in compiled code: for each set of a batch expire, probe the lists, verify, insert.

A new set s meets the sets of the window through the lists of its tokens. What it meets first in the i-th list
shares at most o = |s| − i + 1 tokens with it, so no such pair is more similar than f(o, |s|, o): the positional
upper bound. The stock says from which expiry on that still matters (`crop_rank`): one binary search gives the
number of the oldest set worth looking at, and the list is walked from its tail to there. On the way a set is
passed over where its size and signature bound the similarity below the skyband lower bound at its end; only the
rest is verified. All comparisons count ties in the contract's order, where equal similarity goes to the smaller
left: a pair that only equals the bound may still win, unlike in the paper.

Pairs are stock items with expiry = time of the older set (so no window length can overflow), tie = left and
key = right. Source: section 5 of the paper, algorithm 4.
"""

import numpy as np
from numba import njit
from skyband import sweep
from skyband.sweep import FOREVER_AGO, K, SIZE

from skyband_setjoin import index as lists
from skyband_setjoin import sets as window
from skyband_setjoin.sets import FIRST, NEXT
from skyband_setjoin.similarity import similarity

SHORTEST, FIRST_SEEN = range(2)


@njit(cache=True)
def take(sets, index, band, older, rule, own, times, offsets, tokens, sides):
    """Take in a batch; returns (sets, index, band, older) to go on with.

    older: int64[≥ SIZE], at rank r the largest number of an older set among the stock's first r + 1 pairs in E.
    rule:  int64[4]: similarity kind, token order, sides, length of the window; a negative length counts rows.
    """
    kind, order, two = rule[0], rule[1], rule[2] == 2
    length, rows = abs(rule[3]), rule[3] < 0
    longest = 1
    for row in range(len(times)):
        longest = max(longest, offsets[row + 1] - offsets[row])
    scratch = np.empty(longest, np.int64)
    places = np.empty(longest, np.int64)
    weights = np.empty(longest, np.int64)
    older = _older(band, older)
    for row in range(len(times)):
        now = times[row] + rows
        horizon = now - length if now >= FOREVER_AGO + length else FOREVER_AGO
        index = expire(sets, index, horizon)
        sweep.advance(band, horizon)
        size, signature = window.normalise(tokens[offsets[row] : offsets[row + 1]], scratch)
        number = sets.marks[NEXT]
        side = np.int64(sides[row])
        other = 1 - side if two else side
        if size > 0:
            _order(index, other, scratch, size, order, places, weights)
            left_is_new = two and side == 0
            band, older = _probe(
                sets, index, band, older, kind, own, number, signature, scratch, size, places, left_is_new
            )
        sets = window.append(sets, times[row], side, scratch, size, signature)
        index = lists.reserve(index, size)
        for i in range(size):
            index = lists.append(index, scratch[i], side, number, size, signature)
    return window.trim(sets), lists.trim(index), band, older


@njit(cache=True)
def settle(band, older):
    """Flush the stock; returns it and `older` to go on with."""
    band = sweep.flush(band)
    return band, _older(band, older)


@njit(cache=True)
def expire(sets, index, horizon):
    """Forget the sets older than `horizon`; returns the index to go on with."""
    marks, records, ring = sets.marks, sets.records, sets.tokens
    while marks[FIRST] < marks[NEXT]:
        record = records[marks[FIRST] & (len(records) - 1)]
        if record.time >= horizon:
            break
        for i in range(record.size):
            index = lists.drop_oldest(index, ring[(record.start + i) & (len(ring) - 1)], record.side)
        marks[FIRST] += 1
    return index


@njit(cache=True)
def _older(band, older):
    n = band.counts[SIZE]
    if n > len(older):
        older = np.empty(len(band.items), np.int64)
    latest = FOREVER_AGO
    for rank in range(n):
        item = band.items[band.order[rank]]
        latest = max(latest, min(item.tie, item.key))
        older[rank] = latest
    return older


@njit(cache=True)
def _order(index, side, tokens, size, order, places, weights):
    """The lists of the tokens in the order they are walked in; a token without a list (NONE) comes first.

    SHORTEST: the shortest list first. FIRST_SEEN: the token that came into the window last first.
    """
    for i in range(size):
        place = lists.find(index, tokens[i], side)
        weight = FOREVER_AGO
        if place != lists.NONE:
            row = index.table[place]
            weight = row.count if order == SHORTEST else -row.arrival
        j = i
        while j > 0 and weights[j - 1] > weight:
            weights[j], places[j] = weights[j - 1], places[j - 1]
            j -= 1
        weights[j], places[j] = weight, place


@njit(cache=True)
def _probe(sets, index, band, older, kind, own, number, signature, tokens, size, places, left_is_new):
    """Add the relevant pairs of one new set to the stock; returns (band, older) to go on with."""
    records, pool, first = sets.records, index.pool, sets.marks[FIRST]
    k = band.counts[K]
    for i in range(size):
        if places[i] == lists.NONE:
            continue
        remaining = size - i
        bound = similarity(kind, own, remaining, size, remaining)
        cut = sweep.crop_rank(band, bound)
        oldest = older[cut - 1] + 1 if cut > 0 else first
        row = index.table[places[i]]
        mask = (1 << row.bits) - 1
        rank = band.counts[SIZE]
        for j in range(row.count - 1, -1, -1):
            entry = pool[row.offset + ((row.head + j) & mask)]
            met = first + ((np.int64(entry.number) - first) & 0xFFFFFFFF)
            if met < oldest:
                break
            theirs = np.int64(entry.size)
            if theirs == 0:
                continue
            # The lower bound at the end of this pair: as set numbers fall so does the rank in E. Counting set
            # numbers in place of times only ever overstates the rank, which lowers the bound.
            while rank > 0 and older[rank - 1] >= met:
                rank -= 1
            limit = k - 1 + rank
            bounded = limit < band.counts[SIZE]
            if bounded:
                apart = _ones(signature ^ entry.signature)
                most = min(remaining, theirs, (size + theirs - apart) >> 1)
                if similarity(kind, own, most, size, theirs) < band.items[limit].score:
                    continue
            record = records[met & (len(records) - 1)]
            if record.stamp == number:
                continue
            record.stamp = number
            if record.perfect >= k:
                entry.size = 0
                continue
            common = window.overlap(sets, record, tokens, size)
            score = similarity(kind, own, common, size, theirs)
            if score == similarity(kind, own, theirs, theirs, theirs):
                # k later sets as similar as can be dominate every further pair of this one: equal end, a
                # similarity no smaller, and on a tie the smaller number.
                record.perfect += 1
            if bounded and score < band.items[limit].score:
                continue
            left, right = (number, met) if left_is_new else (met, number)
            if not sweep.admits(band, score, record.time, left, right):
                continue
            if sweep.is_full(band):
                band, older = settle(band, older)
                rank = band.counts[SIZE]
            sweep.add(band, score, record.time, left, right)
    return band, older


@njit(cache=True)
def _ones(x):
    """How many bits of a uint64 are set; LLVM knows this pattern as one instruction."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(cache=True)
def load(sets, index, times, offsets, tokens, sides):
    """Put sets of normalised tokens back into an empty window and index; returns both."""
    scratch = np.empty(max(1, len(tokens)), np.int64)
    for row in range(len(times)):
        size, signature = window.normalise(tokens[offsets[row] : offsets[row + 1]], scratch)
        number = sets.marks[NEXT]
        side = np.int64(sides[row])
        sets = window.append(sets, times[row], side, scratch, size, signature)
        index = lists.reserve(index, size)
        for i in range(size):
            index = lists.append(index, scratch[i], side, number, size, signature)
    return sets, index
