# mypy: disable-error-code="untyped-decorator,no-untyped-def"
"""SWOOP's loop in compiled code: for each set of a batch expire, probe the lists, verify, insert.

A new set s meets the sets of the window through the lists of its tokens. What it meets first in the i-th list
shares at most o = |s| − i + 1 tokens with it, so no such pair is more similar than f(o, |s|, o): the positional
upper bound. The stock says from which expiry on that still matters (`crop_rank`): one binary search gives the
number of the oldest set worth looking at, and the list is walked from its tail to there. On the way a set is
passed over where its size and signature bound the similarity below the skyband lower bound at its end, and 64 sets at
once where their sizes do (`blocks`); only the rest is verified. All comparisons count ties in the contract's order,
where equal similarity goes to the smaller left: a pair that only equals the bound may still win, unlike in the paper.

Pairs are stock items with expiry = time of the older set (so no window length can overflow), tie = left and
key = right. Source: section 5 of the paper, algorithm 4.
"""

import numpy as np
from numba import njit
from skyband.kernels import kskyband_kernels
from skyband.kernels.kskyband_kernels import PENDING, SIZE, K
from skyband.kernels.nested import nested_njit
from skyband.kernels.similarity import similarity
from skyband.roles.pair_ranker import KEPT, MEETS

from skyband_setjoin import blocks as stretches
from skyband_setjoin import index as lists
from skyband_setjoin import sets as window
from skyband_setjoin.blocks import ENTRIES, LONG
from skyband_setjoin.index import LISTS
from skyband_setjoin.indexed import expire, find_all, horizon_of, insert_all, ones, walk_order
from skyband_setjoin.sets import FIRST, NEXT
from skyband_setjoin.stairs import BASE, FAR, SHIFT, at_most, close, settle, settle_if_due
from skyband_setjoin.stock_answers import best_of

KIND, ORDER, SIDES, LENGTH, SETTLES = range(5)
MET = np.dtype([("number", np.int64), ("limit", np.int64), ("start", np.int64)])
"""A set met in a list: the position in B that a pair with it has to come before, and where its tokens begin."""


@njit(cache=True)
def take(sets, index, band, stairs, met, blocks, rule, own, times, offsets, tokens, sides, parts, moments, stops):
    """Take in a batch; moments[i], before which come the rows up to stops[i], is answered on the way.

    met, blocks: MET[at least as many as sets has records], the sets met by one, and BLOCK[…] of the index's pool.
    rule:  int64[5], indexed by KIND of similarity, ORDER of tokens, SIDES and LENGTH of the window (negative: in
           rows), and SETTLES: 1 where the stock is flushed after each answer.
    parts: int8[n]: whether each set MEETS those in the window, and is KEPT there itself; else it leaves an empty set.
    Returns (sets, index, band, stairs, met, blocks) to go on with, cuts int64[q + 1] and the answers one after
    the other as ITEM[m]. All calls from Python come here with arrays of the same kinds, so it is compiled once.
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
            best, cuts[asked + 1] = best_of(band, horizon, best, cuts[asked])
            band, stairs = settle_if_due(band, stairs, sets, rule[SETTLES])
            asked += 1
        if row == len(times):
            break
        horizon = horizon_of(times[row] + rows, length)
        size, signature = _arrived(sets, index, band, horizon, tokens, offsets[row], offsets[row + 1], scratch)
        side = np.int64(sides[row])
        if 2 * (index.marks[LISTS] + size) > len(index.table) or row & 4095 == 4095:
            index = lists.roomy(lists.trim(index), size)
        found, new_left = 0, two and side == 0
        meets, kept = parts[row] & MEETS != 0, parts[row] & KEPT != 0
        if meets:
            blocks = stretches.fitted(blocks, index.pool)
            found = _collect(
                sets, index, band, stairs, kind, own, 1 - side if two else side, scratch, signature, size, places,
                order, walk, weights, met, blocks, new_left,
            )  # fmt: skip
        done, fresh = 0, True
        while done < found:
            if kskyband_kernels.is_full(band):
                band, stairs = settle(band, stairs, sets)
                fresh = False
            done = _verify(sets, band, kind, own, scratch, size, met, done, found, new_left, fresh)
        size = size if kept else np.int64(0)
        if two or not meets:
            find_all(index.table, side, scratch, size, places)
        if not lists.is_reserved(index.marks, index.table, index.pool, places, size):
            index = lists.reserved(index, places, size)
        if not window.has_room(sets, size):
            sets = window.enlarged(sets, size)
            met = met if len(met) >= len(sets.records) else np.empty(len(sets.records), MET)
        _kept(sets, index, band, stairs, times[row], side, scratch, size, signature, places)
    sets = window.trim(sets)
    met = met if len(met) <= len(sets.records) else np.empty(len(sets.records), MET)
    return (sets, lists.trim(index), band, stairs, met, blocks), cuts, best


@nested_njit
def _arrived(sets, index, band, horizon, tokens, start, stop, scratch):
    """Forget what has expired; the set's tokens go to `scratch`. Returns their number and signature."""
    expire(sets, index, horizon)
    kskyband_kernels.advance(band, horizon)
    return window.normalise(tokens, start, stop, scratch)


@nested_njit
def _kept(sets, index, band, stairs, time, side, tokens, size, signature, places):
    """Add a set to the window and the lists of its tokens, room being there."""
    number = sets.marks[NEXT]
    insert_all(index, side, number, tokens, size, signature, places)
    close(band, stairs, number - 1, time)
    window.append(sets, number, time, side, tokens, size)


@nested_njit
def _collect(
    sets, index, band, stairs, kind, own, side, tokens, signature, size, places, order, walk, weights, met, blocks,
    new_left,
):  # fmt: skip
    """Put the sets that may form a relevant pair with a new one into `met`; returns how many.

    places, walk, weights: int64[at least size] to write to.
    """
    find_all(index.table, side, tokens, size, places)
    walk_order(index.table, places, size, order, walk, weights)
    records, first, number = sets.records, sets.marks[FIRST], sets.marks[NEXT]
    table, pool = index.table, index.pool
    items, k, stocked = band.items, band.counts[K], band.counts[SIZE]
    older, steps, base, shift = stairs.older, stairs.steps, stairs.marks[BASE], stairs.marks[SHIFT]
    found = 0
    for i in range(size):
        if places[walk[i]] == lists.NONE:
            continue
        remaining = size - i
        bound = similarity(kind, own, remaining, size, remaining)
        cut = kskyband_kernels.crop_rank_of(items, stocked, k, bound)
        oldest = older[cut - 1] + 1 if cut > 0 else first
        row = table[places[walk[i]]]
        offset, head, mask = np.int64(row.offset), np.int64(row.head), (1 << row.bits) - 1
        long, rank = row.count >= LONG, stocked
        j = head + np.int64(row.count)
        while j > head:
            j -= 1
            entry = pool[offset + (j & mask)]
            candidate = first + ((np.int64(entry.number) - first) & 0xFFFFFFFF)
            if candidate < oldest:
                break
            if rank > FAR and older[rank - FAR] >= candidate:
                rank = min(rank, at_most(steps, base, shift, candidate))
            while rank > 0 and older[rank - 1] >= candidate:
                rank -= 1
            limit = k - 1 + rank
            if (
                long
                and j & (ENTRIES - 1) == ENTRIES - 1
                and j - head >= ENTRIES - 1
                and stretches.none_matters(
                    blocks[stretches.place_of(offset, j & mask)], row.token, pool, offset, j, mask, first, candidate,
                    records, items, k, stocked, older, steps, base, shift, limit, kind, own, number, size, signature,
                    remaining, new_left,
                )
            ):  # fmt: skip
                j -= ENTRIES - 1
                continue
            if limit < stocked:
                worst = items[limit]
                theirs = np.int64(entry.size)
                apart = ones(signature ^ entry.signature)
                most = min(remaining, theirs, (size + theirs - apart) >> 1)
                bound = similarity(kind, own, most, size, theirs)
                if bound < worst.score or (bound == worst.score and _loses(worst, number, candidate, new_left)):
                    continue
            record = records[candidate & (len(records) - 1)]
            if record.stamp == number:
                continue
            record.stamp = number
            if record.hits >= k and _saturated(record, kind, own, remaining, size, signature ^ entry.signature):
                continue
            met[found].number = candidate
            met[found].limit = limit
            met[found].start = record.start
            found += 1
    _touch(sets.tokens, met, found)
    return found


@nested_njit
def _loses(worst, number, candidate, new_left):
    """Whether the pair of two sets comes after an equally similar one of the stock."""
    left, right = (number, candidate) if new_left else (candidate, number)
    return left > worst.tie or (left == worst.tie and right > worst.key)


@nested_njit
def _saturated(record, kind, own, remaining, size, apart):
    """Whether k pairs of a set dominate the one looked at: equal end, as similar, the smaller number on a tie."""
    theirs = np.int64(record.size)
    most = min(remaining, theirs, (size + theirs - ones(apart)) >> 1)
    return similarity(kind, own, most, size, theirs) <= record.level


@nested_njit
def _count(record, score, k):
    """Take in how similar a later set is; what is more similar than k have been begins the count anew."""
    if record.hits == 0 or (record.hits >= k and score > record.level):
        record.level, record.hits = score, 0
    if score >= record.level:
        record.hits += 1


@nested_njit
def _verify(sets, band, kind, own, tokens, size, met, start, stop, left_is_new, fresh):
    """Add the relevant pairs with the sets start … stop − 1 of `met` to the stock; returns where it became full.

    fresh: the stock is still as it was when the sets were met, and so are their limits.
    """
    records, ring, number = sets.records, sets.tokens, sets.marks[NEXT]
    items, counts, room, k = band.items, band.counts, len(band.buffer), band.counts[K]
    for i in range(start, stop):
        if counts[PENDING] == room:
            return i
        candidate = met[i].number
        record = records[candidate & (len(records) - 1)]
        common = window.shared(ring, record.start, record.start + record.size, tokens, size)
        score = similarity(kind, own, common, size, np.int64(record.size))
        _count(record, score, k)
        left, right = (number, candidate) if left_is_new else (candidate, number)
        if fresh:
            limit = met[i].limit
            if limit < counts[SIZE]:
                worst = items[limit]
                if score < worst.score or (score == worst.score and _loses(worst, number, candidate, left_is_new)):
                    continue
        elif not kskyband_kernels.admits(band, score, record.time, left, right):
            continue
        kskyband_kernels.add(band, score, record.time, left, right)
    return stop


@nested_njit
def _touch(ring, met, stop):
    """Read each set's first token at once: what is not in the cache is then fetched side by side."""
    for i in range(stop):
        met[i].start = ring[met[i].start & (len(ring) - 1)]
