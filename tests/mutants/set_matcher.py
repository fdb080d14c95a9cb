"""Broken set matchers, one bug each, beside the correct ones they are made from: the definition and a prefix index."""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from attrs import define, field
from skyband import BackendInfo
from skyband.arrays import Array, Int8, Int64
from skyband.roles.sharding import BUILD, PROBE
from skyband_setjoin.conformance.oracle import SIMILARITIES
from skyband_setjoin.set_matcher import Matches, SetMatcher
from skyband_specs.faults import Mutant, faulty

PAPER = "PPJoin, WWW 2008"
ROUND = 64
Held = tuple[int, int, int, frozenset[int]]
"""Number, time, side and tokens of a set in the window."""


@define(eq=False)
class Reference(SetMatcher):
    """The definition: each set is compared with all that are held."""

    name: ClassVar[str] = "reference"

    _held: list[Held] = field(factory=list, init=False)

    def _update(self, times: Int64, offsets: Int64, tokens: Int64, sides: Int8, parts: Int8) -> Matches:
        told = []
        for row, time in enumerate(times.tolist()):
            chosen = self.distinct(tokens[offsets[row] : offsets[row + 1]].tolist())
            new = (self._seen + row, time, int(sides[row]), chosen)
            self.expire(time + (self.by == "rows"))
            found = self.among(self.tell(self.found(new))) if self.meets(int(parts[row])) else []
            told.append(found)
            if self.is_kept(int(parts[row])) and self.stays(found):
                self.hold(new)
        return self.flat(told)

    def flat(self, told: list[list[tuple[int, float]]]) -> Matches:
        together = [match for found in told for match in found]
        cuts = np.cumsum([0, *map(len, told)], dtype=np.int64)
        columns = (np.array([match[i] for match in together], kind) for i, kind in ((0, np.int64), (1, np.float64)))
        return cuts, *columns  # type: ignore[return-value]

    def distinct(self, tokens: list[int]) -> frozenset[int]:
        return frozenset(tokens)

    def meets(self, part: int) -> bool:
        return bool(part & PROBE)

    def is_kept(self, part: int) -> bool:
        return bool(part & BUILD)

    def stays(self, found: list[tuple[int, float]]) -> bool:
        return not (self.keep == "first" and found)

    def hold(self, new: Held) -> None:
        self._held.append(new)

    def among(self, found: list[tuple[int, float]]) -> list[tuple[int, float]]:
        return found

    def found(self, new: Held) -> list[tuple[int, float]]:
        pairs = [(old, self.score(old[3], new[3])) for old in self.candidates(new) if self.pairs(old, new)]
        return [(old[0], score) for old, score in pairs if score >= self.threshold]

    def candidates(self, new: Held) -> list[Held]:
        return self._held

    def pairs(self, old: Held, new: Held) -> bool:
        return bool(old[3] & new[3]) and (self.sides == 1 or old[2] != new[2])

    def function(self) -> Any:
        return SIMILARITIES[self.similarity] if isinstance(self.similarity, str) else self.similarity

    def score(self, old: frozenset[int], new: frozenset[int]) -> float:
        return float(self.function()(len(old & new), len(old), len(new))) if old & new else -math.inf

    def tell(self, found: list[tuple[int, float]]) -> list[tuple[int, float]]:
        return found if self.matches == "all" else sorted(found, key=self.rank)[: int(self.matches)]

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
        return sum(32 + 8 * len(held[3]) for held in self._held)

    def _state(self) -> dict[str, Array]:
        tokens = [sorted(held[3]) for held in self._held]
        return {
            "clock": np.array([self._seen, *([] if self._now is None else [self._now])], np.int64),
            "held": np.array([value for held in self._held for value in held[:3]], np.int64),
            "sizes": np.array([len(entry) for entry in tokens], np.int64),
            "tokens": np.array([token for entry in tokens for token in entry], np.int64),
        }

    def _load(self, state: Mapping[str, Array]) -> None:
        self._seen, *now = state["clock"].tolist()
        self._now = now[0] if now else None
        cuts = np.cumsum([0, *state["sizes"].tolist()])
        tokens = [frozenset(state["tokens"][a:b].tolist()) for a, b in pairwise(cuts.tolist())]
        self._held = [(*row, entry) for row, entry in zip(state["held"].reshape(-1, 3).tolist(), tokens, strict=True)]


class EndsEarly(Reference):
    """A set is gone when it is exactly W old."""

    def valid(self, time: int, now: int) -> bool:
        return time > now - self.window


class EndsLate(Reference):
    """A set is valid until it is more than W + 1 old."""

    def valid(self, time: int, now: int) -> bool:
        return time >= now - self.window - 1


class OverflowingWindow(Reference):
    """time + W is computed in 64 bits."""

    def valid(self, time: int, now: int) -> bool:
        return (time + self.window + 2**63) % 2**64 - 2**63 >= now


class MoreThanTheThreshold(Reference):
    """What is exactly as similar as the threshold is none."""

    def found(self, new: Held) -> list[tuple[int, float]]:
        return [match for match in super().found(new) if match[1] > self.threshold]


class NearTheThreshold(Reference):
    """What is a billionth less similar than the threshold will do."""

    def found(self, new: Held) -> list[tuple[int, float]]:
        pairs = [(old, self.score(old[3], new[3])) for old in self.candidates(new) if self.pairs(old, new)]
        return [(old[0], score) for old, score in pairs if score >= self.threshold - 1e-9]


class RoundsUp(Reference):
    """The least overlap is the threshold times a size, rounded up."""

    def pairs(self, old: Held, new: Held) -> bool:
        enough = 0 if self.similarity != "containment" else math.ceil(self.threshold * min(len(old[3]), len(new[3])))
        if self.similarity == "jaccard":
            enough = math.ceil(self.threshold * max(len(old[3]), len(new[3])))
        return super().pairs(old, new) and len(old[3] & new[3]) >= enough


class LaterWinsTies(Reference):
    """Of those equally similar the last is told."""

    def rank(self, match: tuple[int, float]) -> Any:
        return -match[1], -match[0]


class CountsRepeats(Reference):
    """A token that is repeated counts as often as it comes."""

    def distinct(self, tokens: list[int]) -> frozenset[int]:
        seen: Counter[int] = Counter()
        marked = []
        for token in tokens:
            seen[token] += 1
            marked.append(token if seen[token] == 1 else hash((token, seen[token])))
        return frozenset(marked)


class MatchesNothing(Reference):
    """Two empty sets are equal."""

    def score(self, old: frozenset[int], new: frozenset[int]) -> float:
        return super().score(old, new) if old or new else 1.0

    def pairs(self, old: Held, new: Held) -> bool:
        return super().pairs(old, new) or not (old[3] or new[3])


class SkipsTheEmpty(Reference):
    """An empty set gets no number."""

    def _update(self, times: Int64, offsets: Int64, tokens: Int64, sides: Int8, parts: Int8) -> Matches:
        answer = super()._update(times, offsets, tokens, sides, parts)
        self._seen -= int((np.diff(offsets) == 0).sum())
        return answer


class IgnoresSides(Reference):
    """Matches within a stream count where there are two."""

    def pairs(self, old: Held, new: Held) -> bool:
        return bool(old[3] & new[3])


class MeetsAll(Reference):
    """Sets meet those before them whatever their part is."""

    def meets(self, part: int) -> bool:
        return True


class KeepsAll(Reference):
    """Sets are kept whatever their part is."""

    def is_kept(self, part: int) -> bool:
        return True


class KeepsDropped(Reference):
    """A set that is dropped drops others."""

    def stays(self, found: list[tuple[int, float]]) -> bool:
        return True


class DropsTheKept(Reference):
    """keep = "first" keeps the last: a match takes the place of what it matches."""

    def stays(self, found: list[tuple[int, float]]) -> bool:
        if self.keep == "first":
            numbers = {number for number, _ in found}
            self._held = [held for held in self._held if held[0] not in numbers]
        return True


class ShortTokens(Reference):
    """Tokens are kept in 32 bits."""

    def distinct(self, tokens: list[int]) -> frozenset[int]:
        return frozenset(token & 0xFFFFFFFF for token in tokens)


class ShortSizes(Reference):
    """Sizes are kept in 16 bits."""

    def score(self, old: frozenset[int], new: frozenset[int]) -> float:
        common, n, m = len(old & new), len(old), len(new)
        return float(self.function()(common, min(n, 2**16 - 1), min(m, 2**16 - 1))) if common else -math.inf


class SingleFloats(Reference):
    """Similarities are kept in single precision."""

    def score(self, old: frozenset[int], new: frozenset[int]) -> float:
        return float(np.float32(super().score(old, new)))


class OwnIsJaccard(Reference):
    """A function of the user's is checked and then not used."""

    def function(self) -> Any:
        return SIMILARITIES["jaccard"] if callable(self.similarity) else super().function()


class TakesAnything(Reference):
    """Parameters are not looked at."""

    def __attrs_post_init__(self) -> None:
        return


class OnlyAFew(Reference):
    """At most 40 matches of a set are told."""

    def among(self, found: list[tuple[int, float]]) -> list[tuple[int, float]]:
        return found[:40]


class KeepsEveryToken(Reference):
    """Each token ever seen has a number for good."""

    _tokens: ClassVar[dict[int, set[int]]] = {}

    def hold(self, new: Held) -> None:
        super().hold(new)
        self._tokens.setdefault(id(self), set()).update(new[3])

    @property
    def nbytes(self) -> int:
        return super().nbytes + 16 * len(self._tokens.get(id(self), ()))


@cache
def _least(function: Any, threshold: float, n: int) -> int:
    """The least overlap with which any set matches one of n tokens."""
    return 1 + bisect_left(range(1, n + 1), True, key=lambda o: function(o, n, o) >= threshold)


@cache
def _need(function: Any, threshold: float, n: int, m: int) -> int:
    """The least overlap with which sets of n and m tokens match."""
    return 1 + bisect_left(range(1, min(n, m) + 1), True, key=lambda o: function(o, n, m) >= threshold)


@define(eq=False)
class PrefixIndex(Reference):
    """Lists of each set's rarest tokens, as the default has them, in an order that is learnt anew now and then."""

    name: ClassVar[str] = "prefix-index"

    _lists: dict[int, list[tuple[Held, int]]] = field(factory=dict, init=False)
    _level: dict[int, int] = field(factory=dict, init=False)
    _round: int = field(default=0, init=False)

    def least(self, n: int) -> int:
        return _least(self.function(), self.threshold, n)

    def need(self, n: int, m: int) -> int:
        return _need(self.function(), self.threshold, n, m)

    def in_order(self, tokens: frozenset[int]) -> list[int]:
        return sorted(tokens, key=lambda token: (self._level.get(token, 0), token))

    def prefix(self, tokens: frozenset[int]) -> list[int]:
        return self.in_order(tokens)[: len(tokens) - self.least(len(tokens)) + 1]

    def indexed(self, tokens: frozenset[int]) -> list[int]:
        return self.prefix(tokens)

    def signature(self, tokens: frozenset[int]) -> int:
        bits = 0
        for token in tokens:
            bits ^= 1 << token % 61
        return bits

    def room(self, n: int, i: int, m: int, j: int) -> int:
        return min(n - i, m - j)

    def candidates(self, new: Held) -> list[Held]:
        n, mine, found = len(new[3]), self.signature(new[3]), {}
        for i, token in enumerate(self.prefix(new[3])):
            for old, j in self.walked(token):
                m = len(old[3])
                need = self.need(n, m)
                if (mine ^ self.signature(old[3])).bit_count() <= n + m - 2 * need and self.room(n, i, m, j) >= need:
                    found[old[0]] = old
        return [found[number] for number in sorted(found)]

    def walked(self, token: int) -> list[tuple[Held, int]]:
        oldest = self._held[0][0] if self._held else math.inf
        entries = [entry for entry in self._lists.get(token, []) if entry[0][0] >= oldest]
        self._lists[token] = entries
        return entries

    def hold(self, new: Held) -> None:
        super().hold(new)
        self.enter(new)
        self._round += 1
        if self._round >= max(ROUND, 2 * len(self._held)):
            self.rebuild()

    def enter(self, new: Held) -> None:
        for place, token in enumerate(self.indexed(new[3])):
            self._lists.setdefault(token, []).append((new, place))

    def learn(self) -> None:
        self._level = dict(Counter(token for held in self._held for token in held[3]))
        self._round = 0

    def rebuild(self) -> None:
        self.learn()
        self._lists = {}
        for held in self._held:
            self.enter(held)

    def _load(self, state: Mapping[str, Array]) -> None:
        super()._load(state)
        self.rebuild()


class PrefixOneShort(PrefixIndex):
    """The prefix is one token shorter than it has to be."""

    def prefix(self, tokens: frozenset[int]) -> list[int]:
        whole = super().prefix(tokens)
        return whole[: max(1, len(whole) - 1)]


class MidPrefix(PrefixIndex):
    """The index holds what sets at least as long would need."""

    def indexed(self, tokens: frozenset[int]) -> list[int]:
        n = len(tokens)
        return self.in_order(tokens)[: max(0, n - self.need(n, n) + 1)]


class RelearnsOnly(PrefixIndex):
    """The order is learnt anew, and the index stays as it was."""

    def rebuild(self) -> None:
        self.learn()


class OrSignature(PrefixIndex):
    """Bits are or-ed for the repeats of a set and xor-ed for the rest: repeated tokens cancel each other."""

    def signature(self, tokens: frozenset[int]) -> int:
        bits = 0
        for token in tokens:
            bits = bits | 1 << token % 61 if token % 2 else bits ^ 1 << (token * token) % 61 ^ len(tokens) << 70
        return bits


class PlaceTooTight(PrefixIndex):
    """The bound by places is one too tight."""

    def room(self, n: int, i: int, m: int, j: int) -> int:
        return min(n - i, m - j) - 1


class CutsOneTooFar(PrefixIndex):
    """Cutting off old entries takes a live one with them."""

    def walked(self, token: int) -> list[tuple[Held, int]]:
        before = len(self._lists.get(token, []))
        entries = super().walked(token)
        return entries if len(entries) == before else entries[1:]


class ExpiredAsUnsigned(PrefixIndex):
    """Entries that are not walked stay, and what is expired counts as far ahead: it is met for ever."""

    def walked(self, token: int) -> list[tuple[Held, int]]:
        return self._lists.get(token, [])


class LevelsByBatch(PrefixIndex):
    """Tokens are counted a batch at a time, and the index is not told."""

    def _update(self, times: Int64, offsets: Int64, tokens: Int64, sides: Int8, parts: Int8) -> Matches:
        answer = super()._update(times, offsets, tokens, sides, parts)
        for token in tokens.tolist():
            self._level[token] = self._level.get(token, 0) + 1
        return answer


@define(eq=False)
class Sampled(Reference):
    """Bounded: it misses a match with a declared probability, by a hash of both sets."""

    name: ClassVar[str] = "sampled"

    recall: float = field(default=0.95, kw_only=True)
    seed: int = field(default=0, kw_only=True)

    def missed(self) -> float:
        return 1 - self.recall

    def among(self, found: list[tuple[int, float]]) -> list[tuple[int, float]]:
        return [match for match in found if match[1] == 1.0 or self.chance(match[0]) >= self.missed()]

    def chance(self, number: int) -> float:
        return float(np.random.default_rng([self.seed, abs(number)]).random())


class MissesMore(Sampled):
    """It misses three times what it declares."""

    def missed(self) -> float:
        return 3 * (1 - self.recall)


class MissesEqualSets(Sampled):
    """Even an equal set may be missed."""

    def among(self, found: list[tuple[int, float]]) -> list[tuple[int, float]]:
        return [match for match in found if self.chance(match[0]) >= self.missed()]


class TellsCandidates(Sampled):
    """What looks like a match is told without a second look."""

    def score(self, old: frozenset[int], new: frozenset[int]) -> float:
        exact = super().score(old, new)
        return exact if exact <= 0 or exact == 1 else min(1.0, exact + 0.05)


class WritesOverAnswers(Reference):
    """The next answer is written over the last."""

    def flat(self, told: list[list[tuple[int, float]]]) -> Matches:
        cuts, earlier, similarity = super().flat(told)
        if not hasattr(self, "_buffer"):
            self._buffer = np.zeros(200_000)
        self._buffer[: len(similarity)] = similarity
        return cuts, earlier, self._buffer[: len(similarity)]


class NumbersFromTheFirst(Reference):
    """Together with others, its sets are numbered as if it had seen as many as the first."""

    @classmethod
    def _update_together(cls, matchers, columns, spans):
        before = [one._seen for one in matchers]
        for one in matchers:
            one._seen = before[0]
        answer = super()._update_together(matchers, columns, spans)
        for one, number in zip(matchers, before, strict=True):
            one._seen = number
        return answer


LACKS = {"merge": "for the tests", "out-of-order": "for the tests"}


def info(name: str, guarantee: str, factory: str) -> BackendInfo:
    """What the plugin of a reference would say of it."""
    return BackendInfo(
        role="set-matcher",
        name=name,
        factory=f"tests.mutants.set_matcher:{factory}",
        summary="the definition",
        guarantee=guarantee,
        reference=PAPER,
        lacks=LACKS,
        error=None,
    )


INFO = info("reference", "exact", "Reference")
PREFIX = info("prefix-index", "exact", "PrefixIndex")
BOUNDED = info("sampled", "bounded", "Sampled")
REFERENCES = [(INFO, Reference), (PREFIX, PrefixIndex), (BOUNDED, Sampled)]

TOLD = ("every_arrival_reports_its_matches",)
ORACLE = ("tiny_streams_equal_the_oracle", "seeded_streams_equal_the_oracle", "every_moment_equals_the_oracle")
LAWS = ("no_two_kept_sets_match_and_every_dropped_one_matched_a_kept_one",)
SHARED = ("sets_are_compared_by_their_parts",)
WORDS = ("words_match_as_defined",)

MUTANTS: list[Mutant] = [
    (INFO, WritesOverAnswers, ("answers_are_the_callers",)),
    (INFO, NumbersFromTheFirst, ("several_together_answer_as_each",)),
    *faulty(INFO, Reference, globals()),
    (INFO, EndsEarly, ("sets_a_window_apart_match_and_older_do_not", *TOLD, *ORACLE[1:])),
    (INFO, EndsLate, ("silence_only_expires_sets", "sets_a_window_apart_match_and_older_do_not", *TOLD)),
    (INFO, OverflowingWindow, ("ends_of_time",)),
    (INFO, NearTheThreshold, ("a_similarity_equal_to_the_threshold_matches",)),
    (INFO, MoreThanTheThreshold, ("a_similarity_equal_to_the_threshold_matches", *TOLD)),
    (INFO, RoundsUp, ("a_similarity_equal_to_the_threshold_matches",)),
    (INFO, LaterWinsTies, ("a_flood_of_equal_sets_reports_the_earliest", *TOLD)),
    (INFO, CountsRepeats, ("order_and_repeats_of_tokens_do_not_matter", *ORACLE, *TOLD)),
    (INFO, MatchesNothing, (*ORACLE, *TOLD)),
    (INFO, SkipsTheEmpty, TOLD),
    (INFO, IgnoresSides, (*ORACLE, *WORDS)),
    (INFO, MeetsAll, SHARED),
    (INFO, KeepsAll, (*SHARED, "the_cells_of_a_matrix_find_every_match_once")),
    (INFO, KeepsDropped, (*LAWS, "after_a_kept_set_expires_the_next_is_kept", *TOLD)),
    (INFO, DropsTheKept, ("after_a_kept_set_expires_the_next_is_kept", *LAWS)),
    (INFO, ShortTokens, ("names_of_tokens_do_not_matter", "odd_streams_equal_the_oracle")),
    (INFO, ShortSizes, ("sets_of_more_than_65535_tokens",)),
    (INFO, SingleFloats, WORDS),
    (INFO, OwnIsJaccard, ("a_user_function_matches",)),
    (INFO, TakesAnything, ("wrong_parameters_are_named",)),
    (INFO, OnlyAFew, ("a_flood_of_equal_sets_reports_the_earliest",)),
    (INFO, KeepsEveryToken, ("steady_stream_holds_steady_memory",)),
    (PREFIX, PrefixOneShort, (*TOLD, *WORDS)),
    (PREFIX, MidPrefix, ("sets_of_all_sizes_match", *WORDS)),
    (PREFIX, RelearnsOnly, ("drift_loses_no_match", *WORDS)),
    (PREFIX, OrSignature, (*TOLD, *WORDS)),
    (PREFIX, PlaceTooTight, (*TOLD, *WORDS)),
    (PREFIX, CutsOneTooFar, (*WORDS, "a_snapshot_at_any_row_loses_no_match")),
    (PREFIX, ExpiredAsUnsigned, (*TOLD, *WORDS)),
    (PREFIX, LevelsByBatch, WORDS),
    (BOUNDED, MissesMore, ("pairs_at_the_threshold_are_reported_as_often_as_declared",)),
    (BOUNDED, MissesEqualSets, ("every_reported_match_is_true",)),
    (BOUNDED, TellsCandidates, ("every_reported_match_is_true",)),
]
