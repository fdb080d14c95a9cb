"""The base of all matchers: the sets of the window, the rule to match by, and snapshots."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np
from attrs import define, field, setters
from skyband.arrays import TIME_MIN, Array, Float64, Int8, Int64, read_only
from skyband.columns.integer_ids import SIGN
from skyband.kernels.grouped_order import order_by_group
from skyband.roles.sharding import BUILD
from skyband.state_validation import StateReader

from skyband_setjoin import sets as window
from skyband_setjoin.matching.answers import MATCH
from skyband_setjoin.matching.bounds import Rule, rule_of
from skyband_setjoin.ranker import alike
from skyband_setjoin.reading import read_sets
from skyband_setjoin.set_matcher import ALL, FIRST, Arrivals, Matches, SetMatcher
from skyband_setjoin.sets import FIRST as OLDEST
from skyband_setjoin.sets import NEXT, Sets

SIDES, LENGTH, MOST, KEEP_FIRST = range(4)
"""Indices of a kernel's parameters: `sides`; the window's length, negative in rows; matches, 0 for all; keep."""


@define(eq=False)
class WindowMatcher(SetMatcher):
    """Holds the sets that a later one may match: valid, with enough tokens to match any, and kept."""

    _sets: Sets = field(init=False, on_setattr=setters.NO_OP)
    _rule: Rule = field(init=False)
    _spec: Int64 = field(init=False)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._rule = rule_of(self.similarity, self.threshold)
        self._sets = window.new()
        length = self.window if self.by == "time" else -self.window
        most = 0 if self.matches == ALL else int(self.matches)
        self._spec = np.array([self.sides, length, most, self.keep == FIRST], np.int64)
        self._clear()

    @abstractmethod
    def _clear(self) -> None:
        """Start with an empty window."""

    @abstractmethod
    def _take(
        self, numbers: Int64, times: Int64, offsets: Int64, tokens: Int64, sides: Int8, parts: Int8
    ) -> tuple[Int64, Array]:
        """Take in sets with these numbers; returns cuts int64[n + 1] and MATCH[at least cuts[-1]].

        `tokens` may contain those of other sets.
        """

    def _update(self, times: Int64, offsets: Int64, tokens: Int64, sides: Int8, parts: Int8) -> Matches:
        numbers = np.arange(self._seen, self._seen + len(times))
        cuts, answers = self._take(numbers, times, offsets, tokens, sides, parts)
        earlier: Int64 = answers["earlier"][: cuts[-1]].copy()
        similarity: Float64 = answers["similarity"][: cuts[-1]].copy()
        return cuts, earlier, similarity

    @classmethod
    def _update_together(cls, matchers: Sequence[Self], columns: Arrivals, spans: Int64) -> Matches:
        times, offsets, tokens, sides, parts = alike(*columns)
        sizes = spans[:, 1] - spans[:, 0]
        ends = np.append(0, np.cumsum(sizes))
        first: Int64 = np.array([matcher._seen for matcher in matchers], np.int64)
        numbers = read_only(np.repeat(first - ends[:-1], sizes) + np.arange(ends[-1]))
        counts, matches = np.zeros(ends[-1] + 1, np.int64), list[Array]()
        each = zip(matchers, spans.tolist(), pairwise(ends.tolist()), strict=True)
        for matcher, (start, stop), (begin, end) in each:
            if stop > start:
                own = slice(start, stop)
                cuts, answers = matcher._take(
                    numbers[begin:end], times[own], offsets[start : stop + 1], tokens, sides[own], parts[own]
                )
                if cuts[-1]:
                    counts[begin + 1 : end + 1] = cuts[1:] - cuts[:-1]
                    matches.append(answers[: cuts[-1]])
        together: Any = np.concatenate(matches) if matches else np.empty(0, MATCH)
        return np.cumsum(counts), together["earlier"].copy(), together["similarity"].copy()

    def _horizon(self, now: int) -> int:
        """The time of the oldest sets that are valid at `now`."""
        return max(now - self.window, TIME_MIN)

    def __len__(self) -> int:
        """The number of sets held, which can still be matched."""
        return int(self._sets.marks[NEXT] - self._sets.marks[OLDEST])

    @property
    def nbytes(self) -> int:
        """Bytes of the window's sets, slack included, without the tables that equal rules share."""
        return sum(array.nbytes for array in self._sets)

    def _state(self) -> dict[str, Array]:
        """The sets held, oldest first, with ascending tokens: all else follows from them."""
        first, last = int(self._sets.marks[OLDEST]), int(self._sets.marks[NEXT])
        records = self._sets.records[np.arange(first, last) & (len(self._sets.records) - 1)]
        sizes = records["size"].astype(np.int64)
        begin = int(records["start"][0]) if len(records) else 0
        places = np.arange(begin, begin + int(sizes.sum()))
        tokens = self._sets.tokens[places & (len(self._sets.tokens) - 1)]
        return {
            "now": np.array([] if self._now is None else [self._now], np.int64),
            "seen": np.array([self._seen], np.int64),
            "numbers": records["number"],
            "times": records["time"],
            "sizes": sizes,
            "sides": records["side"].astype(np.int8),
            "tokens": tokens[order_by_group(sizes, tokens.view(np.uint64) ^ SIGN)],
        }

    def _load(self, state: Mapping[str, Array]) -> None:
        reader = StateReader(state)
        self._now = reader.optional("now")
        self._seen = reader.number("seen", at_least=0, at_most=2**62)
        sets = read_sets(reader, self)
        count = len(sets.times)
        numbers = reader.ascending("numbers", count, strictly=True, at_least=0, at_most=self._seen - 1)
        reader.require(bool((np.diff(sets.offsets) > 0).all()), "sizes", "must be at least 1: an empty set is not held")
        if count and self._now is not None:
            oldest = self._horizon(self._now)
            reader.require(int(sets.times[0]) >= oldest, "times", f"must be valid: from {oldest} on")
        self._take(numbers, sets.times, sets.offsets, sets.tokens, sets.sides, np.full(count, BUILD, np.int8))
        reader.require(len(self) == count, "sizes", "must belong to sets that a later one can match")
