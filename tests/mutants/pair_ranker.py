"""Broken pair rankers, one bug each, beside the correct one they are made from."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from attrs import define, field
from skyband import BackendInfo, ConfigError
from skyband.arrays import Array, Float64, Int8, Int64
from skyband.errors import Problem
from skyband.roles import PairRanker
from skyband.roles.sharding import BUILD, PROBE
from skyband_specs.faults import Mutant, faulty
from skyband_specs.pair_ranker.oracle import SIMILARITIES

PAPER = "SWOOP: Top-k Similarity Joins over Set Streams"
_SMALL = [(o, n, m) for n in range(1, 5) for m in range(1, 5) for o in range(1, min(n, m) + 1)]


@define(eq=False)
class Reference(PairRanker):
    """The definition: the valid sets, compared with each other for each answer."""

    name: ClassVar[str] = "reference"

    _rows: list[tuple[int, int, int, int, frozenset[int]]] = field(factory=list, init=False)
    """(number, time, side, part, tokens), oldest first."""

    def __attrs_post_init__(self) -> None:
        if callable(self.similarity):
            self.check(self.similarity)

    def check(self, function: Any) -> None:
        for o, n, m in _SMALL:
            value = function(o, n, m)
            fine = value == function(o, m, n) and (o == min(n, m) or function(o + 1, n, m) >= value)
            fine = fine and function(o, n, m + 1) <= value and (o != m or m >= n or function(o + 1, n, m + 1) >= value)
            if not fine:
                raise ConfigError(Problem("similarity", f"is not well-behaved at {(o, n, m)}"))

    def _update(self, times: Int64, offsets: Int64, tokens: Int64, sides: Int8, parts: Int8) -> None:
        for row, time in enumerate(times.tolist()):
            chosen = tokens[offsets[row] : offsets[row + 1]].tolist()
            self.take(self._seen + row, time, int(sides[row]), int(parts[row]), chosen)
        self.expire(self._reached(times))

    def take(self, number: int, time: int, side: int, part: int, tokens: list[int]) -> None:
        self._rows.append((number, time, side, part, frozenset(tokens)))

    def _advance(self, now: int) -> None:
        self.expire(now)

    def expire(self, now: int) -> None:
        self._rows = [row for row in self._rows if self.valid(row[1], now)]

    def valid(self, time: int, now: int) -> bool:
        return time >= now - self.window

    def score(self, a: frozenset[int], b: frozenset[int]) -> float:
        function = SIMILARITIES[self.similarity] if isinstance(self.similarity, str) else self.similarity
        return float(function(len(a & b), len(a), len(b)))

    def meets(self, older: Any, newer: Any) -> bool:
        return bool(older[4] & newer[4]) and (self.sides == 1 or older[2] != newer[2])

    def shares(self, older: Any, newer: Any) -> bool:
        return bool(older[3] & BUILD and newer[3] & PROBE)

    def pairs(self) -> list[tuple[float, int, int]]:
        found = []
        for j, newer in enumerate(self._rows):
            for older in self._rows[:j]:
                if self.shares(older, newer) and self.meets(older, newer):
                    ends = (newer[0], older[0]) if self.sides == 2 and older[2] == 1 else (older[0], newer[0])
                    found.append((self.score(older[4], newer[4]), *ends))
        return sorted(found, key=self.rank)

    def rank(self, pair: tuple[float, int, int]) -> Any:
        return (-pair[0], pair[1], pair[2])

    def top(self) -> tuple[Int64, Int64, Float64]:
        best = self.pairs()[: self.k]
        left, right = (np.array([pair[i] for pair in best], np.int64) for i in (1, 2))
        return left, right, np.array([pair[0] for pair in best], np.float64)

    def __len__(self) -> int:
        return len(self.pairs())

    @property
    def nbytes(self) -> int:
        return sum(32 + 8 * len(row[4]) for row in self._rows)

    def _state(self) -> dict[str, Array]:
        tokens = [sorted(row[4]) for row in self._rows]
        return {
            "clock": np.array([self._seen, *([] if self._now is None else [self._now])], np.int64),
            "rows": np.array([value for row in self._rows for value in row[:4]], np.int64),
            "sizes": np.array([len(entry) for entry in tokens], np.int64),
            "tokens": np.array([token for entry in tokens for token in entry], np.int64),
        }

    def _load(self, state: Mapping[str, Array]) -> None:
        self._seen, *now = state["clock"].tolist()
        self._now = now[0] if now else None
        cuts = np.cumsum([0, *state["sizes"].tolist()])
        tokens = [frozenset(state["tokens"][a:b].tolist()) for a, b in pairwise(cuts.tolist())]
        rows = state["rows"].reshape(-1, 4).tolist()
        self._rows = [(*row, entry) for row, entry in zip(rows, tokens, strict=True)]


class Youngest(Reference):
    """A pair ends with its younger set: the older is kept while a partner is valid."""

    def expire(self, now: int) -> None:
        super().expire(now - 1)


class EndsEarly(Reference):
    """A set is gone when it is exactly W old."""

    def valid(self, time: int, now: int) -> bool:
        return time > now - self.window


class TiesToTheLater(Reference):
    """Of two pairs equally similar, the one with the larger numbers comes first."""

    def rank(self, pair: tuple[float, int, int]) -> Any:
        return (-pair[0], -pair[1], -pair[2])


class CountsRepeats(Reference):
    """A token that is repeated counts as often as it comes."""

    def take(self, number: int, time: int, side: int, part: int, tokens: list[int]) -> None:
        seen: dict[int, int] = {}
        marked = []
        for token in tokens:
            seen[token] = seen.get(token, 0) + 1
            marked.append(token if seen[token] == 1 else hash((token, seen[token])))
        super().take(number, time, side, part, marked)


class PairsWithNothing(Reference):
    """Sets that share no token are pairs, too."""

    def meets(self, older: Any, newer: Any) -> bool:
        return self.sides == 1 or older[2] != newer[2]


class IgnoresSides(Reference):
    """Pairs within a stream count where there are two."""

    def meets(self, older: Any, newer: Any) -> bool:
        return bool(older[4] & newer[4])


class MeetsAll(Reference):
    """Sets meet those before them whatever their part is."""

    def shares(self, older: Any, newer: Any) -> bool:
        return bool(older[3] & BUILD)


class KeepsAll(Reference):
    """Sets are kept whatever their part is."""

    def shares(self, older: Any, newer: Any) -> bool:
        return bool(newer[3] & PROBE)


class ForgetsParts(Reference):
    """A snapshot does not hold the parts."""

    def _load(self, state: Mapping[str, Array]) -> None:
        super()._load(state)
        self._rows = [(*row[:3], BUILD | PROBE, row[4]) for row in self._rows]


class ShortTokens(Reference):
    """Tokens are kept in 32 bits."""

    def take(self, number: int, time: int, side: int, part: int, tokens: list[int]) -> None:
        super().take(number, time, side, part, [token & 0xFFFFFFFF for token in tokens])


class KeepsOnlyTheTop(Reference):
    """Only the k best pairs of each moment are kept: when one ends, nothing comes up."""

    def _advance(self, now: int) -> None:
        super()._advance(now)
        kept = {number for pair in self.pairs()[: self.k] for number in pair[1:]}
        self._rows = [row for row in self._rows if row[0] in kept]


class AnswersLate(Reference):
    """An answer on the way through a batch sees the rows behind it."""

    def _answers(self, times: Int64, *rows: Any) -> Any:
        *others, stops = rows
        return super()._answers(times, *others, np.minimum(stops + 1, len(times)))


class OverflowingWindow(Reference):
    """time + W is computed in 64 bits."""

    def valid(self, time: int, now: int) -> bool:
        return (time + self.window + 2**63) % 2**64 - 2**63 >= now


class SingleFloats(Reference):
    """Similarities are kept in single precision."""

    def score(self, a: frozenset[int], b: frozenset[int]) -> float:
        return float(np.float32(super().score(a, b)))


class SmallSignature(Reference):
    """Sets are compared by 64 bits of theirs once they are large."""

    def score(self, a: frozenset[int], b: frozenset[int]) -> float:
        if len(a) > 8 and len(b) > 8:
            return super().score(frozenset(t % 64 for t in a), frozenset(t % 64 for t in b))
        return super().score(a, b)


class OwnIsJaccard(Reference):
    """A function of the user's is checked and then not used."""

    def score(self, a: frozenset[int], b: frozenset[int]) -> float:
        function = SIMILARITIES["jaccard"] if callable(self.similarity) else SIMILARITIES[self.similarity]
        return float(function(len(a & b), len(a), len(b)))


class TakesAnyFunction(Reference):
    """Functions are not looked at."""

    def check(self, function: Any) -> None:
        return


class SkipsTheMissingProperty(Reference):
    """The property that definition 4.1 leaves out is not tried."""

    def check(self, function: Any) -> None:
        if function(1, 1, 1) != 2:
            super().check(function)


class ForgetsRetained(Reference):
    """Fewer pairs are retained than can be an answer."""

    def __len__(self) -> int:
        return min(super().__len__(), self.k // 2)


class KeepsEveryToken(Reference):
    """Each token ever seen has a number for good."""

    _tokens: ClassVar[dict[int, set[int]]] = {}

    def take(self, number: int, time: int, side: int, part: int, tokens: list[int]) -> None:
        super().take(number, time, side, part, tokens)
        self._tokens.setdefault(id(self), set()).update(tokens)

    @property
    def nbytes(self) -> int:
        return super().nbytes + 16 * len(self._tokens.get(id(self), ()))


INFO = BackendInfo(
    role="pair-ranker",
    name="reference",
    factory="tests.mutants.pair_ranker:Reference",
    summary="the definition",
    guarantee="exact",
    reference=PAPER,
    lacks={"merge": "for the tests", "out-of-order": "for the tests"},
)
REFERENCES = [(INFO, Reference)]

ORACLE = ("tiny_streams_equal_the_oracle", "seeded_streams_equal_the_oracle", "every_moment_equals_the_oracle")
SHARED = ("shared_pairs_equal_the_oracle",)


class WritesOverAnswers(Reference):
    """The next answer is written over the last."""

    def top(self) -> Any:
        left, right, similarity = super().top()
        if not hasattr(self, "_buffer"):
            self._buffer = np.zeros(20_000)
        self._buffer[: len(similarity)] = similarity
        return left, right, self._buffer[: len(similarity)]


MUTANTS: list[Mutant] = [
    (INFO, ShortTokens, ("odd_streams_equal_the_oracle",)),
    (INFO, WritesOverAnswers, ("answers_are_the_callers",)),
    *faulty(INFO, Reference, globals()),
    (INFO, Youngest, ("silence_equals_the_oracle", *ORACLE[1:])),
    (INFO, EndsEarly, ("silence_equals_the_oracle", *ORACLE[1:])),
    (INFO, TiesToTheLater, ORACLE),
    (INFO, CountsRepeats, ("order_and_repeats_of_tokens_do_not_matter", *ORACLE)),
    (INFO, PairsWithNothing, ORACLE),
    (INFO, IgnoresSides, (*ORACLE, "zipf_streams_equal_the_oracle")),
    (INFO, MeetsAll, SHARED),
    (INFO, KeepsAll, SHARED),
    (INFO, ForgetsParts, SHARED),
    (INFO, ShortTokens, ("names_of_tokens_do_not_matter",)),
    (INFO, KeepsOnlyTheTop, ("silence_equals_the_oracle",)),
    (INFO, AnswersLate, ("answers_are_update_and_top",)),
    (INFO, OverflowingWindow, ("ends_of_time",)),
    (INFO, SingleFloats, ("seeded_streams_equal_the_oracle", "zipf_streams_equal_the_oracle")),
    (INFO, SmallSignature, ("zipf_streams_equal_the_oracle",)),
    (INFO, OwnIsJaccard, ("an_own_function_equals_the_similarity_it_computes",)),
    (INFO, TakesAnyFunction, ("wrong_parameters_are_named",)),
    (INFO, SkipsTheMissingProperty, ("wrong_parameters_are_named",)),
    (INFO, ForgetsRetained, ("no_more_than_can_be_an_answer_is_retained",)),
    (INFO, KeepsEveryToken, ("steady_stream_holds_steady_memory",)),
]
