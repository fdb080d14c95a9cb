"""Streams of sets for pair rankers: few tokens and many ties for correctness, Zipf's law for speed."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from attrs import evolve, frozen
from skyband.arrays import Int8, Int64

from skyband_specs.odd_streams import NAMES, moved, numbered, stretched
from skyband_specs.stream import Stream

ROWS = 200
TINY_SETS = ((), (1,), (1, 2), (2, 1, 2), (3, 2, 1))
TINY_ROWS = 3


@frozen(eq=False)
class PairStream(Stream):
    """times int64[n], sides int8[n] and, for each row, the tokens of a set, int64[…], including repeated ones.

    A ranker of one stream is fed without the sides, one that counts rows with row numbers instead of the times.
    """

    times: Int64
    sides: Int8
    sets: tuple[Int64, ...]

    def flat(self, start: int, stop: int) -> tuple[Int64, Int64]:
        """Rows start..stop as (offsets, tokens)."""
        sets = self.sets[start:stop]
        offsets = np.cumsum([0, *map(len, sets)], dtype=np.int64)
        return offsets, np.concatenate([np.empty(0, np.int64), *sets])


def tiny(sides: int) -> Iterator[PairStream]:
    """Every stream of at most TINY_ROWS of the five tiny sets, at equal and rising times, on every side."""
    rows = list(product(TINY_SETS, range(sides)))
    for length in range(TINY_ROWS + 1):
        for picks in product(rows, repeat=length):
            for steps in product((0, 2), repeat=max(0, length - 1)):
                times = np.cumsum([0, *steps])[:length]
                yield stream_of(times, [side for _, side in picks], [tokens for tokens, _ in picks])


def bursts(seed: int, rows: int = ROWS) -> PairStream:
    """Ties everywhere: recurring sets, near-duplicates, subsets, empty sets, repeated tokens, silences that empty
    the window, many sets at one time, both ends of the token range.
    """
    return stream_of(*_drawn_bursts(seed, rows))


@lru_cache(maxsize=128)
def _drawn_bursts(seed: int, rows: int) -> tuple[Any, Any, list[Any]]:
    """The parts of such a stream, cached because checks of many backends use the same ones."""
    rng = np.random.default_rng([5, seed])
    times = np.cumsum(rng.choice([0, 0, 0, 1, 1, 2, 9, 60], rows, p=[0.2, 0.2, 0.1, 0.2, 0.1, 0.1, 0.08, 0.02])) - 30
    universe = np.concatenate([np.arange(-3, 12), [-(2**63), 2**63 - 1]])
    sets: list[Any] = []
    for _ in range(rows):
        kind = rng.random()
        if sets and kind < 0.3:
            tokens = sets[int(rng.integers(max(0, len(sets) - 12), len(sets)))]
        elif sets and kind < 0.6:
            tokens = sets[int(rng.integers(max(0, len(sets) - 25), len(sets)))]
            tokens = np.concatenate([tokens[rng.random(len(tokens)) < 0.8], rng.choice(universe, rng.integers(0, 3))])
        else:
            tokens = rng.choice(universe, int(rng.choice([0, 1, 2, 3, 5, 8, 20])))
        sets.append(rng.permutation(tokens))
    return times, rng.integers(0, 2, rows), sets


def steady(rows: int, window: int) -> PairStream:
    """Sets of one common token and three unique ones; about twenty in a window of this length."""
    names = np.arange(3 * rows).reshape(rows, 3) * 2654435761 + 1000
    sets = [[row % 7, *names[row]] for row in range(rows)]
    return stream_of(np.arange(rows) * max(1, window // 20), np.arange(rows) % 2, sets)


def zipf(
    seed: int,
    rows: int,
    *,
    universe: int = 200_000,
    mean: float = 12.0,
    exponent: float = 1.0,
    near: float = 0.1,
    back: int = 1000,
) -> PairStream:
    """One set at each of the times 0, 1, 2, …: sizes 1 + Poisson(mean − 1), tokens by Zipf's law.

    A share `near` of the sets are near-duplicates: one of the last `back` sets with one or two tokens replaced.
    """
    rng = np.random.default_rng([6, seed])
    weights = 1.0 / np.arange(1, universe + 1) ** exponent
    levels = np.cumsum(weights) / weights.sum()
    names = rng.permutation(universe).astype(np.int64)
    sizes = 1 + rng.poisson(mean - 1, rows)
    tokens = names[np.minimum(np.searchsorted(levels, rng.random(int(sizes.sum()))), universe - 1)]
    sets = np.split(tokens, np.cumsum(sizes)[:-1]) if rows else []
    again = np.flatnonzero(rng.random(rows) < near)
    for row in again[again > 0].tolist():
        copy = sets[int(rng.integers(max(0, row - back), row))].copy()
        changed = rng.integers(0, len(copy), int(rng.integers(1, 3)))
        copy[changed] = names[rng.integers(0, universe, len(changed))]
        sets[row] = copy
    return stream_of(np.arange(rows), np.arange(rows) % 2, sets)


def stream_of(times: Any, sides: Any, sets: Any) -> PairStream:
    """A stream from columns of any type."""
    tokens = tuple(np.array(tokens_of_set, np.int64) for tokens_of_set in sets)
    return PairStream(np.array(times, np.int64), np.array(sides, np.int8), tokens)


def odd(plain: PairStream, moments: bool) -> Iterator[tuple[str, PairStream]]:
    """A stream with tokens that have equal parts and, if windows use `moments`, times at their limits."""
    cuts = np.cumsum([len(tokens) for tokens in plain.sets])[:-1]
    numbers = numbered(np.concatenate(plain.sets))
    for label, name in NAMES.items():
        yield f"tokens {label}", evolve(plain, sets=tuple(np.split(name(numbers), cuts)))
    if moments:
        for label, times in (*moved(plain.times), *stretched(plain.times)):
            yield f"times {label}", evolve(plain, times=times)
