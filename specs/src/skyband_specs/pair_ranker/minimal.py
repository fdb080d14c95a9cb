"""pair-ranker/mine: keeps every valid pair, found when its younger set arrives."""

from collections.abc import Mapping
from heapq import nsmallest
from itertools import chain, pairwise
from typing import ClassVar

import numpy as np
from attrs import define, field, frozen
from skyband.arrays import Array, Float64, Int8, Int64
from skyband.roles import PairRanker
from skyband.roles.sharding import BUILD, PROBE
from skyband.roles.similarity import NAMED
from skyband.state_validation import StateReader


@frozen
class WindowSet:
    """A set of the window."""

    number: int
    time: int
    side: int
    part: int
    tokens: frozenset[int]


@define(eq=False)
class MinePairRanker(PairRanker):
    """Keeps every valid pair, found when its younger set arrives.

    Parameters
    ----------
    by : str, default "time"
        whether windows are times or row counts (one of time, rows)
    k : int
        pairs in an answer (at least 1)
    window : int
        length of the window, in the unit of the times or in rows (at least 1)
    similarity : str | function, default "jaccard"
        the measure of similarity of two sets (one of jaccard, cosine, dice, overlap, hamming, containment, or a
        well-behaved function of (overlap, size, size))
    sides : int, default 1
        1: pairs within one stream; 2: pairs across two only (at least 1 and at most 2)

    Complexity
    ----------
    A set costs O(sets held), an answer O(pairs · log pairs). Every pair that shares a token is retained.

    References
    ----------
    The definition: the similarity of every two sets of the window.

    Examples
    --------
    >>> import skyband
    >>> ranker = skyband.create("pair-ranker", "mine", k=2, window=10)
    >>> ranker.update(times=[0, 1, 2], offsets=[0, 2, 4, 7], tokens=[1, 2, 1, 3, 1, 2, 3])
    >>> left, right, similarity = ranker.top()
    >>> left.tolist(), right.tolist(), similarity.round(3).tolist()
    ([0, 1], [2, 2], [0.667, 0.667])
    """

    name: ClassVar[str] = "mine"

    _sets: list[WindowSet] = field(factory=list, init=False)
    _pairs: dict[int, list[tuple[float, int, int]]] = field(factory=dict, init=False)
    """(similarity, left, right), by the number of the older set, with which they expire."""

    def _update(self, times: Int64, offsets: Int64, tokens: Int64, sides: Int8, parts: Int8) -> None:
        words = tokens.tolist()
        for row, (time, (begin, end)) in enumerate(zip(times.tolist(), pairwise(offsets.tolist()), strict=True)):
            self._advance(time + (self.by == "rows"))
            chosen = frozenset(words[begin:end])
            self._take(WindowSet(self._seen + row, time, int(sides[row]), int(parts[row]), chosen))

    def _take(self, newer: WindowSet) -> None:
        for older in self._sets if newer.part & PROBE else ():
            apart = older.part & BUILD and (self.sides == 1 or newer.side != older.side)
            if apart and newer.tokens & older.tokens:
                self._pairs.setdefault(older.number, []).append(self._pair(older, newer))
        self._sets.append(newer)

    def _pair(self, older: WindowSet, newer: WindowSet) -> tuple[float, int, int]:
        function = NAMED[self.similarity] if isinstance(self.similarity, str) else self.similarity
        alike = float(function(len(older.tokens & newer.tokens), len(older.tokens), len(newer.tokens)))
        left, right = (newer, older) if older.side == 1 and self.sides == 2 else (older, newer)
        return alike, left.number, right.number

    def _advance(self, now: int) -> None:
        while self._sets and self._sets[0].time < now - self.window:
            self._pairs.pop(self._sets.pop(0).number, None)

    def top(self) -> tuple[Int64, Int64, Float64]:
        pairs = chain.from_iterable(self._pairs.values())
        best = nsmallest(self.k, pairs, key=lambda pair: (-pair[0], *pair[1:]))
        similarity, left, right = zip(*best, strict=True) if best else ((), (), ())
        return np.array(left, np.int64), np.array(right, np.int64), np.array(similarity, np.float64)

    def __len__(self) -> int:
        return sum(map(len, self._pairs.values()))

    @property
    def nbytes(self) -> int:
        return 24 * len(self) + sum(24 + 8 * len(one.tokens) for one in self._sets)

    def _state(self) -> dict[str, Array]:
        tokens = [sorted(one.tokens) for one in self._sets]
        return {
            "now": np.array([] if self._now is None else [self._now], np.int64),
            "seen": np.array([self._seen], np.int64),
            "times": np.array([one.time for one in self._sets], np.int64),
            "sides": np.array([one.side for one in self._sets], np.int64),
            "parts": np.array([one.part for one in self._sets], np.int64),
            "offsets": np.cumsum([0, *map(len, tokens)], dtype=np.int64),
            "tokens": np.array([token for chosen in tokens for token in chosen], np.int64),
        }

    def _load(self, state: Mapping[str, Array]) -> None:
        read = StateReader(state)  # a state may come from anyone: check it before using it
        self._now = read.optional("now")
        self._seen = read.number("seen", at_least=len(state["times"]), at_most=2**62)
        read.offsets("offsets", len(state["times"]), len(state["tokens"]))
        columns = (state[name].tolist() for name in ("times", "sides", "parts"))
        rows = zip(*columns, pairwise(state["offsets"].tolist()), strict=True)
        first, words = self._seen - len(state["times"]), state["tokens"].tolist()
        for number, (time, side, part, (begin, end)) in enumerate(rows, first):
            self._take(WindowSet(number, time, side, part, frozenset(words[begin:end])))
