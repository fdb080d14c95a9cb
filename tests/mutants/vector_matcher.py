"""Broken vector matchers, one bug each, beside the correct ones they are made from: the definition and the default."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from attrs import define, evolve, field
from skyband import BackendInfo
from skyband.arrays import Array, Float64, Int8, Int64
from skyband.registry import installed
from skyband.roles.sharding import BUILD, PROBE
from skyband_setjoin.set_matcher import Matches
from skyband_specs.faults import Mutant, faulty
from skyband_vectors.conformance.oracle import similarities
from skyband_vectors.matching.exact import Exact
from skyband_vectors.matching.projections import Projections
from skyband_vectors.role import Float32, VectorMatcher

PAPER = "the definition"
Held = tuple[int, int, int, Any]
"""Number, time, side and entries of a vector in the window."""


@define(eq=False)
class Reference(VectorMatcher):
    """The definition: each vector is compared with all that are held."""

    name: ClassVar[str] = "reference"

    _held: list[Held] = field(factory=list, init=False)

    def _update(self, times: Int64, vectors: Float32, sides: Int8, parts: Int8) -> Matches:
        told = []
        for row, time in enumerate(times.tolist()):
            new = (self._seen + row, time, int(sides[row]), np.array(vectors[row], np.float64))
            self.expire(time + (self.by == "rows"))
            found = self.found(new) if self.meets(int(parts[row])) else []
            told.append(found if self.matches == "all" else sorted(found, key=self.rank)[: int(self.matches)])
            if self.is_kept(int(parts[row])) and self.stays(found):
                self._held.append(new)
        return self.flat(told)

    def flat(self, told: list[list[tuple[int, float]]]) -> Matches:
        together = [match for found in told for match in found]
        cuts = np.cumsum([0, *map(len, told)], dtype=np.int64)
        columns = (np.array([match[i] for match in together], kind) for i, kind in ((0, np.int64), (1, np.float64)))
        return cuts, *columns  # type: ignore[return-value]

    def meets(self, part: int) -> bool:
        return bool(part & PROBE)

    def is_kept(self, part: int) -> bool:
        return bool(part & BUILD)

    def stays(self, found: list[tuple[int, float]]) -> bool:
        return not (self.keep == "first" and found)

    def pairs(self, old: Held, new: Held) -> bool:
        return self.sides == 1 or old[2] != new[2]

    def found(self, new: Held) -> list[tuple[int, float]]:
        others = [old for old in self._held if self.pairs(old, new)]
        if not others:
            return []
        values = self.score(new[3], np.array([old[3] for old in others]))
        return [(old[0], value) for old, value in zip(others, values.tolist(), strict=True) if self.near(value)]

    def score(self, vector: Float64, others: Float64) -> Float64:
        return similarities(self.similarity, vector, others)

    def near(self, value: float) -> bool:
        return self.threshold is None or value >= self.threshold

    def rank(self, match: tuple[int, float]) -> Any:
        return -match[1], match[0]

    def _advance(self, now: int) -> None:
        self.expire(now)

    def expire(self, now: int) -> None:
        self._held = [held for held in self._held if self.valid(held[1], now)]

    def valid(self, time: int, now: int) -> bool:
        return time >= now - self.window

    def __len__(self) -> int:
        return len(self._held)

    @property
    def nbytes(self) -> int:
        return len(self._held) * (32 + 8 * self.dimensions)

    def _state(self) -> dict[str, Array]:
        entries = np.array([held[3] for held in self._held], np.float64).reshape(-1)
        return {
            "clock": np.array([self._seen, *([] if self._now is None else [self._now])], np.int64),
            "held": np.array([value for held in self._held for value in held[:3]], np.int64),
            "entries": entries,
        }

    def _load(self, state: Mapping[str, Array]) -> None:
        self._seen, *now = state["clock"].tolist()
        self._now = now[0] if now else None
        rows, entries = state["held"].reshape(-1, 3).tolist(), state["entries"].reshape(-1, self.dimensions)
        self._held = [(*row, np.array(vector)) for row, vector in zip(rows, entries, strict=True)]


class EndsEarly(Reference):
    """A vector is gone when it is exactly W old."""

    def valid(self, time: int, now: int) -> bool:
        return time > now - self.window


class EndsLate(Reference):
    """A vector is valid until it is more than W + 1 old."""

    def valid(self, time: int, now: int) -> bool:
        return time >= now - self.window - 1


class OverflowingWindow(Reference):
    """time + W is computed in 64 bits."""

    def valid(self, time: int, now: int) -> bool:
        return (time + self.window + 2**63) % 2**64 - 2**63 >= now


class MoreThanTheThreshold(Reference):
    """What is exactly as similar as the threshold does not match."""

    def near(self, value: float) -> bool:
        return self.threshold is None or value > self.threshold


class NearTheThreshold(Reference):
    """What is a trillionth less similar than the threshold will do."""

    def near(self, value: float) -> bool:
        return self.threshold is None or value >= self.threshold - 1e-12


class AddsInOrder(Reference):
    """Products are added one by one, not in eight lanes."""

    def score(self, vector: Float64, others: Float64) -> Float64:
        def inner(x: Float64, y: Float64) -> Float64:
            total = np.zeros(len(y))
            for i in range(self.dimensions):
                total += (x * y)[:, i]
            return total

        product, square, squares = inner(vector, others), inner(vector, vector[np.newaxis]), inner(others, others)
        if self.similarity == "dot":
            return product
        if self.similarity == "cosine":
            return np.minimum(1.0, product / np.sqrt(square * squares))
        return 0.0 - np.sqrt(np.maximum(0.0, (square + squares) - 2.0 * product))


class TwoRoots(Reference):
    """The cosine divides by a root of each square, one after the other."""

    def score(self, vector: Float64, others: Float64) -> Float64:
        if self.similarity != "cosine":
            return super().score(vector, others)
        product = similarities("dot", vector, others)
        square = similarities("dot", vector, vector[np.newaxis])
        squares = np.array([similarities("dot", other, other[np.newaxis])[0] for other in others])
        return product / np.sqrt(square) / np.sqrt(squares)


class SingleFloats(Reference):
    """Similarities are kept in single precision."""

    def score(self, vector: Float64, others: Float64) -> Float64:
        return super().score(vector, others).astype(np.float32).astype(np.float64)


class ShortRange(Reference):
    """Entries too small for half precision are zero."""

    def score(self, vector: Float64, others: Float64) -> Float64:
        some = np.where(np.abs(others) < 1e-20, 0.0, others)
        with np.errstate(all="ignore"):
            return np.nan_to_num(super().score(np.where(np.abs(vector) < 1e-20, 0.0, vector), some))


class KeepsDoubles(Reference):
    """Entries are not rounded to float32."""

    def _columns(self, times: Any, vectors: Any, sides: Any, parts: Any) -> Any:
        moments, entries, *rest = super()._columns(times, vectors, sides, parts)
        return moments, np.array(vectors, np.float64).reshape(entries.shape), *rest


class LaterWinsTies(Reference):
    """Of those equally similar the last is told."""

    def rank(self, match: tuple[int, float]) -> Any:
        return -match[1], -match[0]


class IgnoresSides(Reference):
    """Matches within a stream count where there are two."""

    def pairs(self, old: Held, new: Held) -> bool:
        return True


class MeetsAll(Reference):
    """Vectors meet those before them whatever their part is."""

    def meets(self, part: int) -> bool:
        return True


class KeepsAll(Reference):
    """Vectors are kept whatever their part is."""

    def is_kept(self, part: int) -> bool:
        return True


class KeepsDropped(Reference):
    """A vector that is dropped drops others."""

    def stays(self, found: list[tuple[int, float]]) -> bool:
        return True


class DropsTheKept(Reference):
    """keep = "first" keeps the last: a match takes the place of what it matches."""

    def stays(self, found: list[tuple[int, float]]) -> bool:
        if self.keep == "first":
            numbers = {number for number, _ in found}
            self._held = [held for held in self._held if held[0] not in numbers]
        return True


class TakesAnything(Reference):
    """Parameters are not looked at."""

    def __attrs_post_init__(self) -> None:
        return


class LosesRowsOfABatch(Reference):
    """What does not fit into a buffer of 90 rows is not held."""

    def _update(self, times: Int64, vectors: Float32, sides: Int8, parts: Int8) -> Matches:
        answer = super()._update(times, vectors, sides, parts)
        self._held = [held for held in self._held if held[0] < self._seen + 90]
        return answer


class NumbersOnceMore(Reference):
    """A restored matcher numbers what it holds without gaps."""

    def _load(self, state: Mapping[str, Array]) -> None:
        super()._load(state)
        first = self._seen - len(self._held)
        self._held = [(first + place, *held[1:]) for place, held in enumerate(self._held)]


class WritesOverAnswers(Reference):
    """The next answer is written over the last."""

    def flat(self, told: list[list[tuple[int, float]]]) -> Matches:
        cuts, earlier, similarity = super().flat(told)
        if not hasattr(self, "_buffer"):
            self._buffer = np.zeros(200_000)
        self._buffer[: len(similarity)] = similarity
        return cuts, earlier, self._buffer[: len(similarity)]


class TellsTheLastFirst(Reference):
    """Together, the matchers' answers come in the opposite order."""

    @classmethod
    def update_together(cls, matchers, times, vectors, sides=None, *, spans):
        return super().update_together(matchers[::-1], times, vectors, sides, spans=np.asarray(spans)[::-1])


@define(eq=False)
class Sampled(Reference):
    """Bounded: it misses a match with a declared probability, by the number of the earlier vector."""

    name: ClassVar[str] = "sampled"

    recall: float = field(default=0.95, kw_only=True)
    seed: int = field(default=0, kw_only=True)

    def missed(self) -> float:
        return 1 - self.recall

    def found(self, new: Held) -> list[tuple[int, float]]:
        numbers = {held[0] for held in self._held if (held[3] == new[3]).all()}
        return [match for match in super().found(new) if match[0] in numbers or self.chance(match[0]) >= self.missed()]

    def chance(self, number: int) -> float:
        return float(math.fmod((number + 1) * (self.seed + 1) * math.sqrt(2), 1))


class MissesMore(Sampled):
    """It misses twice what it declares."""

    def missed(self) -> float:
        return 2 * (1 - self.recall)


class MissesEqualVectors(Sampled):
    """Even an equal vector may be missed."""

    def found(self, new: Held) -> list[tuple[int, float]]:
        return [match for match in Reference.found(self, new) if self.chance(match[0]) >= self.missed()]


class TellsCandidates(Sampled):
    """What looks like a match is reported without a second look."""

    def near(self, value: float) -> bool:
        return self.threshold is None or value >= self.threshold - 0.2


class TellsProducts(Sampled):
    """The similarity reported is a product of single floats."""

    def score(self, vector: Float64, others: Float64) -> Float64:
        return super().score(vector, others).astype(np.float32).astype(np.float64)


class TheFirstFewFound(Sampled):
    """The search ends with the number of matches asked for."""

    def rank(self, match: tuple[int, float]) -> Any:
        return match[0]


class WiderBands(Projections):
    """Each band has four signs more than it should."""

    @property
    def _shape(self) -> tuple[int, int]:
        bands, signs = super()._shape
        return bands, signs + 4


class TrustsProductsInBands(Projections):
    """The same where bands find candidates."""

    def _product_margin(self) -> float:
        return 1e-12


class ForgetsABand(Projections):
    """Rows are looked up in every third band only."""

    def _tags(self, vectors: Float32, squares: Array) -> Array:
        tags = super()._tags(vectors, squares)
        tags[:, len(tags[0]) // 3 :] = np.arange(len(tags))[:, np.newaxis] + self._slot
        return tags


class NoMargin(Exact):
    """Products are taken for cosines, without a margin."""

    def _margin(self, features: int) -> float:
        return 0.0


class TrustsProducts(Exact):
    """A float32 product of all entries that is below the threshold rules a match out, without a margin."""

    def _product_margin(self) -> float:
        return 1e-12


class WideOfTheMark(Exact):
    """A product above the threshold is a match, and rounding below it is none."""

    def _margin(self, features: int) -> float:
        return -1e-6


class HalfTheRest(Exact):
    """What is left of a vector is bounded by half of its length."""

    def _features(self, vectors: Float32, lengths: Float64) -> Float32:
        features = super()._features(vectors, lengths)
        if self._prefix is not None:
            features[:, -1] *= 0.5
        return features


class CrookedDirections(Exact):
    """The directions learnt are longer than 1."""

    def _learn(self, arrivals: int) -> None:
        before = self._prefix
        super()._learn(arrivals)
        if self._prefix is not None and self._prefix is not before:
            self._prefix = self._prefix * np.linspace(0.5, 0.9, len(self._prefix))[:, np.newaxis]
            features = self._features(self._store.column("entries"), self._store.column("lengths"))
            features[:, -1] = 0.3
            self._store.replace_features(features)


INFO = BackendInfo(
    role="vector-matcher",
    name="reference",
    factory="tests.mutants.vector_matcher:Reference",
    summary="the definition",
    guarantee="exact",
    reference=PAPER,
    lacks={"merge": "for the tests", "out-of-order": "for the tests"},
)
BOUNDED = evolve(INFO, name="sampled", factory="tests.mutants.vector_matcher:Sampled", guarantee="bounded", error=None)
PROJECTIONS = installed().bind("vector-matcher", "projections", None).info
EXACT = installed().bind("vector-matcher", "exact", None).info
REFERENCES = [(INFO, Reference), (BOUNDED, Sampled)]

TOLD = ("every_arrival_reports_its_matches",)
ORACLE = ("tiny_streams_equal_the_oracle", "seeded_streams_equal_the_oracle", "every_moment_equals_the_oracle")
LAWS = ("no_two_kept_vectors_match_and_every_dropped_one_matched_a_kept_one",)
AT = "a_similarity_equal_to_the_threshold_matches"
ROUNDED = "pairs_at_the_threshold_survive_rounding_where_few_directions_hold_most"
BELOW = "pairs_just_below_the_threshold_do_not_hide_those_at_it"
APART = "vectors_a_window_apart_match_and_older_do_not"
OFTEN = "pairs_at_the_threshold_are_reported_as_often_as_declared"
TRUE = "every_reported_match_is_true"
CUTS = "order_of_batches_makes_no_difference"

MUTANTS: list[Mutant] = [
    (INFO, WritesOverAnswers, ("answers_are_the_callers",)),
    (INFO, TellsTheLastFirst, ("several_together_answer_as_each",)),
    *faulty(INFO, Reference, globals()),
    (INFO, EndsEarly, (APART, *TOLD, *ORACLE[1:])),
    (INFO, EndsLate, ("silence_only_expires_vectors", APART, *TOLD)),
    (INFO, OverflowingWindow, ("ends_of_time",)),
    (INFO, MoreThanTheThreshold, (AT, *TOLD, *ORACLE)),
    (INFO, NearTheThreshold, (AT,)),
    (INFO, AddsInOrder, (AT, BELOW)),
    (INFO, TwoRoots, ("scaled_copies_have_cosine_1",)),
    (INFO, SingleFloats, (AT, *TOLD)),
    (INFO, ShortRange, ("odd_streams_equal_the_oracle",)),
    (INFO, KeepsDoubles, ("entries_of_other_types_are_rounded",)),
    (INFO, LaterWinsTies, ("a_flood_of_equal_vectors_reports_the_earliest", *TOLD)),
    (INFO, IgnoresSides, (*ORACLE[1:], *TOLD)),
    (INFO, MeetsAll, ("vectors_are_compared_by_their_parts",)),
    (INFO, KeepsAll, ("vectors_are_compared_by_their_parts", "the_cells_of_a_matrix_find_every_match_once")),
    (INFO, KeepsDropped, (*LAWS, "after_a_kept_vector_expires_the_next_is_kept", *TOLD)),
    (INFO, DropsTheKept, ("after_a_kept_vector_expires_the_next_is_kept", *LAWS)),
    (INFO, TakesAnything, ("wrong_parameters_are_named",)),
    (INFO, LosesRowsOfABatch, (CUTS,)),
    (INFO, NumbersOnceMore, ("a_snapshot_at_any_row_loses_no_match",)),
    (EXACT, NoMargin, (BELOW, AT)),
    (EXACT, TrustsProducts, (ROUNDED,)),
    (EXACT, WideOfTheMark, (BELOW, *TOLD)),
    (EXACT, HalfTheRest, (CUTS,)),
    (EXACT, CrookedDirections, (CUTS,)),
    (BOUNDED, MissesMore, (OFTEN,)),
    (BOUNDED, MissesEqualVectors, (TRUE,)),
    (BOUNDED, TellsCandidates, (TRUE,)),
    (BOUNDED, TellsProducts, (TRUE,)),
    (BOUNDED, TheFirstFewFound, ("the_most_similar_of_those_found_are_reported",)),
    (PROJECTIONS, WiderBands, (OFTEN,)),
    (PROJECTIONS, TrustsProductsInBands, (OFTEN,)),
    (PROJECTIONS, ForgetsABand, (OFTEN,)),
]
