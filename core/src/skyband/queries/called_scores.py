"""Scores of many groups' objects by a function of the user's, which Python calls."""

from collections.abc import Callable

import numpy as np

from skyband.arrays import Float64, Int64

_MOST_KNOWN = 1 << 16


class CalledScores:
    """What a function of an object's values (float64[streams]) comes to: called once for values that are alike."""

    def __init__(self, score: Callable[[Float64], float]) -> None:
        self._score = score
        self._known: dict[bytes, float] = {}

    def of(self, vectors: Float64) -> Float64:
        """float64[n]: the scores of values, float64[n, streams]. O(n), and a call for what is not known yet."""
        if len(self._known) > _MOST_KNOWN:
            self._known.clear()
        known, row_of = self._known, dict(zip(map(bytes, vectors), vectors, strict=True))
        for values in row_of.keys() - known.keys():
            known[values] = float(self._score(row_of[values].copy()))
        return np.array([known[bytes(row)] for row in vectors], np.float64)

    def best(
        self, stretch: Int64, moment: Int64, objects: Int64, vectors: Float64, k: int
    ) -> tuple[Int64, Int64, Float64]:
        """Of each answer (a stretch's moment) its k best rows: their places, their ranks from 1 and their scores.

        All int64[n], the rows of an answer one after the other.
        """
        scores = self.of(vectors)
        order = np.lexsort((objects, -scores, moment, stretch))
        new = np.append(True, (np.diff(stretch) != 0) | (np.diff(moment) != 0))[: len(order)]
        places = np.arange(len(order))
        ranks = places - np.maximum.accumulate(np.where(new, places, 0)) + 1
        best = ranks <= k
        return order[best], ranks[best], scores[order[best]]
