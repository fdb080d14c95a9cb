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
from skyband.kernels import kskyband_kernels
from skyband.kernels.kskyband_kernels import SIZE, K
from skyband.roles.pair_ranker import KEPT, MEETS

from skyband_setjoin import index as lists
from skyband_setjoin import sets as window
from skyband_setjoin.index import LISTS
from skyband_setjoin.indexed import expire, find_all, horizon_of, insert_all, ones, walk_order
from skyband_setjoin.sets import FIRST, NEXT
from skyband_setjoin.similarity import similarity
from skyband_setjoin.stairs import BASE, SHIFT, at_most, settle

KIND, ORDER, SIDES, LENGTH = range(4)
FAR = 16
"""So many pairs of the stock are passed one by one; where there are more, `steps` leads past them."""

MET = np.dtype([("number", np.int64), ("limit", np.int64), ("start", np.int64)])
"""A set met in a list: the position in B that a pair with it has to come before, and where its tokens begin."""


@njit(cache=True)
def take(sets, index, band, stairs, met, rule, own, times, offsets, tokens, sides, parts, moments, stops):
    """Take in a batch; moments[i], before which come the rows up to stops[i], is answered on the way.

    met:   MET[at least as many as sets has records], the sets met by one.
    rule:  int64[4], indexed by KIND of similarity, ORDER of tokens, SIDES and LENGTH of the window (negative: in
           rows).
    parts: int8[n]: whether each set MEETS those in the window, and is KEPT there itself; else it leaves an empty set.
    Returns (sets, index, band, stairs, met) to go on with, cuts int64[q + 1] and the answers one after the other
    as ITEM[m]. All calls from Python come here and give arrays of the same kinds, so that it is compiled once.
    """
    kind, order, two = rule[KIND], rule[ORDER], rule[SIDES] == 2
    length, rows = abs(rule[LENGTH]), rule[LENGTH] < 0
    longest = 1
    for row in range(len(times)):
        longest = max(longest, offsets[row + 1] - offsets[row])
    scratch = np.empty(longest, np.int64)
    places = np.empty(longest, np.int64)
    walk = np.empty(longest, np.int64)
    weights = np.empty(longest, np.int64)
    cuts = np.zeros(len(moments) + 1, np.int64)
    best = np.empty(len(moments) + 1, band.items.dtype)
    asked = 0
    for row in range(len(times) + 1):
        while asked < len(moments) and stops[asked] == row:
            horizon = horizon_of(moments[asked], length)
            expire(sets, index, horizon)
            kskyband_kernels.advance(band, horizon)
            band, stairs = settle(band, stairs)
            best, cuts[asked + 1] = _answered(band, horizon, best, cuts[asked])
            asked += 1
        if row == len(times):
            break
        horizon = horizon_of(times[row] + rows, length)
        expire(sets, index, horizon)
        kskyband_kernels.advance(band, horizon)
        size, signature = window.normalise(tokens, offsets[row], offsets[row + 1], scratch)
        side = np.int64(sides[row])
        if 2 * (index.marks[LISTS] + size) > len(index.table) or row & 4095 == 4095:
            index = lists.roomy(lists.trim(index), size)
        found = 0
        meets, kept = parts[row] & MEETS != 0, parts[row] & KEPT != 0
        if meets:
            find_all(index.table, 1 - side if two else side, scratch, size, places)
            walk_order(index.table, places, size, order, walk, weights)
            found = _collect(sets, index, band, stairs, kind, own, signature, size, places, walk, met)
            _touch(sets.tokens, met, found)
        done, fresh = np.int64(0), True  # a literal 0 would have `_verify` compiled twice
        while done < found:
            if kskyband_kernels.is_full(band):
                band, stairs = settle(band, stairs)
                fresh = False
            done = _verify(sets, band, kind, own, scratch, size, met, done, found, two and side == 0, fresh)
        size = size if kept else np.int64(0)
        if two or not meets:
            find_all(index.table, side, scratch, size, places)
        if not lists.is_reserved(index.marks, index.table, index.pool, places, size):
            index = lists.reserved(index, places, size)
        insert_all(index, side, sets.marks[NEXT], scratch, size, signature, places)
        if not window.has_room(sets, size):
            sets = window.enlarged(sets, size)
            met = met if len(met) >= len(sets.records) else np.empty(len(sets.records), MET)
        window.append(sets, sets.marks[NEXT], times[row], side, scratch, size)
    sets = window.trim(sets)
    met = met if len(met) <= len(sets.records) else np.empty(len(sets.records), MET)
    return (sets, lists.trim(index), band, stairs, met), cuts, best


@njit(cache=True)
def _answered(band, horizon, best, used):
    """Put the answer after the first `used` of `best`; returns it, enlarged where it has to be, and the new end."""
    room = used + min(band.counts[K], band.counts[SIZE])
    if room > len(best):
        best = kskyband_kernels.grown(best, used, 2 * room)
    r = used
    for i in range(band.counts[SIZE]):
        if r == room:
            break
        if band.items[i].expiry >= horizon:
            best[r] = band.items[i]
            r += 1
    return best, r


@njit(cache=True)
def _collect(sets, index, band, stairs, kind, own, signature, size, places, walk, met):
    """Put the sets that may form a relevant pair with a new one into `met`; returns how many."""
    records, first, number = sets.records, sets.marks[FIRST], sets.marks[NEXT]
    table, pool = index.table, index.pool
    items, k, stocked = band.items, band.counts[K], band.counts[SIZE]
    older, steps, base, shift = stairs.older, stairs.steps, stairs.marks[BASE], stairs.marks[SHIFT]
    found = 0
    for i in range(size):
        if places[walk[i]] == lists.NONE:
            continue
        remaining = size - i
        cut = kskyband_kernels.crop_rank(band, similarity(kind, own, remaining, size, remaining))
        oldest = older[cut - 1] + 1 if cut > 0 else first
        row = table[places[walk[i]]]
        offset, head, mask = np.int64(row.offset), np.int64(row.head), (1 << row.bits) - 1
        rank = stocked
        for j in range(head + np.int64(row.count) - 1, head - 1, -1):
            entry = pool[offset + (j & mask)]
            candidate = first + ((np.int64(entry.number) - first) & 0xFFFFFFFF)
            if candidate < oldest:
                break
            theirs = np.int64(entry.size)
            if theirs == 0:
                continue
            if rank > FAR and older[rank - FAR] >= candidate:
                rank = min(rank, at_most(steps, base, shift, candidate))
            while rank > 0 and older[rank - 1] >= candidate:
                rank -= 1
            limit = k - 1 + rank
            if limit < stocked:
                apart = ones(signature ^ entry.signature)
                most = min(remaining, theirs, (size + theirs - apart) >> 1)
                if similarity(kind, own, most, size, theirs) < items[limit].score:
                    continue
            record = records[candidate & (len(records) - 1)]
            if record.stamp == number:
                continue
            record.stamp = number
            if record.perfect >= k:
                entry.size = 0
                continue
            met[found].number = candidate
            met[found].limit = limit
            met[found].start = record.start
            found += 1
    return found


@njit(cache=True)
def _verify(sets, band, kind, own, tokens, size, met, start, stop, left_is_new, fresh):
    """Add the relevant pairs with the sets start … stop − 1 of `met` to the stock; returns where it became full.

    fresh: the stock is still as it was when the sets were met, and so are their limits.
    """
    records, number = sets.records, sets.marks[NEXT]
    for i in range(start, stop):
        if kskyband_kernels.is_full(band):
            return i
        candidate = met[i].number
        record = records[candidate & (len(records) - 1)]
        common = window.overlap(sets, record, tokens, size)
        theirs = np.int64(record.size)
        score = similarity(kind, own, common, size, theirs)
        if score == similarity(kind, own, theirs, theirs, theirs):
            # k later sets as similar as can be dominate every further pair of this one: equal end, a
            # similarity no smaller, and on a tie the smaller number.
            record.perfect += 1
        left, right = (number, candidate) if left_is_new else (candidate, number)
        if fresh:
            relevant = kskyband_kernels.precedes(band, met[i].limit, score, left, right)
        else:
            relevant = kskyband_kernels.admits(band, score, record.time, left, right)
        if relevant:
            kskyband_kernels.add(band, score, record.time, left, right)
    return stop


@njit(cache=True)
def _touch(ring, met, stop):
    """Read each set's first token at once: what is not in the cache is then fetched side by side."""
    for i in range(stop):
        met[i].start = ring[met[i].start & (len(ring) - 1)]
