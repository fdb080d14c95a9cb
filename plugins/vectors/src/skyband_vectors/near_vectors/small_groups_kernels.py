"""Compares each row of small groups with all vectors of its window, in compiled code."""

from typing import NamedTuple

import numpy as np
from skyband.arrays import Array, Int64
from skyband.kernels.nested import kernel_njit
from skyband_setjoin.matching.answers import MATCH, append_matches, arrange, with_room

from skyband_vectors.matching.definition_kernels import inner, similarity
from skyband_vectors.matching.scan_kernels import is_below


class Placed(NamedTuple):
    """The places of a pass, session by session: order[heads:rows] are held, order[rows:stops] arrive."""

    heads: Int64
    rows: Int64
    stops: Int64
    times: Int64
    """Of the vector with each number, not place."""
    ended: Array
    """bool[sessions]: whether a session is dropped once it is answered."""
    oldest: Int64
    """The time in each session before which its vectors have expired."""


@kernel_njit
def match_rows(  # noqa: C901 - a numeric kernel is one loop
    placed, vectors, window, kind, threshold, margin, two, first, most_matches, most, size, full_at, stays, count
):  # fmt: skip
    """Take in rows and find the matches of each, session by session; returns MATCH[at least m] and m.

    Their `earlier` are places. vectors: by number; `numbers` are those at each place. margin: how far a float32 product
    of vectors of length 1 may be from their cosine. first: a row that matches is not kept. most_matches: 0 for all.
    Writes for each session the number of vectors that stay, and the place of the first row not taken in if these were
    more than `most`; for each place whether its vector stays, and the matches of a row taken in. O(vectors) per row.
    """
    order, times = vectors.numbers, placed.times
    answers, matches, used = np.empty(64, MATCH), np.empty(16, MATCH), 0
    for session in range(len(placed.heads)):
        head, row, total = placed.heads[session], placed.rows[session], 0
        for place in range(head, row):
            stays[place] = True
            total += 1
        while row < placed.stops[session]:
            new, matching = order[row], 0
            # The window moves with each row: vectors that leave it are not needed again.
            while head < row and times[order[head]] <= times[new] - window:
                total -= stays[head]
                stays[head] = False
                head += 1
            for place in range(head, row):
                old = order[place]
                if not stays[place] or (two and vectors.sides[old] == vectors.sides[new]):
                    continue
                x, y = vectors.entries[new], vectors.entries[old]
                if is_below(kind, x, y, vectors.lengths[new], vectors.lengths[old], threshold, margin):
                    continue
                value = similarity(kind, inner(x, y), vectors.squares[new], vectors.squares[old])
                if value >= threshold:
                    matches = with_room(matches, matching)
                    matches[matching].earlier, matches[matching].similarity = place, value
                    matching += 1
            matching = arrange(matches, matching, most_matches)
            answers = append_matches(answers, used, matches, matching)
            used += matching
            count[row] = matching
            if not (first and matching > 0):
                stays[row] = True
                total += 1
            row += 1
            if total > most:
                full_at[session] = row
                break
        if full_at[session] < 0:
            while head < row and (placed.ended[session] or times[order[head]] < placed.oldest[session]):
                total -= stays[head]
                stays[head] = False
                head += 1
        size[session] = total
    return answers, used
