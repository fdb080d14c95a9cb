"""SWOOP's loop in compiled code: expires, probes the lists, verifies and inserts for each set of a batch.

A new set s finds the sets of the window through the lists of its tokens. A set first found in the i-th list shares at
most o = |s| − i + 1 tokens with s. So the pair is at most as similar as f(o, |s|, o), the positional upper bound, or
f(o, |s|, m) if no set in the window has fewer than m > o tokens. The stock says from which expiry on that still
matters (`crop_rank`): a binary search finds the number of the oldest set worth comparing, and the list is scanned from
its tail to there. A set is skipped if its size and signature bound the similarity below the skyband lower bound at its
end, and 64 sets at once if their sizes do (`blocks`); only the rest is verified. All comparisons break ties in the
contract's order, where the smaller left wins: a pair that only equals the bound may still win, unlike in the paper.

Pairs are stock items with expiry = time of the older set (so no window length can overflow), tie = left and
key = right. Source: section 5 of the paper, algorithm 4.
"""

import numpy as np
from numba import njit
from skyband.kernels import kskyband_kernels
from skyband.kernels.kskyband_kernels import PENDING, SIZE, K
from skyband.kernels.nested import kernel_njit, nested_njit
from skyband.roles.sharding import BUILD, PROBE

from skyband_setjoin import block_skipping
from skyband_setjoin import index as lists
from skyband_setjoin import sets as window
from skyband_setjoin.block_skipping import ENTRIES, LONG
from skyband_setjoin.indexed import expire, find_all, horizon_of, insert_all, ones, walk_order
from skyband_setjoin.sets import FIRST, NEXT, SMALLEST
from skyband_setjoin.similarity_kernel import similarity
from skyband_setjoin.stairs import BASE, FAR, SHIFT, at_most, canonicalize, close, has_room, is_due
from skyband_setjoin.stock_answers import best_of, most_of

KIND, ORDER, SIDES, LENGTH, SETTLES = range(5)
END, FLUSH, STOCK, ANSWERS, ROOM, PAUSE = range(6)
"""Why `take` returns: the batch is at its END, or room is missing to flush the STOCK, for ANSWERS or for the next set,
or it is time for a PAUSE to check how much memory is used. A FLUSH is done within.
"""

ROW, STEP, ASKED, SIDE, TOKENS, SIGNATURE, FOUND, DONE, FRESH, MORE, DUE = range(11)
"""The progress of a batch: its next row and STEP; the answers given (ASKED); that row's set: side, number of tokens
and signature; the candidates FOUND for it, how many are DONE, and whether the stock is unchanged since they were found;
how many MORE entries the index's pool must have room for; and whether a flush is DUE.
"""

MEET, VERIFY, KEEP = range(3)
MET = np.dtype([("number", np.int64), ("limit", np.int64), ("start", np.int64)])
"""A candidate from a list: the position in B that a pair with it has to come before, and the start of its tokens."""
_STRETCH = 4096
"""Rows until a PAUSE."""


@kernel_njit
def take(
    sets, index, band, stairs, met, blocks, rule, own, times, offsets, tokens, sides, parts, moments, stops, at,
    scratch, places, walk, weights, cuts, best,
):  # fmt: skip
    """Take in a batch and answer at each moments[i], after the rows up to stops[i].

    Everything is changed in place. If it needs memory it returns what for, and is called again when there is room; at
    last it returns END.

    met, blocks: MET[at least as many as sets has records], a set's candidates, and BLOCK[…] of the index's pool.
    rule:  int64[5], indexed by KIND of similarity, ORDER of tokens, SIDES and LENGTH of the window (negative: in
           rows), and SETTLES: 1 to flush the stock after each answer.
    parts: int8[n]: PROBE if a set is compared with the window, BUILD if it is added to it; else an empty set is added.
    at:    int64[DUE + 1], the progress, zeros at first; scratch, places, walk, weights: int64[at least as many as a
           set has tokens] to write to.
    cuts:  int64[q + 1], zeros: filled in. best: ITEM[…], the answers one after the other.
    All calls from Python pass arrays of the same types, so it is compiled once.
    """
    while True:
        if at[DUE] == 0:
            need = _go_on(
                sets, index, band, stairs, met, blocks, rule, own, times, offsets, tokens, sides, parts, moments, stops,
                at, scratch, places, walk, weights, cuts, best,
            )  # fmt: skip
            if need != FLUSH:
                return need
        at[DUE] = 1
        if not has_room(band, stairs):
            return STOCK
        canonicalize(band, stairs, sets)
        at[DUE] = 0


@nested_njit
def _go_on(  # noqa: C901 - a numeric kernel is one loop
    sets, index, band, stairs, met, blocks, rule, own, times, offsets, tokens, sides, parts, moments, stops, at,
    scratch, places, walk, weights, cuts, best,
):  # fmt: skip
    """The body of `take`, apart from what Python passes: so nothing here counts references."""
    kind, two, settles = rule[KIND], rule[SIDES] == 2, rule[SETTLES] != 0
    length, rows = abs(rule[LENGTH]), rule[LENGTH] < 0
    while True:
        row, step = at[ROW], at[STEP]
        if step == MEET and at[ASKED] < len(moments) and stops[at[ASKED]] == row:
            asked = at[ASKED]
            horizon = horizon_of(moments[asked], length)
            _expire(sets, index, band, horizon)
            if cuts[asked] + most_of(band) > len(best):
                return ANSWERS
            cuts[asked + 1] = best_of(band, horizon, best, cuts[asked])
            at[ASKED] += 1
            if is_due(band, stairs) or settles:
                return FLUSH
            continue
        if row == len(times):
            window.measure(sets)
            return END
        meets, kept, side = parts[row] & PROBE != 0, parts[row] & BUILD != 0, np.int64(sides[row])
        new_left = two and side == 0
        if step == MEET:
            _expire(sets, index, band, horizon_of(times[row] + rows, length))
            size, signature = window.normalise(tokens, offsets[row], offsets[row + 1], scratch)
            found = 0
            if meets:
                found = _collect(
                    sets, index, band, stairs, kind, own, 1 - side if two else side, scratch, signature, size, places,
                    rule[ORDER], walk, weights, met, blocks, new_left,
                )  # fmt: skip
            at[STEP], at[SIDE], at[TOKENS], at[SIGNATURE] = VERIFY, side, size, signature
            at[FOUND], at[DONE], at[FRESH] = found, 0, 1
        size, signature = at[TOKENS], np.uint64(at[SIGNATURE])
        while at[DONE] < at[FOUND]:
            if kskyband_kernels.is_full(band):
                at[FRESH] = 0
                return FLUSH
            at[DONE] = _verify(sets, band, kind, own, scratch, size, met, at[DONE], at[FOUND], new_left, at[FRESH] != 0)
        if step != KEEP:
            at[STEP] = KEEP
            at[TOKENS] = size = size if kept else np.int64(0)
            if row % _STRETCH == _STRETCH - 1:
                return PAUSE
        if two or not meets or step == KEEP:
            find_all(index.table, side, scratch, size, places)
        at[MORE] = lists.reserve(index.marks, index.table, index.pool, places, size)
        marks = sets.marks
        full = marks[NEXT] - marks[FIRST] == len(sets.records)
        if at[MORE] != 0 or full or index.marks[lists.ENTRIES] + size > len(sets.tokens):
            return ROOM
        insert_all(index, side, sets.marks[NEXT], scratch, size, signature, places)
        close(band, stairs, sets.marks[NEXT] - 1, times[row])
        window.append(sets, sets.marks[NEXT], times[row], side, scratch, size)
        at[STEP] = MEET
        at[ROW] += 1


@nested_njit
def _expire(sets, index, band, horizon):
    """Forget the sets and pairs older than `horizon`."""
    expire(sets, index, horizon)
    kskyband_kernels.advance(band, horizon)


@nested_njit
def _collect(  # noqa: C901 - a numeric kernel is one loop
    sets, index, band, stairs, kind, own, side, tokens, signature, size, places, order, walk, weights, met, blocks,
    new_left,
):  # fmt: skip
    """Write the sets that may form a relevant pair with a new one to `met`; returns how many.

    places, walk, weights: int64[at least size] to write to.
    """
    find_all(index.table, side, tokens, size, places)
    walk_order(index.table, places, size, order, walk, weights)
    records, first, number, smallest = sets.records, sets.marks[FIRST], sets.marks[NEXT], sets.marks[SMALLEST]
    table, pool = index.table, index.pool
    items, k, stocked = band.items, band.counts[K], band.counts[SIZE]
    older, steps, base, shift = stairs.older, stairs.steps, stairs.marks[BASE], stairs.marks[SHIFT]
    found = 0
    for i in range(size):
        if places[walk[i]] == lists.NONE:
            continue
        remaining = size - i
        bound = similarity(kind, own, remaining, size, max(remaining, smallest))
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
                and block_skipping.none_matters(
                    blocks[block_skipping.place_of(offset, j & mask)], row.token, pool, offset, j, mask, first,
                    candidate, records, items, k, stocked, older, steps, base, shift, limit, kind, own, number, size,
                    signature, remaining, new_left,
                )
            ):  # fmt: skip
                j -= ENTRIES - 1
                continue
            if limit < stocked:
                worst = items[limit]
                other_size = np.int64(entry.size)
                apart = ones(signature ^ entry.signature)
                most = min(remaining, other_size, (size + other_size - apart) >> 1)
                bound = similarity(kind, own, most, size, other_size)
                if bound < worst.score:
                    j = _passed(pool, offset, mask, j, head, signature, size, remaining, other_size, most)
                    continue
                if bound == worst.score and _loses(worst, number, candidate, new_left):
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


@njit(cache=True, inline="always")
def _passed(pool, offset, mask, j, head, signature, size, remaining, other_size, most):
    """Skip the entries that are refused for the same reason as entry j; returns the last one skipped.

    Entry j, of a set with `other_size` tokens of which at most `most` are shared, has more to beat than it can reach.
    Older sets have no less to beat, so those of the same size that share no more are skipped unchecked, up to the next
    block.
    """
    while j > head and j & (ENTRIES - 1) != 0:
        entry = pool[offset + ((j - 1) & mask)]
        apart = ones(signature ^ entry.signature)
        if entry.size != other_size or min(remaining, other_size, (size + other_size - apart) >> 1) > most:
            break
        j -= 1
    return j


@nested_njit
def _loses(worst, number, candidate, new_left):
    """Whether the pair of two sets ranks after an equally similar one of the stock."""
    left, right = (number, candidate) if new_left else (candidate, number)
    return left > worst.tie or (left == worst.tie and right > worst.key)


@nested_njit
def _saturated(record, kind, own, remaining, size, apart):
    """Whether k pairs of a set dominate this one: equal end, as similar, the smaller number on a tie."""
    other_size = np.int64(record.size)
    most = min(remaining, other_size, (size + other_size - ones(apart)) >> 1)
    return similarity(kind, own, most, size, other_size) <= record.level


@nested_njit
def _count(record, score, k):
    """Count a later set's similarity; one that is higher than that of k sets so far starts the count over."""
    if record.hits == 0 or (record.hits >= k and score > record.level):
        record.level, record.hits = score, 0
    if score >= record.level:
        record.hits += 1


@nested_njit
def _verify(sets, band, kind, own, tokens, size, met, start, stop, left_is_new, fresh):
    """Add the relevant pairs with the sets start … stop − 1 of `met` to the stock; returns where it filled up.

    fresh: the stock, and so the sets' limits, are unchanged since the sets were found.
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
    """Read each set's first token, so that cache misses overlap."""
    for i in range(stop):
        met[i].start = ring[met[i].start & (len(ring) - 1)]
