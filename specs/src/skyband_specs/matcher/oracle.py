"""Finds uncertain tuples close to each other: the sum as defined, and every possible world."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import product

Sample = tuple[float, float]
"""A value and its probability."""


def probability(probe: Iterable[Sample], other: Iterable[Sample], epsilon: float) -> float:
    """Sum of Pr(u)·Pr(v) over the samples with |u − v| <= epsilon, in floats, in the order the role defines."""
    total = 0.0
    for u, pu in sorted(probe):
        for v, pv in sorted(other):
            if abs(u - v) <= epsilon:
                total += pu * pv
    return total


def matches(
    probe: Sequence[Sample], window: Iterable[tuple[int, Sequence[Sample]]], epsilon: float, beta: float | None
) -> list[tuple[int, float]]:
    """The tuples, given with their positions, whose probability is above 0 and at least beta."""
    probabilities = [(position, probability(probe, other, epsilon)) for position, other in window]
    return [(position, chance) for position, chance in probabilities if chance > 0.0 and chance >= (beta or 0.0)]


def in_worlds(probe: Sequence[Sample], other: Sequence[Sample], epsilon: float) -> Fraction:
    """The share of possible worlds in which both exist, with values within epsilon of each other."""
    total = Fraction(0)
    for (u, pu), (v, pv) in product(_outcomes(probe), _outcomes(other)):
        if _near(u, v, epsilon):
            total += pu * pv
    return total


def _near(u: float | None, v: float | None, epsilon: float) -> bool:
    return u is not None and v is not None and abs(u - v) <= epsilon


def _outcomes(samples: Sequence[Sample]) -> list[tuple[float | None, Fraction]]:
    """The possible outcomes of a tuple: each of its values, or absent."""
    chances = [(value, Fraction(share)) for value, share in samples]
    return [*chances, (None, 1 - sum((share for _, share in chances), Fraction(0)))]
