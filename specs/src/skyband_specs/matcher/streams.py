"""Streams of uncertain tuples for matchers: boundary decimals for correctness, the paper's for speed."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import frozen
from skyband.arrays import Float64, Int64

from skyband_specs.stream import Stream
from skyband_specs.window.streams import existences

ROWS = 120
TINY_ROWS = 2
DECIMALS = (0.0, 0.1, 0.3)


@frozen(eq=False)
class MatcherStream(Stream):
    """Each row is a tuple of samples: values and probabilities are float64[s] per row."""

    values: tuple[Float64, ...]
    probabilities: tuple[Float64, ...]

    def flat(self, start: int, stop: int) -> tuple[Int64, Float64, Float64]:
        """Rows start..stop as a matcher takes them: (offsets, values, probabilities)."""
        lengths = [len(values) for values in self.values[start:stop]]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return offsets, _joined(self.values[start:stop]), _joined(self.probabilities[start:stop])


def tiny() -> Iterator[MatcherStream]:
    """Every stream of at most TINY_ROWS tuples of one or two samples at decimals that are not exact in floats."""
    single = [((value,), (share,)) for value in DECIMALS for share in (0.5, 1.0)]
    double = [((first, second), (0.25, 0.75)) for first in DECIMALS for second in DECIMALS]
    for length in range(TINY_ROWS + 1):
        for rows in product([((), ()), *single, *double], repeat=length):
            yield stream_of(rows)


def mixed(seed: int, rows: int = ROWS) -> MatcherStream:
    """Tuples of one to nine samples, unordered: on a decimal grid, clustered, spread wide, repeated, improbable."""
    return _mixed(seed, rows).copy()


@lru_cache(maxsize=8)
def _mixed(seed: int, rows: int) -> MatcherStream:
    rng = np.random.default_rng([14, seed])
    tuples = []
    for _ in range(rows):
        count = int(rng.choice([0, 1, 2, 5, 9], p=[0.05, 0.25, 0.2, 0.3, 0.2]))
        grid = np.round(rng.integers(-20, 21, count) * 0.1, 1)
        centre, spread = rng.normal(0.0, 1.0), rng.choice([0.0, 0.05, 0.5])
        values = grid if rng.random() < 0.5 else centre + rng.normal(0.0, 1.0, count) * spread
        if rng.random() < 0.05:
            values = values * 1e9
        shares = rng.dirichlet(np.ones(count)) if count and rng.random() < 0.5 else np.full(count, 1.0 / max(count, 1))
        tuples.append((values, shares * rng.choice([1.0, 0.8, 0.3, 0.0], p=[0.4, 0.4, 0.15, 0.05])))
    return stream_of(tuples)


def steady(rows: int) -> MatcherStream:
    """Tuples of five samples around a sine wave, for ever."""
    wave = np.sin(np.arange(rows) * 0.37)
    return perturbed(wave, 15, samples=5, value_deviation=0.3, existence_deviation=0.1)


def perturbed(
    series: npt.ArrayLike,
    seed: int,
    *,
    samples: int = 10,
    value_deviation: float = 0.5,
    existence_deviation: float = 0.1,
    noise: str = "normal",
    existence_noise: str = "uniform",
) -> MatcherStream:
    """A certain series made uncertain as by Dallachiesa et al., section 7.1; the defaults are those of table 2.

    Each value becomes `samples` equally likely ones, with an error of mean 0: `noise` is "uniform", "normal" or
    "exponential". The tuple exists with a probability from `existences`.
    """
    rng = np.random.default_rng([16, seed])
    plain = np.asarray(series, np.float64)
    shape = (len(plain), samples)
    if noise == "uniform":
        error = (rng.random(shape) - 0.5) * (value_deviation * 12**0.5)
    elif noise == "normal":
        error = rng.normal(0.0, value_deviation, shape)
    else:
        error = rng.exponential(value_deviation, shape) - value_deviation
    exist = existences(seed, len(plain), existence_deviation, existence_noise)
    shares = np.repeat(exist[:, None] / samples, samples, axis=1)
    return MatcherStream(tuple(plain[:, None] + error), tuple(shares))


def stream_of(rows: Any) -> MatcherStream:
    """A stream from (values, probabilities) pairs."""
    values = tuple(np.array(row[0], np.float64) for row in rows)
    return MatcherStream(values, tuple(np.array(row[1], np.float64) for row in rows))


def _joined(arrays: tuple[Float64, ...]) -> Float64:
    return np.concatenate([np.empty(0), *arrays])
