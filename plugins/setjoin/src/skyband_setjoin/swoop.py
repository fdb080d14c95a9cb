"""SWOOP: the k most similar pairs from inverted lists and a minimal stock."""

from typing import ClassVar

import numpy as np
from attrs import define, field
from skyband.arrays import Array, Float64, Int8, Int64
from skyband.config.parameters import choice
from skyband.kernels.kskyband_kernels import ITEM, PENDING, SIZE
from skyband.roles.sharding import BUILD

from skyband_setjoin import block_skipping, indexed, stairs, swoop_memory
from skyband_setjoin import index as lists
from skyband_setjoin import sets as window
from skyband_setjoin import swoop_kernels as kernels
from skyband_setjoin.index import Index
from skyband_setjoin.indexed import FIRST_SEEN, SHORTEST
from skyband_setjoin.ranker import StockRanker, alike
from skyband_setjoin.stairs import Stairs

_NO_SIDES = np.empty(0, np.int64)
_NO_BYTES = np.empty(0, np.int8)
_START = np.zeros(1, np.int64)


@define(eq=False)
class Swoop(StockRanker):
    """Compares a set only with sets that share a token and may still get into an answer. The default.

    An index lists the sets that have each token. For each set, the lists are searched only as far as two bounds leave a
    chance of an answer: one on the similarity that can still be reached, one on how long a pair would last. It keeps
    the pairs that fewer than k pairs both outrank and outlive.

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
    order : str, default "shortest"
        lists to search first: the shortest, or those of tokens first seen last; affects only speed (one of shortest,
        first-seen)

    Complexity
    ----------
    A set costs a binary search and a short scan for each of its tokens; the speed hardly depends on the window.
    It retains about k (1 + ln(w² / 2k)) pairs if no similarities are equal, and at most k·w, for w sets in the window.
    The index has one entry for each token of a valid set.

    References
    ----------
    SWOOP: Top-k Similarity Joins over Set Streams, arXiv 1711.02476, sections 5 and 6.

    Examples
    --------
    >>> import skyband
    >>> ranker = skyband.create("pair-ranker", "swoop", k=2, window=10)
    >>> ranker.update(times=[0, 1, 2], offsets=[0, 2, 4, 7], tokens=[1, 2, 1, 3, 1, 2, 3])
    >>> left, right, similarity = ranker.top()
    >>> left.tolist(), right.tolist(), similarity.round(3).tolist()
    ([0, 1], [2, 2], [0.667, 0.667])
    """

    name: ClassVar[str] = "swoop"

    order: str = choice(
        "shortest",
        "first-seen",
        default="shortest",
        kw_only=True,
        help="lists to search first: the shortest, or those of tokens first seen last; affects only speed",
    )

    _index: Index = field(init=False)
    _stairs: Stairs = field(init=False)
    _candidates: Array = field(init=False)
    _blocks: Array = field(init=False)
    _rule: Int64 = field(init=False)
    _room: int = field(init=False, default=64)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._index = lists.new()
        self._stairs = stairs.new()
        self._candidates = np.zeros(len(self._sets.records), kernels.MET)
        self._blocks = block_skipping.fitted(np.zeros(1, block_skipping.BLOCK), self._index.pool)
        order = SHORTEST if self.order == "shortest" else FIRST_SEEN
        length = self._length() if self.by == "time" else -self._length()
        self._rule = np.array([self._kind, order, self.sides, length, 0], np.int64)

    def _update(self, times: Int64, offsets: Int64, tokens: Int64, sides: Int8, parts: Int8) -> None:
        self._take(times, offsets, tokens, sides, parts, _NO_SIDES, _NO_SIDES)

    def _answers(
        self, times: Int64, offsets: Int64, tokens: Int64, sides: Int8, parts: Int8, moments: Int64, stops: Int64
    ) -> tuple[Int64, Int64, Int64, Float64]:
        cuts, best = self._take(times, offsets, tokens, sides, parts, moments, stops)
        self._seen += len(times)
        reached = [*moments[-1:].tolist(), *([self._reached(times)] if len(times) else [])]
        self._now = max(reached, default=self._now)
        return cuts, best["tie"].copy(), best["key"].copy(), best["score"].copy()

    def _take(self, *rows: Array, settles: bool = False) -> tuple[Int64, Array]:
        """The only call of the kernel, so that it is compiled once; returns cuts and ITEM[cuts[-1]]."""
        _, offsets, tokens, _, _, moments, _ = rows
        rule = self._rule
        if settles:
            rule = rule.copy()
            rule[kernels.SETTLES] = 1
        longest = len(tokens) if len(offsets) <= 2 else np.diff(offsets).max()
        scratch = [np.empty(longest, np.int64) for _ in range(4)]
        at, cuts = np.zeros(kernels.DUE + 1, np.int64), np.zeros(len(moments) + 1, np.int64)
        best = np.empty(min(self._room, len(moments) * self.k), ITEM)
        batch = self._own, *alike(*rows), at, *scratch, cuts
        while True:
            arrays = self._sets, self._index, self._stock.band, self._stairs, self._candidates, self._blocks
            need = kernels.take(*arrays, rule, *batch, best)
            if need == kernels.END:
                break
            if need == kernels.ANSWERS:
                best = self._with_room_for_answer(best, int(cuts[at[kernels.ASKED]]))
            elif need == kernels.STOCK:
                self._stock.band, self._stairs = swoop_memory.with_room_to_flush(self._stock.band, self._stairs)
            elif need == kernels.ROOM:
                self._make_room(int(at[kernels.TOKENS]), int(at[kernels.MORE]))
            else:
                self._trim()
        self._trim()
        self._own.check(lambda: window.sizes(self._sets, offsets))
        return cuts, best[: cuts[-1]]

    def _with_room_for_answer(self, best: Array, used: int) -> Array:
        counts = self._stock.band.counts
        self._room = 2 * (used + min(self.k, int(counts[SIZE] + counts[PENDING])))
        return swoop_memory.resized(best, used, self._room)

    def _make_room(self, tokens: int, entries: int) -> None:
        """Make room for a set of `tokens` tokens, and for `entries` entries in the index's pool."""
        self._sets = swoop_memory.with_room(self._sets, tokens)
        self._index = swoop_memory.index_with_room(self._index, tokens, entries)
        self._fit()

    def _trim(self) -> None:
        """Free sparsely used memory."""
        if swoop_memory.is_sparse(self._sets, self._index):
            self._sets, self._index = swoop_memory.trimmed(self._sets), swoop_memory.trimmed_index(self._index)
            self._fit()

    def _fit(self) -> None:
        if len(self._candidates) != len(self._sets.records):
            self._candidates = np.empty(len(self._sets.records), kernels.MET)
        self._blocks = block_skipping.fitted(self._blocks, self._index.pool)

    def _advance(self, now: int) -> None:
        indexed.expire(self._sets, self._index, self._horizon(now))
        self._trim()

    def _settle(self) -> None:
        if self._now is not None:
            self._answer(settles=True)

    def _answer(self, settles: bool = False) -> Array:
        moments = _NO_SIDES if self._now is None else np.array([self._now])
        rows = _NO_SIDES, _START, _NO_SIDES, _NO_BYTES, _NO_BYTES
        return self._take(*rows, moments, _START[: len(moments)], settles=settles)[1]

    @property
    def nbytes(self) -> int:
        """Bytes of the window's sets, the index and the stock, slack included."""
        arrays = *self._index, *self._stairs, self._candidates, self._blocks
        return super().nbytes + sum(array.nbytes for array in arrays)

    def _refill(self, first: int, times: Int64, offsets: Int64, tokens: Int64, sides: Int8) -> None:
        self._sets = window.new(first)
        self._take(times, offsets, tokens, sides, np.full(len(times), BUILD, np.int8), _NO_SIDES, _NO_SIDES)
