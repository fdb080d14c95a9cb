"""Tuples that may not exist: each a list of samples with probabilities, in eighths, so that sums of them are exact."""

import math
from collections.abc import Iterable, Sequence
from itertools import product
from random import Random

Sample = tuple[tuple[float, ...], float]
"""Coordinates, and a probability."""
PROBABILITIES = ([1.0], [0.5], [0.25, 0.5], [0.5, 0.5], [0.125, 0.25, 0.25], [0.0, 0.75], [])


def samples(random: Random, coordinates: int) -> list[Sample]:
    """The samples of one tuple."""
    places = (0.0, 1.0, 1.5, 3.0, 4.0)
    return [(tuple(random.choices(places, k=coordinates)), chance) for chance in random.choice(PROBABILITIES)]


def exists(tuple_: Sequence[Sample]) -> float:
    """The probability that a tuple exists."""
    return math.fsum(chance for _, chance in tuple_)


def fewer(chances: Iterable[float], size: int) -> float:
    """The probability that fewer than `size` of the tuples with these chances exist."""
    counts = [1.0] + [0.0] * size
    for chance in chances:
        counts = [counts[n] * (1 - chance) + (counts[n - 1] * chance if n else 0) for n in range(size)] + [0.0]
    return math.fsum(counts)


def near(left: Sequence[Sample], right: Sequence[Sample], most: float, largest: bool = False) -> float:
    """The probability that two tuples both exist at most this far apart."""
    return math.fsum(a * b for (u, a), (v, b) in product(left, right) if distance(u, v, largest) <= most)


def distance(left: tuple[float, ...], right: tuple[float, ...], largest: bool) -> float:
    """The distance of two points."""
    apart = [abs(u - v) for u, v in zip(left, right, strict=True)]
    return max(apart) if largest else math.sqrt(sum(each * each for each in apart))


def start_of(chances: Sequence[float], size: int, alpha: float) -> int:
    """Where the shortest window begins that holds `size` existing tuples with probability alpha, after all arrivals."""
    start = 0
    for end in range(1, len(chances) + 1):
        while start < end and fewer(chances[start + 1 : end], size) <= 1 - alpha:
            start += 1
    return start


def start_by_distance(drawn: Sequence[Sequence[Sample]], delta: float, alpha: float, largest: bool = False) -> int:
    """Where the window begins, after all arrivals, if the oldest is dropped once a later one is far from it."""
    start = 0
    for end in range(2, len(drawn) + 1):
        while start < end - 1 and _far(drawn[start], drawn[start + 1 : end], delta, largest) >= alpha:
            start += 1
    return start


def _far(oldest: Sequence[Sample], later: Sequence[Sequence[Sample]], delta: float, largest: bool) -> float:
    """The probability that some later tuple exists further than delta away, given that the oldest exists."""
    if not exists(oldest):
        return 1.0
    broken = 0.0
    for point, chance in oldest:
        far = (sum(p for other, p in each if distance(point, other, largest) > delta) for each in later)
        broken += chance * (1 - math.prod(1 - each for each in far))
    return broken / exists(oldest)
