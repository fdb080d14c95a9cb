"""Compares each row of small groups with all sets of its window, in compiled code."""

from typing import Any

import numpy as np
from numba import njit
from skyband.groups.small_groups.kernels import longer
from skyband.kernels.nested import nested_njit

from skyband_setjoin.similarity_kernel import similarity
from skyband_setjoin.small_groups_of_sets_kernels import PlacedSets, shared_tokens


@nested_njit
def _match(
    order: Any, sides: Any, offsets: Any, tokens: Any, kept: Any, head: int, row: int,
    kind: int, own: Any, threshold: float, two: bool, ranked: bool, best: Any, scores: Any,
) -> int:  # fmt: skip
    """Write the matches of the set at place `row` among the sets kept before it; returns how many.

    ranked: the most similar first, as many as fit, instead of all in order of arrival. O(sets · tokens).
    """
    matches, number = 0, order[row]
    size = offsets[number + 1] - offsets[number]
    if size == 0:
        return 0
    for place in range(head, row):
        other = order[place]
        if not kept[place] or (two and sides[other] == sides[number]):
            continue
        other_size = offsets[other + 1] - offsets[other]
        # Skip counting if even the most tokens that may be shared are too few.
        if similarity(kind, own, min(size, other_size), size, other_size) < threshold:
            continue
        common = shared_tokens(offsets, tokens, number, other)
        score = similarity(kind, own, common, size, other_size) if common else -np.inf
        if common == 0 or score < threshold or (matches == len(best) and score <= scores[matches - 1]):
            continue
        # Insertion sort: if there is no more room, the worst match drops out at the end.
        rank = min(matches, len(best) - 1)
        matches = rank + 1
        while ranked and rank > 0 and scores[rank - 1] < score:
            best[rank], scores[rank] = best[rank - 1], scores[rank - 1]
            rank -= 1
        best[rank], scores[rank] = other, score
    return matches


@njit(cache=True)
def match_rows(  # noqa: C901 - a numeric kernel is one loop
    sets: PlacedSets, window: int, kind: int, own: Any, threshold: float, two: bool, ranked: bool, first: bool,
    most: int, most_tokens: int, size: Any, full_at: Any, kept: Any, count: Any, best: Any, scores: Any,
) -> Any:  # fmt: skip
    """Take in rows and find the matches of each, session by session.

    A session has the sets held, order[heads:rows], and its rows, order[rows:stops]. Writes for each session the number
    of sets kept, and the place of the first row not taken in if there were more than `most` sets or `most_tokens`; for
    each place whether its set is kept, and the number of matches of a row taken in. best and scores are scratch.
    Returns the earlier set and the similarity of all matches, and their number. O(sets · tokens) per row.
    """
    heads, rows, stops, order, times, sides, offsets, tokens, ended, oldest = sets
    room = 64 + len(order)
    earlier, alike = np.empty(room, np.int64), np.empty(room, np.float64)
    match_count = 0
    for number in range(len(heads)):
        head, row, set_count, words = heads[number], rows[number], 0, 0
        for place in range(head, row):
            kept[place] = True
            set_count += 1
            words += offsets[order[place] + 1] - offsets[order[place]]
        until = stops[number]
        while row < until:
            now, tokens_of = times[order[row]], offsets[order[row] + 1] - offsets[order[row]]
            # The window moves with each row: sets that leave it are not needed again.
            while head < row and times[order[head]] <= now - window:
                if kept[head]:
                    kept[head] = False
                    set_count -= 1
                    words -= offsets[order[head] + 1] - offsets[order[head]]
                head += 1
            matches = _match(
                order, sides, offsets, tokens, kept, head, row, kind, own, threshold, two, ranked, best, scores
            )
            if match_count + matches > room:
                room = 2 * room + matches
                earlier, alike = longer(earlier, room), longer(alike, room)
            for rank in range(matches):
                earlier[match_count + rank], alike[match_count + rank] = best[rank], scores[rank]
            match_count += matches
            count[row] = matches
            # An empty set matches nothing, and with keep = "first" a set with a match is not compared again.
            if tokens_of > 0 and not (first and matches > 0):
                kept[row] = True
                set_count += 1
                words += tokens_of
            row += 1
            if set_count > most or words > most_tokens:
                full_at[number] = row
                break
        if full_at[number] < 0:
            while head < row and (ended[number] or times[order[head]] < oldest[number]):
                if kept[head]:
                    kept[head] = False
                    set_count -= 1
                head += 1
        size[number] = set_count
    return earlier, alike, match_count
