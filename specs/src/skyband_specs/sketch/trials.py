"""Tens of thousands of keys, compared with a sort."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from attrs import frozen
from skyband.arrays import Int64

from skyband_specs.driver import Case, Trial
from skyband_specs.sketch.streams import SketchStream, spread

ROWS, LONG_ROWS = 70_000, 2_000_000
QUESTIONS = 40


@frozen(eq=False)
class SketchTrial(Trial):
    """Counts since moments spread over the whole stream."""

    @property
    def stops(self) -> Sequence[int]:
        """Through the sizes at which tables grow and compact forms are converted."""
        return [stop for stop in (1, 40, 300, 1100, 5000, 17_000) if stop < len(self.stream)] + [len(self.stream)]

    def feed(self, backend: Any, start: int, stop: int) -> None:
        """One update."""
        backend.update(self.stream.times[start:stop], self.stream.keys[start:stop])

    def answers(self, backend: Any, stop: int) -> Any:
        """`now`, then each count with its bounds."""
        since_all = self._moments(stop).tolist()
        return [backend.now, *((since, backend.estimate(since), *backend.bounds(since)) for since in since_all)]

    def by_definition(self, stop: int) -> Any:
        """The same from each key's last time: O(n log n)."""
        times, keys = self.stream.times[:stop], self.stream.keys[:stop]
        order = np.lexsort((times, keys))
        youngest = np.append(keys[order][1:] != keys[order][:-1], True)
        last = np.sort(times[order][youngest])
        since_all = self._moments(stop)
        counts = (len(last) - np.searchsorted(last, since_all)).tolist()
        answers = ((since, count, count, count) for since, count in zip(since_all.tolist(), counts, strict=True))
        return [int(times.max()), *answers]

    def _moments(self, stop: int) -> Int64:
        return np.unique(np.quantile(self.stream.times[:stop], np.linspace(0, 1, QUESTIONS), method="nearest"))


def trials(case: Case) -> Iterator[SketchTrial]:
    """Recurring keys together with as many unique ones, in time order and, if allowed, unordered."""
    rows = LONG_ROWS if case.long else ROWS
    unit = case.make().grain
    yield SketchTrial("in order", {}, large(1, rows, unit))
    if case.has("out-of-order"):
        ordered = large(2, rows, unit)
        yield SketchTrial("in no order", {}, ordered.take(np.random.default_rng(2).permutation(rows)))


def large(seed: int, rows: int, unit: int = 1) -> SketchStream:
    """Half new keys and half old ones, some from long ago; moments with many rows and with none."""
    rng = np.random.default_rng([18, seed])
    back = np.where(rng.random(rows) < 0.8, rng.integers(0, 2000, rows), rng.integers(0, rows, rows))
    objects = np.where(rng.random(rows) < 0.5, np.arange(rows), np.maximum(np.arange(rows) - back, 0))
    times = np.cumsum(rng.choice([0, 0, 1, 3], rows)) - rows // 2
    return SketchStream(times * unit, spread(objects))
