"""Ways to feed a stream to a backend, shared by the checks."""

import zlib
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from skyband_specs.check import Make
from skyband_specs.driver import Case
from skyband_specs.stream import Stream

SEEDS = (1, 2, 3)
"""The seeds of the streams in every check over seeded streams."""

LONG = 10
"""The number of additional seeds for a `long` case."""


def seeded(case: Case, seeds: Sequence[int] = SEEDS) -> Iterator[Stream]:
    """The role's seeded streams."""
    more = range(max(SEEDS) + 1, max(SEEDS) + 1 + LONG) if case.long else ()
    return (case.driver.seeded(case, seed) for seed in (*seeds, *more))


def sampled(case: Case, most: int) -> list[Stream]:
    """The role's tiny streams: all for a `long` case, otherwise a sample of `most`, different for each parameter set.

    The sample is random: every n-th stream of an enumeration would always end in the same row.
    """
    every = list(case.driver.tiny(case))
    if case.long or len(every) <= most:
        return every
    rng = np.random.default_rng(zlib.crc32(repr(case.parameters).encode()))
    return [every[place] for place in sorted(rng.choice(len(every), most, replace=False))]


def fed(make: Make, case: Case, stream: Stream, cuts: Sequence[int] = ()) -> Any:
    """A fresh backend after the whole stream, in one batch or cut after the given numbers of rows."""
    backend = make()
    for start, stop in pairwise((0, *cuts, len(stream))):
        case.driver.feed(backend, stream, start, stop)
    return backend


def random_cuts(length: int, seed: int) -> list[int]:
    """Ascending places to cut a stream: some short batches, some long ones, and empty ones."""
    rng = np.random.default_rng([seed, length])
    count = int(rng.integers(1, max(2, length // 3)))
    return sorted(rng.integers(0, length + 1, count).tolist())


def all_cuts(length: int) -> list[int]:
    """Cuts that put every row in its own batch."""
    return list(range(1, length))


def visible(case: Case, backend: Any, stream: Stream, stop: int) -> tuple[Any, bytes, int]:
    """Everything visible that distinguishes two backends: answers, snapshot bytes (if any), items retained."""
    answers = case.driver.answers(backend, stream, stop)
    return answers, backend.snapshot() if case.has("snapshot") else b"", len(backend)
