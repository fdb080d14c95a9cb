"""Windows over tuples that may not exist, by the definition: every possible world, in exact fractions."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import prod

WORLDS = 8
"""Up to this many tuples, every world is enumerated; above, the recurrence of eq. 10, also in fractions."""


def fewer_than(size: int, probabilities: Sequence[float]) -> Fraction:
    """P(fewer than `size` of these tuples exist)."""
    return _fewer_than(size, tuple(probabilities))


@lru_cache(maxsize=4096)
def _fewer_than(size: int, probabilities: tuple[float, ...]) -> Fraction:
    chances = [Fraction(probability) for probability in probabilities]
    if len(chances) <= WORLDS:
        return sum((chance for count, chance in worlds(chances) if count < size), Fraction(0))
    return sum(distributions(size, reversed(chances))[-1], Fraction(0))


def worlds(chances: Sequence[Fraction]) -> Iterable[tuple[int, Fraction]]:
    """The number of existing tuples in each possible world, and the world's probability."""
    for exist in product((False, True), repeat=len(chances)):
        chance = prod((p if is_there else 1 - p for p, is_there in zip(chances, exist, strict=True)), start=Fraction(1))
        yield sum(exist), chance


@lru_cache(maxsize=4096)
def tails(size: int, probabilities: tuple[float, ...]) -> list[Fraction]:
    """tails[j]: P(fewer than `size` of the tuples from j on exist), for j = 0 … n."""
    if len(probabilities) <= WORLDS:
        return [fewer_than(size, probabilities[j:]) for j in range(len(probabilities) + 1)]
    chain = distributions(size, reversed([Fraction(probability) for probability in probabilities]))
    return [sum(distribution, Fraction(0)) for distribution in reversed(chain)]


def distributions(size: int, chances: Iterable[Fraction]) -> list[list[Fraction]]:
    """P(exactly k of the first j exist) for k < size, for j = 0 … n: eq. 10."""
    chain = [[Fraction(1)] + [Fraction(0)] * (size - 1)]
    for p in chances:
        before = chain[-1]
        chain.append([(1 - p) * before[k] + (p * before[k - 1] if k else 0) for k in range(size)])
    return chain


def start(probabilities: Sequence[float], size: int, alpha: float, beta: float | None) -> int:
    """The start of the shortest suffix that reaches alpha, or before which no match reaches beta; 0 if none does."""
    missing, unwanted = 1 - Fraction(alpha), Fraction(beta or 0.0)
    below = tails(size, tuple(probabilities))
    return max(j for j, tail in enumerate(below) if j == 0 or tail <= missing or tail < unwanted)


def presence(probabilities: Sequence[float], size: int) -> list[float]:
    """P(fewer than `size` younger tuples exist) for each tuple, oldest first."""
    return [float(tail) for tail in tails(size, tuple(probabilities))[1:]]
