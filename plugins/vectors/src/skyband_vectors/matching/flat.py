"""flat: multiplies each vector with all of the window."""

from typing import ClassVar

import numpy as np
from attrs import define
from skyband.arrays import Float64

from skyband_vectors.matching.tiled import TiledMatcher
from skyband_vectors.matching.window_matcher import directions_of
from skyband_vectors.role import Float32


@define(eq=False)
class Flat(TiledMatcher):
    """Multiplies each vector with the whole window, by matrix products of float32: a simple baseline.

    Pairs whose product is within its certain rounding error of the threshold, or above, are decided by the definition.
    So the answers are exact, and do not depend on the linear algebra that is installed.

    Parameters
    ----------
    by : str, default "time"
        whether windows are times or row counts (one of time, rows)
    dimensions : int
        the number of entries of each vector, such as 384 (at least 1 and at most 4096)
    window : int
        length of the window, in the unit of the times or in rows (at least 1)
    threshold : float, default None
        how similar two vectors must be to match; none: the most similar ones, however far they are (a finite number,
        or none with a number of matches)
    similarity : str, default "cosine"
        "cosine", "dot": the inner product; or "euclidean": the distance, negated, so that nearer is larger (one of
        cosine, dot, euclidean)
    matches : str | int, default "all"
        how many matches of a set to report: the most similar ones, on a tie the earlier ("all" or a whole number of
        at least 1)
    keep : str, default "all"
        "first": a set that matches a kept one is dropped, and later sets are compared with kept ones only (one of
        all, first)
    sides : int, default 1
        1: matches within one stream; 2: across two only (at least 1 and at most 2)

    Complexity
    ----------
    A vector costs the window's vectors times their dimensions, at the speed of a matrix product. It retains the
    vectors of the window twice, as they came and with length 1.

    References
    ----------
    Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.1 (the rounding error of a product).

    Examples
    --------
    >>> import skyband
    >>> matcher = skyband.create("vector-matcher", "flat", dimensions=2, window=10, threshold=0.9)
    >>> cuts, earlier, similarity = matcher.update(times=[0, 1, 2], vectors=[[1.0, 0.0], [0.0, 1.0], [3.0, 1.0]])
    >>> cuts.tolist(), earlier.tolist(), similarity.round(3).tolist()
    ([0, 0, 0, 1], [0], [0.949])
    """

    name: ClassVar[str] = "flat"

    def _feature_count(self) -> int:
        return self.dimensions

    def _features(self, vectors: Float32, lengths: Float64) -> Float32:
        return directions_of(vectors, lengths).astype(np.float32)
