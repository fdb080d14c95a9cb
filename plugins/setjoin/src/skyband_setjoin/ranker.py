"""The base of the three rankers: the window's sets, a stock of pairs, the clock, answers and snapshots."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from attrs import define, field
from skyband.arrays import TIME_MIN, Array, Float64, Int8, Int64, read_only
from skyband.kernels.kskyband import KSkyband
from skyband.roles import PairRanker
from skyband.state_validation import StateReader

from skyband_setjoin import reading
from skyband_setjoin import sets as window
from skyband_setjoin.compiled_similarity import resolve
from skyband_setjoin.sets import FIRST, NEXT, Sets

_LONGEST = 2**63 - 1
_MOST_SETS = 2**62


def alike(*arrays: Array) -> list[Array]:
    """The arrays as read-only ones, like Arrow's; else a kernel would be compiled again for each mix of the two."""
    return [read_only(array) for array in arrays]


@define(eq=False)
class StockRanker(PairRanker):
    """A ranker that answers from a stock of pairs: expiry = time of the older set, tie = left, key = right."""

    _kind: int = field(init=False)
    _own: Any = field(init=False)
    _sets: Sets = field(init=False)
    _stock: KSkyband = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._kind, self._own = resolve(self.similarity)
        self._sets = window.new()
        self._stock = KSkyband(self._kept())

    def _kept(self) -> int:
        """How many pairs have to dominate one for it to be dropped."""
        return self.k

    def _length(self) -> int:
        return min(self.window, _LONGEST)

    def _horizon(self, now: int) -> int:
        """The time of the oldest sets that are valid at `now`."""
        return max(now - self._length(), TIME_MIN)

    def top(self) -> tuple[Int64, Int64, Float64]:
        """The k most similar pairs at `now`; O(k) after merging in the pairs found since the last answer."""
        best = self._answer()
        return best["tie"].copy(), best["key"].copy(), best["score"].copy()

    def _answer(self) -> Array:
        horizon = TIME_MIN if self._now is None else self._horizon(self._now)
        self._stock.advance(horizon)
        return self._stock.topk(self.k, horizon)

    def _settle(self) -> None:
        if self._now is not None:
            self._stock.advance(self._horizon(self._now))
        self._stock.flush()

    def __len__(self) -> int:
        """Pairs in the stock."""
        self._settle()
        return len(self._stock)

    @property
    def nbytes(self) -> int:
        """Bytes of the window's sets and the stock, slack included."""
        return sum(array.nbytes for array in self._sets) + self._stock.nbytes

    def _state(self) -> dict[str, Array]:
        """The valid sets, oldest first, and the pairs of the flushed stock, best first."""
        self._settle()
        records, tokens = self._valid()
        stock = self._stock.items()
        return {
            "now": np.array([] if self._now is None else [self._now], np.int64),
            "seen": np.array([self._seen], np.int64),
            "times": records["time"],
            "sizes": records["size"].astype(np.int64),
            "sides": records["side"].astype(np.int8),
            "tokens": tokens,
            "left": stock["tie"],
            "right": stock["key"],
            "similarities": stock["score"],
        }

    def _valid(self) -> tuple[Array, Int64]:
        """The records of the valid sets and all their tokens, oldest first."""
        first, last = int(self._sets.marks[FIRST]), int(self._sets.marks[NEXT])
        records: Array = self._sets.records[np.arange(first, last) & (len(self._sets.records) - 1)]
        begin = int(records["start"][0]) if len(records) else 0
        places = np.arange(begin, begin + int(records["size"].sum()))
        return records, self._sets.tokens[places & (len(self._sets.tokens) - 1)]

    def _load(self, state: Mapping[str, Array]) -> None:
        reader = StateReader(state)
        self._now = reader.optional("now")
        self._seen = reader.number("seen", at_least=0, at_most=_MOST_SETS)
        sets = reading.read_sets(reader, self)
        first = self._seen - len(sets.times)
        reader.require(first >= 0, "times", f"must be at most {self._seen}: the sets seen (got {len(sets.times)})")
        pairs = reading.read_pairs(reader, sets, first, self.sides)
        self._refill(first, sets.times.copy(), sets.offsets, sets.tokens.copy(), sets.sides.copy())
        older = np.minimum(pairs.left, pairs.right) - first
        self._stock.add(pairs.similarities, sets.times[older], pairs.left, pairs.right)
        self._settle()
        reader.require(
            len(self._stock) == len(pairs.left), "left", "must be a stock: some of its pairs are dominated by others"
        )

    @abstractmethod
    def _refill(self, first: int, times: Int64, offsets: Int64, tokens: Int64, sides: Int8) -> None:
        """Restore the sets of a snapshot; the oldest is number `first`."""
