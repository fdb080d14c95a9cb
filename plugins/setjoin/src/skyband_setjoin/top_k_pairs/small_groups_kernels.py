"""The walk of small groups of sets through their sessions, in compiled code: all are compared."""

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
    known: Array, best_left: Int64, best_right: Int64, best: Float64,
) -> int:  # fmt: skip
    """Write the best pairs of the sets head..stop, as there is room for, the best first; returns how many.

    known: of places left and right, modulo its length, their similarity, NaN where it is unknown, −inf of no pair.
    O(sets² · tokens of a set).
    """
    pairs, mask, k = 0, len(known) - 1, len(best)
    for left in range(head, stop):
        one = order[left]
        if two and sides[one] != 0:
            continue
        size = offsets[one + 1] - offsets[one]
        for right in range(head if two else left + 1, stop):
            other = order[right]
            if two and sides[other] == 0:
                continue
            # A pair stays in several windows: its similarity is worked out when first asked for, and then looked up.
            score = known[left & mask, right & mask]
            if np.isnan(score):
                theirs = offsets[other + 1] - offsets[other]
                # So few tokens may be shared at most: where that is not enough, they are not counted.
                if pairs == k and similarity(kind, own, min(size, theirs), size, theirs) <= best[k - 1]:
                    continue
                common = shared_tokens(offsets, tokens, one, other)
                score = similarity(kind, own, common, size, theirs) if common else -np.inf
                known[left & mask, right & mask] = score
            if score == -np.inf or (pairs == k and score <= best[k - 1]):
                continue
            rank = min(pairs, k - 1)
            pairs = min(pairs + 1, k)
            while rank > 0 and best[rank - 1] < score:
                best_left[rank], best_right[rank] = best_left[rank - 1], best_right[rank - 1]
                best[rank] = best[rank - 1]
                rank -= 1
            best_left[rank], best_right[rank], best[rank] = one, other, score
    return pairs


@njit(cache=True)
def rank_pairs(  # noqa: C901 - a numeric kernel is one loop
    heads: Int64, rows: Int64, stops: Int64, ended: Array, begins: Int64, ends: Int64,
    order: Int64, times: Int64, sides: Int8, offsets: Int64, tokens: Int64, at: Int64, slides: Array,
    window: int, kind: int, own: Any, two: bool, oldest: Int64, most: int, most_tokens: int,
    size: Int64, outgrown: Int64, stays: Array, pair_counts: Int64,
    known: Array, best_left: Int64, best_right: Int64, best: Float64,
) -> tuple[Int64, Int64, Float64, int]:  # fmt: skip
    """Take sets in and answer moments, session by session.

    Of each session the sets held, order[heads:rows], and its rows, order[rows:stops]. Writes of each the number of sets
    kept, and the place of the first row not taken in where there were more than `most` sets or `most_tokens`; of each
    place whether its set is kept; and of each answer the number of its pairs. Returns of all pairs, left, right and
    similarity, and how many these are. O(sets²) comparisons a group that answers, each pair once.
    """
    # known, best_left, best_right and best are room to work in. With named tuples for these and for the sets a pass
    # took two thirds longer, so that all come one by one.
    room = len(pair_counts)
    lefts, rights, scores = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.float64)
    pair_count, answers, mask = 0, 0, len(known) - 1
    for number in range(len(heads)):
        head, row, stop, moment = heads[number], rows[number], stops[number], begins[number]
        # Sets before `compared` have their row of `known` begun anew for this session; `words` are the tokens held.
        compared, words = head, 0
        for place in range(head, row):
            words += offsets[order[place] + 1] - offsets[order[place]]
        while True:
            more = moment < ends[number]
            while row < stop and not (more and times[order[row]] >= at[moment]):
                now = times[order[row]]
                words += offsets[order[row] + 1] - offsets[order[row]]
                row += 1
                # Too many, though perhaps only because old ones were not looked at since the last moment.
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
            # Places that came since then were other sets' in `known`, which goes round: nothing is known of them yet.
            for place in range(max(head, compared), row):
                for other in range(head, place):
                    known[place & mask, other & mask] = np.nan
                    known[other & mask, place & mask] = np.nan
            compared = row
            pairs = _rank(order, sides, offsets, tokens, head, row, kind, own, two, known, best_left, best_right, best)
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
        # Those of a session that has outgrown have no answer.
        answers += ends[number] - moment
        if outgrown[number] < 0:
            while head < row and (ended[number] or times[order[head]] < oldest[number]):
                head += 1
        size[number] = row - head
        for place in range(head, row):
            stays[place] = True
    return lefts, rights, scores, pair_count
