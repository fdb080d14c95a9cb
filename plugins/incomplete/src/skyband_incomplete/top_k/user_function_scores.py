"""Scores many groups' objects by a user's function, called in Python."""

from collections.abc import Callable

import numpy as np
from skyband.arrays import Float64, Int64
from skyband.columns.row_codes import place_among_equal, row_codes

from skyband_incomplete.aggregates import finite

_MOST_KNOWN = 1 << 16


class CalledScores:
    """The scores by a function of an object's values (float64[streams]), called once for equal values.

    The scores of the last call are cached, as most objects keep their values; older ones while they are few.
    """

    def __init__(self, score: Callable[[Float64], float], streams: int) -> None:
        self._score = finite(score)
        self._vectors, self._scores = np.empty((0, streams)), np.empty(0)

    def evaluate(self, vectors: Float64) -> Float64:
        """float64[n]: the scores of values, float64[n, streams]. O(n log n), and a call for each new vector."""
        count, both = len(self._vectors), np.concatenate([self._vectors, vectors])
        codes = row_codes(list(both.T))
        first, scores = np.empty(codes.max(initial=-1) + 1, np.int64), np.empty(codes.max(initial=-1) + 1)
        first[codes[::-1]] = np.arange(len(both))[::-1]
        scores[codes[:count]] = self._scores
        new = first >= count
        scores[new] = [self._score(row) for row in both[first[new]]]
        stays = np.full(len(first), len(first) <= _MOST_KNOWN)
        stays[codes[count:]] = True
        self._vectors, self._scores = both[first[stays]], scores[stays]
        fresh: Float64 = scores[codes[count:]]
        return fresh

    def best(
        self, stretch: Int64, moment: Int64, objects: Int64, vectors: Float64, k: int
    ) -> tuple[Int64, Int64, Float64]:
        """The k best rows of each answer (a moment of a session): their places, ranks from 1 and scores.

        All int64[n], with the rows of an answer contiguous.
        """
        scores = self.evaluate(vectors)
        order = np.lexsort((objects, -scores, moment, stretch))
        ranks = 1 + place_among_equal(row_codes([stretch[order], moment[order]]))
        best = ranks <= k
        return order[best], ranks[best], scores[order[best]]
