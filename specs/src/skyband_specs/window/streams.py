"""Streams of tuples that may not exist, for windows: ties and certainties for correctness, the paper's for speed."""

from collections.abc import Iterator
from itertools import product

import numpy as np
from attrs import frozen
from skyband.arrays import Float64

from skyband_specs.stream import Stream

ROWS = 120
TINY_ROWS = 4
TINY = (0.5, 1.0, 0.0, 0.25)


@frozen(eq=False)
class WindowStream(Stream):
    """probabilities float64[n]: that each tuple exists."""

    probabilities: Float64


def tiny() -> Iterator[WindowStream]:
    """Every stream of at most TINY_ROWS tuples over a few probabilities with exact products, so that ties occur."""
    for length in range(TINY_ROWS + 1):
        for values in product(TINY, repeat=length):
            yield WindowStream(np.array(values, np.float64))


def moods(seed: int, rows: int = ROWS) -> WindowStream:
    """Sections of one kind each: any probability, few values, all certain, none existing, nearly certain."""
    rng = np.random.default_rng([11, seed])
    kinds = [
        rng.random(rows),
        rng.choice([0.25, 0.5, 0.75, 1.0], rows),
        rng.choice([0.9, 0.99, 0.1], rows),
        np.ones(rows),
        np.zeros(rows),
        1.0 - 1e-9 * rng.random(rows),
    ]
    mood = np.repeat(rng.integers(0, len(kinds), rows), rng.integers(1, 9, rows))[:rows]
    mood[: rows // 4] = 0
    return WindowStream(np.choose(mood, kinds))


def steady(rows: int) -> WindowStream:
    """The paper's probabilities, with an occasional certain tuple."""
    probabilities = existences(12, rows, 0.1)
    probabilities[::5] = 1.0
    return WindowStream(probabilities)


def existences(seed: int, rows: int, deviation: float, noise: str = "uniform") -> Float64:
    """The existential uncertainty of Dallachiesa et al., section 7.1: 1 less a deviate of that standard deviation.

    `noise` is "uniform" (over [0, deviation·sqrt(12)], footnote 2), "normal" or "exponential", from 0 up; values beyond
    [0, 1] are drawn again.
    """
    rng = np.random.default_rng([13, seed])
    probabilities = np.empty(0)
    while len(probabilities) < rows:
        more = 1.0 - np.abs(_deviates(rng, rows, deviation, noise))
        probabilities = np.concatenate([probabilities, more[(more >= 0.0) & (more <= 1.0)]])
    return probabilities[:rows]


def _deviates(rng: np.random.Generator, rows: int, deviation: float, noise: str) -> Float64:
    if noise == "uniform":
        return rng.random(rows) * (deviation * 12**0.5)
    return rng.normal(0.0, deviation, rows) if noise == "normal" else rng.exponential(deviation, rows)
