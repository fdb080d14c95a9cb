"""Streams for key-counters: moments with all their rows, so that a cut never parts the rows of one time."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from attrs import frozen
from skyband.arrays import Int64, UInt64
from skyband_specs.stream import Stream

ROWS = 240
TINY_MOMENTS = 3


@frozen(eq=False)
class MomentStream(Stream):
    """Each entry is a time, later than the one before, with the keys and values of its rows: uint64 each."""

    times: Int64
    keys: tuple[UInt64, ...]
    values: tuple[UInt64, ...]

    def flat(self, start: int, stop: int) -> tuple[Int64, UInt64, UInt64]:
        """Entries start..stop as a counter takes them: (times, keys, values), one for each row."""
        keys, values = (np.concatenate([_NONE, *column[start:stop]]) for column in (self.keys, self.values))
        return np.repeat(self.times[start:stop], [len(some) for some in self.keys[start:stop]]), keys, values


_NONE = np.empty(0, np.uint64)


def tiny() -> Iterator[MomentStream]:
    """All streams of up to three moments with up to two rows, of two keys and two values."""
    single = list(product((0, 5), (0, 9)))
    contents = [*([row] for row in single), *([one, two] for one in single for two in single)]
    for length in range(TINY_MOMENTS + 1):
        for number, moments in enumerate(product(contents, repeat=length)):
            if length < TINY_MOMENTS or number % 97 == 0:
                yield stream(np.cumsum([1 + (number + place) % 2 for place in range(length)]), moments)


def bursts(seed: int, rows: int = ROWS) -> MomentStream:
    """Ties, bursts and gaps, few keys and many, few values and many."""
    return _bursts(seed, rows).copy()


@lru_cache(maxsize=16)
def _bursts(seed: int, rows: int) -> MomentStream:
    rng = np.random.default_rng([41, seed])
    steps = rng.choice([1, 2, 3, 11, 70], rows, p=[0.7, 0.1, 0.15, 0.04, 0.01])
    moments = []
    for _ in range(rows):
        count = int(rng.choice([1, 2, 5, 14], p=[0.7, 0.15, 0.1, 0.05]))
        keys = rng.zipf(1.6, count) % int(rng.choice([2, 5, 30]))
        moments.append(list(zip(keys.tolist(), (rng.zipf(1.4, count) % 25).tolist(), strict=True)))
    return stream(np.cumsum(steps) - 30, moments)


def steady(rows: int) -> MomentStream:
    """Keys that drift for ever: each has a few rows and is then never seen again."""
    rng = np.random.default_rng(42)
    drift = np.arange(rows) // 3 + rng.integers(0, 40, rows)
    return stream(np.arange(rows), [[(key, row % 7)] for row, key in enumerate(drift.tolist())])


def stream(times: Any, moments: Any) -> MomentStream:
    """A stream of times, and for each the rows: (key, value) pairs."""
    keys = tuple(np.array([key for key, _ in rows], np.uint64) for rows in moments)
    values = tuple(np.array([value for _, value in rows], np.uint64) for rows in moments)
    return MomentStream(np.array(times, np.int64), keys, values)
