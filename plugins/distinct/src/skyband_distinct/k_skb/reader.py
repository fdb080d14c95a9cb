"""Reads states of sketch/k-skb in place: each subsketch's k-skyband, by time descending."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Any, Self

import numpy as np
from skyband.arrays import TIME_MIN, Array, Float64, UInt64
from skyband.config.half_open_ranges import ValueRange
from skyband.state_validation import StateReader

from skyband_distinct.binomial_bounds import least_share
from skyband_distinct.k_skb.frequency_bounds import frequency_estimate
from skyband_distinct.latest_values import latest, range_estimate, sample_of
from skyband_distinct.sightings import from_state, numbers_seen
from skyband_distinct.sketch_reader import Sample, SketchReader
from skyband_distinct.sketch_sizes import skyband_shape
from skyband_distinct.state_readers import PromisedOfHashes, distinct, promised

_WHOLE = 2.0**64


class KSkbReader(SketchReader):
    """O(retained) a state, O(pairs since the moment) an estimate.

    A subsketch holds the k smallest hashes of the keys since any moment, which are a sample of those keys. All states
    use the same hash functions, so that samples of two states can be compared.
    """

    def __init__(self, parameters: Mapping[str, Any], state: Mapping[str, Array]) -> None:
        self._promised = promised(PromisedOfHashes, parameters)
        count, self._k = skyband_shape(self._promised.epsilon, self._promised.delta, self._promised.theta)
        reader = StateReader(state)
        self._now = reader.optional("now")
        self._floor = reader.number("floor")
        latest = TIME_MIN if self._now is None else self._now
        times = reader.column("times", np.int64)
        hashes = reader.column("hashes", np.uint64, len(times))
        cuts = np.append(0, np.cumsum(reader.sizes("kept", count, len(times)))).tolist()
        self._skybands = [(times[start:stop], hashes[start:stop]) for start, stop in pairwise(cuts)]
        self._values: list[Float64] = []
        if self._promised.values is not None:
            values = reader.column("values", np.float64, len(times), at_least=-np.inf)
            self._values = [values[start:stop] for start, stop in pairwise(cuts)]
        least = max(self._floor, TIME_MIN + 1)
        self._earlier: list[tuple[Array, UInt64]] = []
        if self._promised.sightings is not None:
            earlier, place = from_state(reader, times, least, self._promised.sightings)
            ends = np.searchsorted(place, cuts).tolist()
            self._earlier = [(earlier[start:stop], hashes[place[start:stop]]) for start, stop in pairwise(ends)]
        for own, _ in self._skybands:
            reader.require(not (own[1:] > own[:-1]).any(), "times", "must be descending")
            within = not len(own) or least <= int(own[-1]) <= int(own[0]) <= latest
            reader.require(within, "times", f"must be from {least} to {latest}")

    @property
    def latest(self) -> int | None:
        return self._now

    @property
    def floor(self) -> int:
        return self._floor

    @property
    def retained(self) -> int:
        return sum(len(times) for times, _ in self._skybands)

    def estimate(self, since: int) -> tuple[float, float, float]:
        return self._estimate_of([self._since(index, since) for index in range(len(self._skybands))])

    @classmethod
    def union(cls, readers: Sequence[Self], since: Sequence[int]) -> tuple[float, float, float]:
        parts = [cls._together(readers, since, index) for index in range(len(readers[0]._skybands))]
        return readers[0]._estimate_of(parts)

    @classmethod
    def smallest(cls, readers: Sequence[Self], since: Sequence[int]) -> tuple[UInt64, int | None]:
        hashes, k = cls._together(readers, since, 0), readers[0]._k
        return (hashes, None) if len(hashes) < k else (hashes[: k - 1], int(hashes[k - 1]))

    @classmethod
    def _together(cls, readers: Sequence[Self], since: Sequence[int], index: int) -> UInt64:
        parts = [reader._since(index, moment) for reader, moment in zip(readers, since, strict=True)]
        return distinct(np.concatenate(parts))

    @classmethod
    def between(cls, readers: Sequence[Self], since: Sequence[int], within: ValueRange) -> tuple[float, float, float]:
        first, together, samples = readers[0], [], []
        for index in range(len(first._skybands)):
            parts = [reader._rows_since(index, moment) for reader, moment in zip(readers, since, strict=True)]
            hashes, values = latest(*map(np.concatenate, zip(*parts, strict=True)))
            few = len(hashes) < first._k
            share = 1.0 if few else _share(hashes[first._k - 1])
            samples.append(sample_of(values if few else values[: first._k - 1], share, within))
            together.append(hashes)
        keys, low, high = first._estimate_of(together)
        return range_estimate(samples, keys, 0.0 if low == high else first._promised.epsilon, first._k)

    @classmethod
    def frequencies(cls, readers: Sequence[Self], since: Sequence[int], classes: Sequence[int]) -> Float64:
        first, numbers, shares = readers[0], [], []
        for index in range(len(first._skybands)):
            parts = [reader._sightings_since(index, moment) for reader, moment in zip(readers, since, strict=True)]
            hashes, counts = np.unique(np.concatenate(parts), return_counts=True)
            few = len(hashes) < first._k
            numbers.append(numbers_seen(counts if few else counts[: first._k - 1], classes[-1]))
            shares.append(1.0 if few else _share(hashes[first._k - 1]))
        keys, _, _ = cls.union(readers, since)
        return frequency_estimate(numbers, shares, keys, first._k, first._promised.delta, classes, least_share)

    def _sightings_since(self, index: int, since: int) -> UInt64:
        """A subsketch's hashes with time >= `since`, each as often as it was seen, as far as that is kept."""
        earlier, hashes = self._earlier[index]
        again = earlier >= max(since, TIME_MIN) if since < 2**63 else np.zeros(len(earlier), bool)
        return np.concatenate([self._since(index, since), hashes[again]])

    def samples(self, since: int) -> Sequence[Sample]:
        samples = []
        for index in range(len(self._skybands)):
            hashes = distinct(self._since(index, since))
            few = len(hashes) < self._k
            samples.append(Sample(hashes, 1.0) if few else Sample(hashes[: self._k - 1], _share(hashes[self._k - 1])))
        return samples

    def _since(self, index: int, since: int) -> UInt64:
        return self._skybands[index][1][: self._count_since(index, since)]

    def _rows_since(self, index: int, since: int) -> tuple[Array, ...]:
        count = self._count_since(index, since)
        return *(column[:count] for column in self._skybands[index]), self._values[index][:count]

    def _count_since(self, index: int, since: int) -> int:
        times, _ = self._skybands[index]
        # Times are descending: those at or after `since` come first.
        return len(times) - int(np.searchsorted(times[::-1], max(since, TIME_MIN))) if since < 2**63 else 0

    def _estimate_of(self, subsketches: Sequence[UInt64]) -> tuple[float, float, float]:
        count = round(float(median(map(self._count_of, subsketches))), 3)
        if count < self._k:
            return count, count, count
        low, high = self._promised.around(count)
        return count, max(low, float(self._k)), high

    def _count_of(self, hashes: UInt64) -> float:
        if len(hashes) < self._k:
            return float(len(hashes))
        kth = np.partition(hashes, self._k - 1)[self._k - 1]
        return max(float(self._k), (self._k - 1) / _share(kth))


def _share(hash_: Any) -> float:
    return (float(hash_) + 1) / _WHOLE
