"""Streams of (time, object, score) for workload rankers."""

from collections.abc import Iterator
from itertools import combinations_with_replacement, product
from typing import Self

import numpy as np
from attrs import evolve, frozen
from skyband.arrays import Float64, Int64

from skyband_specs.stream import Stream

TINY_TIMES = (0, 1, 3)
TINY_ROWS = 3
ROWS = 240


@frozen(eq=False)
class WorkloadStream(Stream):
    """times int64[n], objects int64[n], scores float64[n]."""

    times: Int64
    objects: Int64
    scores: Float64


@frozen(eq=False)
class RowStream(WorkloadStream):
    """The same where the times are row numbers."""

    def take(self, rows: Int64) -> Self:
        """These rows, renumbered."""
        return evolve(super().take(rows), times=np.arange(len(rows), dtype=np.int64))


def stream_of(rows: bool, times: Int64, objects: Int64, scores: Float64) -> WorkloadStream:
    """A stream whose windows are counted in `rows`, or in time."""
    if rows:
        return RowStream(np.arange(len(times), dtype=np.int64), objects, scores)
    return WorkloadStream(times, objects, scores)


def tiny(rows: bool) -> Iterator[WorkloadStream]:
    """Every stream of at most TINY_ROWS rows over three times, two objects and two scores."""
    for length in range(TINY_ROWS + 1):
        choices = [range(length)] if rows else combinations_with_replacement(TINY_TIMES, length)
        for times in choices:
            for content in product(product((0, 1), (1.0, 2.0)), repeat=length):
                objects = np.array([name for name, _ in content], np.int64)
                scores = np.array([score for _, score in content], np.float64)
                yield stream_of(rows, np.array(times, np.int64), objects, scores)


def bursts(seed: int, rows: bool, length: int = ROWS) -> WorkloadStream:
    """Rows at one time, silences, negative times; few objects and scores, including infinity: many ties."""
    rng = np.random.default_rng([11, seed])
    times = np.cumsum(rng.choice([0, 0, 0, 1, 1, 2, 3, 40], length, p=[0.2, 0.1, 0.1, 0.3, 0.1, 0.1, 0.08, 0.02])) - 30
    scores = rng.choice([-np.inf, -1.5, 0.0, -0.0, 1.0, 2.0, 3.0, 7.25, np.inf], length)
    rising = length // 3
    scores[rising : rising + 30] = np.arange(30) * (1 if seed % 2 else -1)
    return stream_of(rows, times.astype(np.int64), rng.integers(-3, 4, length), scores)


def steady(rows: bool, length: int) -> WorkloadStream:
    """One row a moment, for ever, with random scores."""
    rng = np.random.default_rng(12)
    return stream_of(rows, np.arange(length, dtype=np.int64), rng.integers(0, 50, length), rng.random(length))
