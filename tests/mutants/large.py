"""Backends that are right while all is small: installed ones, each with one wrong turn for large input.

Made of fast backends and not of the references, which would take minutes over streams of this size.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from skyband.arrays import Array, Float64, Int8, Int32, Int64, UInt64
from skyband.registry import installed, load_class
from skyband.roles import Answer
from skyband_specs.faults import Mutant

EQUAL, CUT = "large_streams_equal_a_fast_oracle", "large_streams_cut_and_restored"
KEYS = {
    "sketch": "exact",
    "object-ranker": "eaa",
    "pair-ranker": "swoop",
    "window": "exact",
    "matcher": "block",
    "workload-ranker": "paneband",
    "total-ranker": "exact",
    "set-matcher": "prefix",
    "key-counter": "newest",
    "key-total": "window",
    "vector-matcher": "exact",
    "row-aggregate": "max",
}
INFOS = {role: installed().bind(role, name, None).info for role, name in KEYS.items()}
Exact, Eaa, Swoop, ExactWindow, Block, PaneBand, ExactTotals, Prefix, Newest, AllValues, ExactVectors, Max = (
    load_class(info) for info in INFOS.values()
)


class ShortKeysWhenMany(Exact):
    """Keys are cut to 32 bits when there are many."""

    def _update(self, times: Int64, keys: UInt64) -> None:
        super()._update(times, keys & np.uint64(2**32 - 1) if len(self) > 5000 else keys)


class HalfPrecisionCount(Exact):
    """The count is held in 11 bits and an exponent."""

    def estimate(self, since: int) -> float:
        return float(np.float16(super().estimate(since)))


class LargeBatchIsCut(Exact):
    """What does not fit into a buffer of 4096 rows is lost."""

    def _update(self, times: Int64, keys: UInt64) -> None:
        super()._update(times[:4096], keys[:4096])


class LargeKIsCut(Eaa):
    """A heap of 256 answers."""

    def top(self) -> tuple[Int64, Float64]:
        objects, scores = super().top()
        return objects[:256], scores[:256]


class ManyStreamsShareABit(Eaa):
    """Streams are bits of a word of 64."""

    def _update(self, times: Int64, streams: Int32, objects: Int64, values: Float64) -> None:
        super()._update(times, (streams % 64).astype(np.int32), objects, values)


class DriftsInTime(Eaa):
    """A sum from which what expired is subtracted is off in the last digit, in the end."""

    rows: int = 0

    def _update(self, times: Int64, streams: Int32, objects: Int64, values: Float64) -> None:
        self.rows += len(times)
        super()._update(times, streams, objects, values)

    def top(self) -> tuple[Int64, Float64]:
        objects, scores = super().top()
        return objects, np.nextafter(scores, np.inf) if self.rows > 5000 else scores


class SortsLargeBatches(Eaa):
    """Rows of a large batch are taken by object, not in order of arrival."""

    def _update(self, times: Int64, streams: Int32, objects: Int64, values: Float64) -> None:
        order = np.lexsort((objects, times)) if len(times) > 1000 else np.arange(len(times))
        super()._update(times[order], streams[order], objects[order], values[order])


class SizesInAByte(Swoop):
    """Of a large set, the first 255 tokens."""

    def _update(self, times: Int64, offsets: Int64, tokens: Int64, sides: Int8, parts: Int8) -> None:
        sizes = np.diff(offsets)
        first = np.arange(len(tokens)) - np.repeat(offsets[:-1], sizes) < 255
        cut = np.concatenate([[0], np.cumsum(np.minimum(sizes, 255))])
        super()._update(times, cut, tokens[first], sides, parts)


class NumbersIn16Bits(Swoop):
    """Sets are numbered in 16 bits."""

    def top(self) -> tuple[Int64, Int64, Float64]:
        left, right, similarity = super().top()
        return left % 2**16, right % 2**16, similarity


class RestoresOneSide(Swoop):
    """A state of many sets comes back with all of them on one side."""

    def _load(self, state: Mapping[str, Array]) -> None:
        many = len(state["sides"]) > 100
        super()._load({**state, "sides": np.zeros_like(state["sides"])} if many else state)


class OneTooManyWhenLong(ExactWindow):
    """A window of more than 150 tuples begins one early."""

    def _append(self, probabilities: Float64) -> Int64:
        starts = super()._append(probabilities)
        long = self._end + np.arange(1, len(starts) + 1) - starts > 150
        return np.maximum.accumulate(np.where(long, np.maximum(starts - 1, 0), starts))


class NormalWhenLarge(ExactWindow):
    """The presence is approximated where `size` is large."""

    def _presence(self, probabilities: Float64, positions: Int64, ends: Int64) -> Float64:
        found = super()._presence(probabilities, positions, ends)
        return np.where((found > 0.1) & (found < 0.9), found + 1e-6, found) if self.size > 100 else found


class LosesOneOfManyTuples(ExactWindow):
    """A large batch is taken in pieces, with a gap."""

    def _append(self, probabilities: Float64) -> Int64:
        given = probabilities.copy()
        given[300:301] = 0.5
        return super()._append(given)


class SearchesTheLastThousand(Block):
    """No more than 1024 tuples are looked at."""

    def _match(self, *question: Any) -> tuple[Int64, Int64, Float64]:
        probes, positions, chances = super()._match(*question)
        near = positions >= self._end - 1024
        return probes[near], positions[near], chances[near]


class AnswersSomeProbes(Block):
    """Of many probes in one call, the first 256 are answered."""

    def _match(self, *question: Any) -> tuple[Int64, Int64, Float64]:
        probes, positions, chances = super()._match(*question)
        return probes[probes < 256], positions[probes < 256], chances[probes < 256]


class LosesTheLastOfMany(Block):
    """The last sample of a large batch never exists."""

    def _append(self, offsets: Int64, values: Float64, probabilities: Float64) -> None:
        shares = probabilities.copy()
        if len(offsets) > 100:
            shares[-1] = 0.0
        super()._append(offsets, values, shares)


class ThirtyTwoQueries(PaneBand):
    """Queries are bits of a word of 32."""

    def _update(self, times: Int64, objects: Int64, scores: Float64) -> Sequence[Answer]:
        answers = super()._update(times, objects, scores)
        return [answer for answer in answers if answer.query < 32]


class TwinIsForgotten(PaneBand):
    """Of two equal queries, one is answered."""

    def _update(self, times: Int64, objects: Int64, scores: Float64) -> Sequence[Answer]:
        answers = super()._update(times, objects, scores)
        return [answer for answer in answers if self.queries.index(self.queries[answer.query]) == answer.query]


class RestoresSingleFloats(PaneBand):
    """A state of many rows comes back in single precision."""

    def _load(self, state: Mapping[str, Array]) -> None:
        def single(array: Array) -> Array:
            many = array.dtype == np.float64 and len(array) > 500
            return array.astype(np.float32).astype(np.float64) if many else array

        super()._load({name: single(array) for name, array in state.items()})


class AnswersAThousand(ExactTotals):
    """No answer has more than 1000 objects."""

    @property
    def limit(self) -> int:
        return min(1000, super().limit)


class ShortWeights(ExactTotals):
    """Units are held in 32 bits."""

    def _update(self, times: Int64, objects: Int64, amounts: Any) -> None:
        super()._update(times, objects, amounts % 2**32 if self.total == "sum" else amounts)


class LosesARowOfMany(ExactTotals):
    """What does not fit into a buffer of 4096 rows is lost."""

    def _update(self, times: Int64, objects: Int64, amounts: Any) -> None:
        super()._update(times[:4096], objects[:4096], None if amounts is None else amounts[:4096])


class ForgetsWhenMany(Prefix):
    """Of more than 256 sets, the oldest are never found."""

    def _update(self, *rows: Any) -> tuple[Int64, Int64, Float64]:
        cuts, earlier, similarity = super()._update(*rows)
        counts = np.diff(cuts)
        near = np.repeat(np.arange(len(counts)), counts) + self._seen - earlier <= 256
        kept = np.concatenate([[0], np.cumsum(near)])[cuts]
        return kept, earlier[near], similarity[near]


class PrefixOfAByte(Prefix):
    """Of a large set, the first 255 tokens."""

    def _update(self, times: Int64, offsets: Int64, tokens: Int64, *rest: Any) -> tuple[Int64, Int64, Float64]:
        sizes = np.diff(offsets)
        first = np.arange(len(tokens)) - np.repeat(offsets[:-1], sizes) < 255
        cut = np.concatenate([[0], np.cumsum(np.minimum(sizes, 255))])
        return super()._update(times, cut, tokens[first], *rest)


class NumbersAnew(Prefix):
    """Sets are numbered from 0 again after a restart."""

    def _load(self, state: Mapping[str, Array]) -> None:
        super()._load(state)
        self._seen = self._seen % 2**8


class BoundsOfAByte(Newest):
    """A bound above 255 is one of 255."""

    def _update(self, times: Int64, keys: UInt64, values: Any, bounds: Any, below: Any) -> Any:
        return super()._update(times, keys, values, bounds._replace(at_least=np.minimum(bounds.at_least, 255)), below)


class LosesKeysOfABatch(Newest):
    """What does not fit into a buffer of 4096 rows is lost."""

    def _update(self, times: Int64, keys: UInt64, values: Any, bounds: Any, below: Any) -> Any:
        return super()._update(times[:4096], keys[:4096], None if values is None else values[:4096], bounds, below)


class ValuesOfAByte(AllValues):
    """The number of values is held in a byte."""

    def _update(self, times: Int64, keys: UInt64, values: Any, bounds: Any) -> Any:
        reached = super()._update(times, keys, values, bounds)
        return reached._replace(sizes=reached.sizes % 256)


class LosesValuesOfABatch(AllValues):
    """What does not fit into a buffer of 4096 rows is lost."""

    def _update(self, times: Int64, keys: UInt64, values: Any, bounds: Any) -> Any:
        return super()._update(times[:4096], keys[:4096], values[:4096], bounds)


class NoRest(ExactVectors):
    """What is left of a vector beyond the directions learnt is taken for nothing."""

    def _features(self, vectors: Any, lengths: Float64) -> Any:
        features = super()._features(vectors, lengths)
        if self._prefix is not None:
            features[:, -1] = 0
        return features


class FeaturesOfBefore(ExactVectors):
    """Vectors held keep their features when directions are learnt again."""

    def _learn(self, arrivals: int) -> None:
        before = self._prefix
        super()._learn(arrivals)
        if before is not None and self._prefix is not None and before is not self._prefix:
            features = self._store.column("features")
            features[: len(features) // 2] = 0


class NumbersVectorsAnew(ExactVectors):
    """A restored matcher numbers vectors from a byte."""

    def _load(self, state: Mapping[str, Array]) -> None:
        super()._load(state)
        self._seen = self._seen % 2**8


class AThousandValues(Max):
    """A window has at most the last thousand values."""

    def _over(self, items: Any, first: Int64, stop: Int64, times: Int64, at: Int64) -> Any:
        return super()._over(items, np.maximum(first, stop - 1000), stop, times, at)


class LosesLargestOfABatch(Max):
    """What does not fit into a buffer of 4096 rows is lost."""

    def _update(self, times: Int64, values: Any) -> None:
        super()._update(times[:4096], values[:4096])


def _all(role: str, **found: Sequence[type[Any]]) -> list[Mutant]:
    names = {"equal": EQUAL, "cut": CUT}
    return [(INFOS[role], cls, (names[name],)) for name, classes in found.items() for cls in classes]


MUTANTS: dict[str, list[Mutant]] = {
    "sketch": _all("sketch", equal=[ShortKeysWhenMany, HalfPrecisionCount], cut=[LargeBatchIsCut]),
    "object-ranker": _all(
        "object-ranker", equal=[LargeKIsCut, ManyStreamsShareABit, DriftsInTime], cut=[SortsLargeBatches]
    ),
    "pair-ranker": _all("pair-ranker", equal=[SizesInAByte, NumbersIn16Bits], cut=[RestoresOneSide]),
    "window": _all("window", equal=[OneTooManyWhenLong, NormalWhenLarge], cut=[LosesOneOfManyTuples]),
    "matcher": _all("matcher", equal=[SearchesTheLastThousand, AnswersSomeProbes], cut=[LosesTheLastOfMany]),
    "workload-ranker": _all("workload-ranker", equal=[ThirtyTwoQueries, TwinIsForgotten], cut=[RestoresSingleFloats]),
    "total-ranker": _all("total-ranker", equal=[AnswersAThousand, ShortWeights], cut=[LosesARowOfMany]),
    "set-matcher": _all("set-matcher", equal=[ForgetsWhenMany, PrefixOfAByte], cut=[NumbersAnew]),
    "key-counter": _all("key-counter", equal=[BoundsOfAByte], cut=[LosesKeysOfABatch]),
    "key-total": _all("key-total", equal=[ValuesOfAByte], cut=[LosesValuesOfABatch]),
    "vector-matcher": _all("vector-matcher", equal=[NoRest, FeaturesOfBefore], cut=[NumbersVectorsAnew]),
    "row-aggregate": _all("row-aggregate", equal=[AThousandValues], cut=[LosesLargestOfABatch]),
}
