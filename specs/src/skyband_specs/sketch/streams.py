"""Streams of (time, key) for sketches, including those of the paper's section 5."""

from collections.abc import Iterator
from itertools import product

import numpy as np
from attrs import frozen
from skyband.arrays import Int64, UInt64

from skyband_specs.stream import Stream

TINY_TIMES = (1, 2, 3)
TINY_ROWS = 4
ROWS = 400


@frozen(eq=False)
class SketchStream(Stream):
    """times int64[n], keys uint64[n]."""

    times: Int64
    keys: UInt64


def spread(objects: Int64) -> UInt64:
    """Keys spread evenly over 64 bits, one for each object: the finalizer of splitmix64, a bijection."""
    z = objects.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def tiny(ordered: bool) -> Iterator[SketchStream]:
    """Every stream of at most TINY_ROWS rows over two keys and three times; only ascending times if `ordered`."""
    keys = spread(np.arange(2))
    for length in range(TINY_ROWS + 1):
        for times in product(TINY_TIMES, repeat=length):
            if ordered and list(times) != sorted(times):
                continue
            for picks in product(range(2), repeat=length):
                yield SketchStream(np.array(times, np.int64), keys[np.array(picks, np.int64)])


def bursts(seed: int, ordered: bool, rows: int = ROWS) -> SketchStream:
    """Ties, bursts of one key, silences, negative times, keys that return late; shuffled unless `ordered`."""
    rng = np.random.default_rng(seed)
    steps = rng.choice([0, 0, 0, 0, 1, 2, 50], rows)
    times = np.cumsum(steps) - 20
    objects = np.where(rng.random(rows) < 0.3, rng.integers(0, 10, rows), rng.integers(0, rows, rows))
    burst = int(rng.integers(0, rows - rows // 8))
    objects[burst : burst + rows // 8] = 7
    keys = spread(objects + 1000 * seed)
    keys[rng.integers(0, rows)] = 0
    keys[rng.integers(0, rows)] = 2**64 - 1
    if not ordered:
        times = times[rng.permutation(rows)]
    return SketchStream(times.astype(np.int64), keys)


def random_keys(seed: int, rows: int, step: int = 1) -> SketchStream:
    """One new key at each of the times 0, step, 2·step, …; no key occurs twice (random 64-bit keys)."""
    keys = np.random.default_rng([17, seed]).integers(0, 2**64, rows, np.uint64)
    return SketchStream(np.arange(rows, dtype=np.int64) * step, keys)


def paper_random(seed: int, rows: int, duplication: float) -> SketchStream:
    """The data set Random of Zhang et al., "Counting distinct objects over sliding windows", section 5.

    `rows` timestamps, uniform; (1 − duplication)·rows objects, each paired with one timestamp and the remaining
    timestamps with any object; in time order.
    """
    rng = np.random.default_rng([3, seed])
    return _paired(rng, rng.integers(1, rows + 1, rows), duplication)


def paper_zipf(seed: int, rows: int, duplication: float) -> SketchStream:
    """The data set Zipf of the same section: as Random, with timestamps that follow Zipf's law (exponent 1)."""
    rng = np.random.default_rng([4, seed])
    weights = 1.0 / np.arange(1, rows + 1)
    return _paired(rng, rng.choice(np.arange(1, rows + 1), rows, p=weights / weights.sum()), duplication)


def _paired(rng: np.random.Generator, times: Int64, duplication: float) -> SketchStream:
    rows = len(times)
    distinct = max(1, round(rows * (1 - duplication)))
    objects = np.concatenate([np.arange(distinct), rng.integers(0, distinct, rows - distinct)])
    keys = rng.integers(0, 2**64, distinct, np.uint64)[rng.permutation(objects)]
    order = np.argsort(times, kind="stable")
    return SketchStream(times[order].astype(np.int64), keys[order])
