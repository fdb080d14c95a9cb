"""Compares all sets of small groups, session by session, in compiled code."""

from typing import Any

import numpy as np
from numba import njit
from skyband.arrays import Array, Float64, Int8, Int64
from skyband.groups.small_groups.kernels import longer, oldest_needed
from skyband.kernels.nested import nested_njit

from skyband_setjoin.similarity_kernel import similarity
from skyband_setjoin.small_groups_of_sets_kernels import shared_tokens


@nested_njit
def _rank(
    order: Int64, sides: Int8, offsets: Int64, tokens: Int64, head: int, stop: int, kind: int, own: Any, two: bool,
    cache: Array, best_left: Int64, best_right: Int64, best: Float64,
) -> int:  # fmt: skip
    """Write the best pairs of the sets head..stop, as many as fit, the best first; returns how many.

    cache: by the places of left and right, modulo its length, their similarity; NaN if unknown, −inf if not a pair.
    O(sets² · tokens of a set).
    """
    pairs, mask, k = 0, len(cache) - 1, len(best)
    for left in range(head, stop):
        number = order[left]
        if two and sides[number] != 0:
            continue
        size = offsets[number + 1] - offsets[number]
        for right in range(head if two else left + 1, stop):
            other = order[right]
            if two and sides[other] == 0:
                continue
            # A pair is in several windows: its similarity is computed once, and then looked up.
            score = cache[left & mask, right & mask]
            if np.isnan(score):
                other_size = offsets[other + 1] - offsets[other]
                # Skip counting if even the most tokens that may be shared are too few.
                if pairs == k and similarity(kind, own, min(size, other_size), size, other_size) <= best[k - 1]:
                    continue
                common = shared_tokens(offsets, tokens, number, other)
                score = similarity(kind, own, common, size, other_size) if common else -np.inf
                cache[left & mask, right & mask] = score
            if score == -np.inf or (pairs == k and score <= best[k - 1]):
                continue
            rank = min(pairs, k - 1)
            pairs = min(pairs + 1, k)
            while rank > 0 and best[rank - 1] < score:
                best_left[rank], best_right[rank] = best_left[rank - 1], best_right[rank - 1]
                best[rank] = best[rank - 1]
                rank -= 1
            best_left[rank], best_right[rank], best[rank] = number, other, score
    return pairs


@njit(cache=True)
def rank_pairs(  # noqa: C901 - a numeric kernel is one loop
    heads: Int64, rows: Int64, stops: Int64, ended: Array, begins: Int64, ends: Int64,
    order: Int64, times: Int64, sides: Int8, offsets: Int64, tokens: Int64, at: Int64, slides: Array,
    window: int, kind: int, own: Any, two: bool, oldest: Int64, most: int, most_tokens: int,
    size: Int64, outgrown: Int64, stays: Array, pair_counts: Int64,
    cache: Array, best_left: Int64, best_right: Int64, best: Float64,
) -> tuple[Int64, Int64, Float64, int]:  # fmt: skip
    """Take in sets and answer moments, session by session.

    A session has the sets held, order[heads:rows], and its rows, order[rows:stops]. Writes for each session the number
    of sets kept, and the place of the first row not taken in if there were more than `most` sets or `most_tokens`; for
    each place whether its set is kept; and for each answer the number of its pairs. Returns left, right and similarity
    of all pairs, and their number. O(sets²) comparisons per group that answers, each pair once.
    """
    # cache, best_left, best_right and best are scratch. They are separate arguments because a pass took two thirds
    # longer with named tuples for these and for the sets.
    room = len(pair_counts)
    lefts, rights, scores = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.float64)
    pair_count, answers, mask = 0, 0, len(cache) - 1
    for number in range(len(heads)):
        head, row, stop, moment = heads[number], rows[number], stops[number], begins[number]
        # Sets before `compared` have their row of `cache` reset for this session; `words` are the tokens held.
        compared, words = head, 0
        for place in range(head, row):
            words += offsets[order[place] + 1] - offsets[order[place]]
        while True:
            more = moment < ends[number]
            while row < stop and not (more and times[order[row]] >= at[moment]):
                now = times[order[row]]
                words += offsets[order[row] + 1] - offsets[order[row]]
                row += 1
                # Too many, though perhaps only because old sets were not expired since the last moment.
                if row - head > most or words > most_tokens:
                    before = oldest_needed(now, slides)
                    while head < row and times[order[head]] < before:
                        words -= offsets[order[head] + 1] - offsets[order[head]]
                        head += 1
                    if row - head > most or words > most_tokens:
                        outgrown[number] = row
                        break
            if not more or outgrown[number] >= 0:
                break
            while head < row and times[order[head]] < at[moment] - window:
                words -= offsets[order[head] + 1] - offsets[order[head]]
                head += 1
            # Places added since then belonged to other sets in `cache`, which is a ring: reset them.
            for place in range(max(head, compared), row):
                for other in range(head, place):
                    cache[place & mask, other & mask] = np.nan
                    cache[other & mask, place & mask] = np.nan
            compared = row
            pairs = _rank(order, sides, offsets, tokens, head, row, kind, own, two, cache, best_left, best_right, best)
            if pair_count + pairs > room:
                room = 2 * room + pairs
                lefts, rights, scores = longer(lefts, room), longer(rights, room), longer(scores, room)
            for rank in range(pairs):
                lefts[pair_count + rank], rights[pair_count + rank] = best_left[rank], best_right[rank]
                scores[pair_count + rank] = best[rank]
            pair_count += pairs
            pair_counts[answers] = pairs
            answers += 1
            moment += 1
        # A session that has outgrown its room has no answers.
        answers += ends[number] - moment
        if outgrown[number] < 0:
            while head < row and (ended[number] or times[order[head]] < oldest[number]):
                head += 1
        size[number] = row - head
        for place in range(head, row):
            stays[place] = True
    return lefts, rights, scores, pair_count
