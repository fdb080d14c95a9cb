"""Reads states of total-ranker/k-skb in place: a sample of pairs or rows, by time descending."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from skyband.arrays import TIME_MIN, Array
from skyband.state_validation import StateReader

from skyband_totals.k_skb import sample_answers
from skyband_totals.ranker_parameters import SampleParameters
from skyband_totals.state_readers import (
    ClockedReader,
    RankerClock,
    by_object,
    first_of_each,
    limits_of,
    parameters_of,
    ranking,
)
from skyband_totals.top_reader import Ranking

_Columns = tuple[Array, ...]


class KSkbReader(ClockedReader):
    """O(entries) a state, O(n log n) an answer over n entries.

    A state has the k smallest scores since any moment, so several states together have those of their union.
    """

    def __init__(self, parameters: Mapping[str, Any], state: Mapping[str, Array]) -> None:
        self._parameters = ranker = parameters_of(SampleParameters, parameters)
        self._size = sample_answers.sample_size(ranker.epsilon, ranker.delta)
        reader = StateReader(state)
        self._clock = RankerClock(reader, max(ranker.windows), ranker.by == "rows")
        self._times = times = reader.column("times", np.int64)
        self._columns = (
            reader.column("scores", np.uint64, len(times)),
            reader.column("objects", np.int64, len(times)),
            reader.column("units", np.int64, len(times), at_least=1),
        )
        reader.require(not (times[1:] > times[:-1]).any(), "times", "must be descending")
        if len(times):
            latest, least = self._clock.latest, max(self._clock.floor, TIME_MIN)
            within = latest is not None and least <= int(times[-1]) <= int(times[0]) <= latest
            reader.require(within, "times", f"must be from {least} to {latest}")

    @property
    def retained(self) -> int:
        return len(self._times)

    @classmethod
    def top(
        cls,
        readers: Sequence[Self],
        since: Sequence[int],
        k: int | None,
        share: float | None,
        at_least: float | None = None,
    ) -> Ranking:
        ranker, size = readers[0]._parameters, readers[0]._size
        parts = [reader._since(moment) for reader, moment in zip(readers, since, strict=True)]
        scores, objects, units = (np.concatenate(column) for column in zip(*parts, strict=True))
        if ranker.total == "distinct" and len(readers) > 1:
            once = first_of_each(scores)
            scores, objects, units = scores[once], objects[once], units[once]
        most, least = limits_of(ranker, k, share, at_least)
        unit = ranker.unit if ranker.total == "sum" else 1.0
        if len(scores) < size:
            return ranking(sample_answers.exact(*by_object(objects, units), most, least, unit))
        limit = np.partition(scores, size - 1)[size - 1]
        scale = sample_answers.scale_of(limit)
        below = scores < limit
        objects, units = objects[below], units[below]
        light = units < scale if ranker.total == "sum" else np.ones(len(units), bool)
        keys, lights = by_object(objects, light.astype(np.int64))
        _, sums = by_object(objects, np.where(light, 0, units))
        top = sample_answers.estimated(keys, lights, sums, scale, ranker.delta, most, least, unit)
        return ranking(top)

    def _since(self, since: int) -> _Columns:
        count = len(self._times) - int(np.searchsorted(self._times[::-1], since))
        return tuple(column[:count] for column in self._columns)
