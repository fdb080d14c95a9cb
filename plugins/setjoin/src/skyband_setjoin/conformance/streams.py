"""Streams of sets for matchers: many pairs exactly at a threshold, and words distributed as in text."""

from collections.abc import Iterator

import numpy as np
from skyband_specs.pair_ranker.streams import PairStream, bursts, odd, steady, tiny, zipf

__all__ = ["PairStream", "bursts", "drifting", "growing", "odd", "reweighted", "steady", "stream_of", "tiny", "zipf"]

Sets = list[list[int]]


def stream_of(sets: Sets, times: list[int] | None = None) -> PairStream:
    """A stream of these sets, by default at the times 0, 1, 2, …, alternating between the sides."""
    moments = range(len(sets)) if times is None else times
    tokens = tuple(np.array(words, np.int64) for words in sets)
    return PairStream(np.array(list(moments), np.int64), np.arange(len(sets), dtype=np.int8) % 2, tokens)


def growing(seed: int, rows: int) -> PairStream:
    """Sets of 1 to 60 tokens, each a subset or superset of an earlier one: short after long and long after short."""
    rng = np.random.default_rng([11, seed])
    sets: Sets = [rng.integers(0, 400, 20).tolist()]
    for _ in range(rows - 1):
        base = sets[int(rng.integers(max(0, len(sets) - 30), len(sets)))]
        if rng.random() < 0.5 or len(base) > 50:
            size = max(1, int(len(base) * rng.uniform(0.4, 1.0)))
            sets.append(rng.permutation(base)[:size].tolist())
        else:
            sets.append([*base, *rng.integers(0, 400, int(rng.integers(0, len(base) + 1))).tolist()])
    return stream_of(sets)


def drifting(seed: int, rows: int, every: int) -> PairStream:
    """Words by Zipf's law, all renamed every `every` rows: the frequent words vanish and new ones are frequent."""
    plain = zipf(seed, rows, universe=300, back=every // 2)
    sets = [tokens + 1000 * (row // every) for row, tokens in enumerate(plain.sets)]
    return PairStream(plain.times, plain.sides, tuple(sets))


def reweighted(seed: int, rows: int) -> PairStream:
    """Words by Zipf's law; from the middle on, frequent words become rare and rare ones frequent."""
    plain = zipf(seed, rows, universe=300, back=60)
    sets = [tokens if row < rows // 2 else 299 - tokens for row, tokens in enumerate(_ranked(plain))]
    return PairStream(plain.times, plain.sides, tuple(sets))


def _ranked(stream: PairStream) -> Iterator[np.ndarray]:
    """The sets with their tokens replaced by their frequency ranks."""
    names, counts = np.unique(np.concatenate(stream.sets), return_counts=True)
    rank = np.empty(len(names), np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(names))
    for tokens in stream.sets:
        yield rank[np.searchsorted(names, tokens)]
