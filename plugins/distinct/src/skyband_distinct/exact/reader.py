"""Reads states of sketch/exact in place: every key with its last time."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from skyband.arrays import TIME_MIN, Array, Float64, UInt64
from skyband.config.half_open_ranges import ValueRange
from skyband.config.parameters import build
from skyband.state_validation import StateReader

from skyband_distinct.latest_values import latest
from skyband_distinct.sightings import from_state, in_classes, numbers_seen
from skyband_distinct.sketch_reader import Sample, SketchReader
from skyband_distinct.state_readers import OfExact, distinct


class ExactReader(SketchReader):
    """O(keys) a state, O(keys) an estimate."""

    def __init__(self, parameters: Mapping[str, Any], state: Mapping[str, Array]) -> None:
        own = build(OfExact, parameters)
        reader = StateReader(state)
        self._now = reader.optional("now")
        self._floor = reader.number("floor", at_least=TIME_MIN + 1)
        latest = TIME_MIN if self._now is None else self._now
        self._times = reader.column("times", np.int64, at_least=self._floor, at_most=latest)
        self._keys = reader.ascending("keys", len(self._times), dtype=np.uint64, strictly=True)
        self._values = reader.column("values", np.float64, len(self._times), at_least=-np.inf) if own.values else None
        self._earlier, self._place = self._times[:0], self._times[:0]
        if own.sightings is not None:
            self._earlier, self._place = from_state(reader, self._times, self._floor, own.sightings)

    @property
    def latest(self) -> int | None:
        return self._now

    @property
    def floor(self) -> int:
        return self._floor if self._floor > TIME_MIN + 1 else TIME_MIN

    @property
    def retained(self) -> int:
        return len(self._times)

    def estimate(self, since: int) -> tuple[float, float, float]:
        if since > self._since_all:
            return 0.0, 0.0, 0.0
        count = float(np.count_nonzero(self._times >= max(since, TIME_MIN)))
        return count, count, count

    @classmethod
    def union(cls, readers: Sequence[Self], since: Sequence[int]) -> tuple[float, float, float]:
        parts = [reader._keys_since(moment) for reader, moment in zip(readers, since, strict=True)]
        count = float(len(distinct(np.concatenate(parts))))
        return count, count, count

    def samples(self, since: int) -> Sequence[Sample]:
        return [Sample(self._keys_since(since), 1.0)]

    @classmethod
    def smallest(cls, readers: Sequence[Self], since: Sequence[int]) -> tuple[UInt64, int | None]:
        parts = [reader._keys_since(moment) for reader, moment in zip(readers, since, strict=True)]
        return distinct(np.concatenate(parts)), None

    @classmethod
    def between(cls, readers: Sequence[Self], since: Sequence[int], within: ValueRange) -> tuple[float, float, float]:
        parts = [reader._rows_since(moment) for reader, moment in zip(readers, since, strict=True)]
        _, values = latest(*map(np.concatenate, zip(*parts, strict=True)))
        count = float(np.count_nonzero(within.holds(values)))
        return count, count, count

    @classmethod
    def frequencies(cls, readers: Sequence[Self], since: Sequence[int], classes: Sequence[int]) -> Float64:
        parts = [reader._sightings_since(moment) for reader, moment in zip(readers, since, strict=True)]
        _, counts = np.unique(np.concatenate(parts), return_counts=True)
        numbers = in_classes(numbers_seen(counts, classes[-1]), classes).astype(np.float64)
        return np.repeat(numbers[:, None], 3, axis=1)

    def _sightings_since(self, since: int) -> UInt64:
        """The keys with time >= `since`, each as often as it was seen, as far as that is kept."""
        again = self._place[self._earlier >= max(since, TIME_MIN)] if since <= self._since_all else self._place[:0]
        return np.concatenate([self._keys_since(since), self._keys[again]])

    def _rows_since(self, since: int) -> tuple[Array, ...]:
        assert self._values is not None
        young = self._times >= max(since, TIME_MIN) if since <= self._since_all else np.zeros(len(self._times), bool)
        return self._times[young], self._keys[young], self._values[young]

    def _keys_since(self, since: int) -> UInt64:
        if since > self._since_all:
            return self._keys[:0]
        return self._keys[self._times >= max(since, TIME_MIN)]

    @property
    def _since_all(self) -> int:
        """The latest time; without rows, a time before every moment."""
        return TIME_MIN - 1 if self._now is None else self._now
