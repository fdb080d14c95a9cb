"""Decides when to drop the oldest tuple: when F, the probability that fewer than `size` younger ones exist, is small.

Floats decide if their error bound allows; the rest, mainly true ties, is decided in whole numbers.
"""

from collections import Counter
from fractions import Fraction
from functools import lru_cache

from attrs import frozen
from skyband.arrays import Float64


@frozen
class Threshold:
    """The oldest tuple is dropped if F <= 1 − alpha (eq. 4) or F < beta (eq. 28, strictly)."""

    limit: Fraction
    strict: bool

    @classmethod
    def of(cls, alpha: float, beta: float | None) -> "Threshold":
        """The weaker of the two conditions, which decides."""
        missing, unwanted = 1 - Fraction(alpha), Fraction(beta or 0.0)
        return cls(max(missing, unwanted), unwanted > missing)

    @property
    def certain(self) -> bool:
        """Whether F must be 0, so `size` tuples must be certain."""
        return self.limit == 0

    def reached(self, probabilities: Float64, size: int) -> bool:
        """Whether F of tuples with these probabilities is small enough, in exact arithmetic."""
        below = fewer_than(probabilities, size)
        return below < self.limit or (below == self.limit and not self.strict)


def fewer_than(probabilities: Float64, size: int) -> Fraction:
    """P(fewer than `size` exist) as a fraction: the Poisson-binomial CDF, eq. 9, without rounding.

    Tuples of equal probability are multiplied at once by the binomial theorem. So streams with few distinct
    probabilities (where exact ties happen) cost O(distinct·size^2) products of whole numbers, and equal ties in a row
    cost that once.
    """
    return _fewer_than(tuple(sorted(Counter(probabilities.tolist()).items())), size)


@lru_cache(maxsize=256)
def _fewer_than(counted: tuple[tuple[float, int], ...], size: int) -> Fraction:
    weights, denominator = [1], 1
    for probability, times in counted:
        hit = Fraction(probability)
        weights = _product(weights, _binomial(hit, times, min(times, size - 1)), size)
        denominator *= hit.denominator**times
    return Fraction(sum(weights), denominator)


def _binomial(hit: Fraction, times: int, most: int) -> list[int]:
    """P(k of `times` tuples exist) for k up to `most`, in steps of 1/hit.denominator**times."""
    yes, no = hit.numerator, hit.denominator - hit.numerator
    misses = [1]
    for _ in range(times):
        misses.append(misses[-1] * no)
    weights, ways, hits = [], 1, 1
    for k in range(most + 1):
        weights.append(ways * hits * misses[times - k])
        ways, hits = ways * (times - k) // (k + 1), hits * yes
    return weights


def _product(left: list[int], right: list[int], length: int) -> list[int]:
    product = [0] * min(len(left) + len(right) - 1, length)
    for i, a in enumerate(left):
        if a:
            for j, b in enumerate(right[: length - i]):
                product[i + j] += a * b
    return product
