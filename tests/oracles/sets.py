"""Similarity of sets as exact numbers, so that ties are ties and a threshold is met or not."""

from fractions import Fraction
from math import sqrt
from random import Random

NAMES = "jaccard", "cosine", "dice", "overlap", "hamming", "containment"


def similar(name: str, left: set[str], right: set[str]) -> tuple[Fraction, float]:
    """The similarity as an exact number, squared for cosine, and as it is answered."""
    n, m, o = len(left), len(right), len(left & right)
    if name == "cosine":
        return Fraction(o * o, n * m), o / sqrt(n * m)
    exact = {
        "jaccard": Fraction(o, n + m - o),
        "dice": Fraction(2 * o, n + m),
        "overlap": Fraction(o),
        "hamming": Fraction(2 * o - n - m),
        "containment": Fraction(o, min(n, m)),
    }[name]
    return exact, float(exact)


def tokens(random: Random) -> list[str | None] | None:
    """A list of tokens with repetitions and nulls, sometimes empty or null."""
    if random.random() < 0.05:
        return None
    return random.choices(("a", "b", "c", "d", "e", "", None), k=random.choice((0, 1, 2, 3, 4, 5)))
