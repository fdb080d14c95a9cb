"""A threshold means its decimal text: scores are rounded once, so comparing them as float64 is exact."""

from fractions import Fraction

import pytest
from skyband.roles.similarity import NAMED

EXACT = {
    "jaccard": lambda overlap, n, m: Fraction(overlap, n + m - overlap) ** 2,
    "cosine": lambda overlap, n, m: Fraction(overlap * overlap, n * m),
    "dice": lambda overlap, n, m: Fraction(2 * overlap, n + m) ** 2,
    "containment": lambda overlap, n, m: Fraction(overlap, min(n, m)) ** 2,
}
"""Squared because the cosine has a root."""


@pytest.mark.parametrize("name", EXACT)
def test_a_score_reaches_a_threshold_iff_the_fractions_do(name):
    sizes = [*range(1, 26), 36, 49, 64, 81, 100, 144, 1000]
    for n in sizes:
        for m in (size for size in sizes if size <= n):
            for overlap in range(1, m + 1, 1 + m // 30):
                score, exact = NAMED[name](overlap, n, m), EXACT[name](overlap, n, m)
                for places in (2, 4, 9):
                    threshold = round(score, places)
                    assert (score >= threshold) == (exact >= Fraction(repr(threshold)) ** 2)
