"""total-ranker/k-skb: estimates since any moment from a sample of pairs or rows; merges exactly, even with overlap."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from attrs import define, field
from skyband.arrays import Array, Int64, UInt64, read_only
from skyband.errors import SnapshotError
from skyband.kernels.mixing import salt_of

from skyband_totals import ranker_parameters
from skyband_totals.k_skb import sample_answers
from skyband_totals.k_skb import sample_kernels as kernel
from skyband_totals.role import Amounts, TotalRanker
from skyband_totals.top import EMPTY_TOP, Top

_BUFFERED = 8
_CHUNK = 1 << 20
_ALL = 2**64 - 1
_ANY = 2**62
_NO_ROWS = np.empty(0, np.int64)
_NO_SCORES = np.empty(0, np.uint64)
_NO_SAMPLE = (_NO_ROWS, _NO_SCORES, _NO_ROWS, _NO_ROWS)


@define(eq=False)
class KSkb(TotalRanker):
    """Estimates totals from a uniform sample: the k smallest random numbers since any moment, each with its object.

    For total="distinct" the random number of an (object, value) pair is its hash, so that a pair counts once. For
    "rows" a number is drawn for each row. For "sum" the number is divided by the weight, so that a heavy row is nearly
    always in the sample. The share of an object in the sample estimates its share of all. All shares of an answer are
    off by at most `epsilon`, except for a part `delta` of the answers; so do `low` and `high` hold. With fewer than k
    pairs or rows, where k is the size of the sample, answers are exact.

    With `share` or `at_least`, the answer includes every object of the sample that might reach it. Those whose `low`
    reaches it surely do, except for a part `delta` of the answers. The parameter `k` limits their number. Of `windows`
    only the longest matters.

    Parameters
    ----------
    by : str, default "time"
        whether windows are times or row counts (one of time, rows)
    windows : list of int
        lengths of the windows, in the unit of the times or in rows (1 to 60 lengths, each at least 1)
    every : int
        the step between answers; they are at its multiples (at least 1 and at most 2305843009213693952)
    k : int, default None
        the most objects in an answer (at least 1)
    share : float, default None
        the least part of the grand total that an object of an answer has (above 0 and at most 1)
    at_least : float, default None
        the least total of an object of an answer (above 0)
    total : str, default "rows"
        the total of an object: its rows, the sum of its weights, or its distinct values (one of rows, sum, distinct)
    unit : float, default 1.0
        weights are whole multiples of this (above 0)
    epsilon : float, default 0.01
        the error of shares, as a part of the grand total (at least 0.001 and below 1)
    delta : float, default 0.05
        share of the answers that may be off by more than epsilon (at least 1e-09 and below 1)
    seed : int, default 0
        seed of the random numbers; only rankers with equal seeds merge (at least 0 and at most 9223372036854775807)

    Complexity
    ----------
    A row costs O(1) amortised and expected, an answer O(k). Memory is 40 bytes for each of k (1 + ln(n / k)) entries,
    for n pairs or rows in the longest window; k is 26,000 with epsilon 0.01 and delta 0.05.

    References
    ----------
    Zhang, Zhang, Cheema and Lin, Counting distinct objects over sliding windows, 2010, section 4. Cohen and Kaplan,
    Summarizing data using bottom-k sketches, PODC 2007. Duffield, Lund and Thorup, Priority sampling for estimation of
    arbitrary subset sums, JACM 2007. Shi et al., SIGMOD 2021.

    Examples
    --------
    >>> import skyband
    >>> ranker = skyband.create("total-ranker", "k-skb", windows=[10], every=5, k=2, total="distinct", epsilon=0.1)
    >>> ranker.update(times=[0, 1, 6, 7], objects=[4, 4, 9, 9], values=[1, 1, 1, 2])
    >>> top = ranker.since(0)
    >>> top.objects.tolist(), top.totals.tolist(), top.grand
    ([9, 4], [2.0, 1.0], 3.0)
    """

    name: ClassVar[str] = "k-skb"
    order_matters: ClassVar[bool] = True
    gives_states: ClassVar[bool] = True

    epsilon: float = ranker_parameters.epsilon()
    delta: float = ranker_parameters.delta()
    seed: int = ranker_parameters.seed()

    _size: int = field(init=False)
    _salt: Any = field(init=False)
    _sample: tuple[Int64, UInt64, Int64, Int64] = field(default=_NO_SAMPLE, init=False)
    _limits: UInt64 = field(default=_NO_SCORES, init=False)
    _buffer: list[tuple[Int64, UInt64, Int64, Int64]] = field(factory=list, init=False)
    _buffered: int = field(default=0, init=False)
    _rows: int = field(default=0, init=False)
    """The number of rows for which a number was drawn."""

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._size = sample_answers.sample_size(self.epsilon, self.delta)
        self._salt = salt_of(self.seed)

    @property
    def exact_up_to(self) -> int:
        """One less than the size of the sample: with so few pairs, it has them all.

        0 for rows or weights, because an entry of a group may stand for more rows than a sample has.
        """
        return self._size - 1 if self.total == "distinct" else 0

    @property
    def limit(self) -> int:
        """The most objects in an answer: `k`, or any number without it, so that none is missed."""
        return _ANY if self.k is None else self.k

    def _update(self, times: Int64, objects: Int64, amounts: Amounts) -> None:
        units = np.ones(len(times), np.int64)
        if self.total == "distinct":
            assert amounts is not None
            scores = kernel.pair_scores(read_only(objects), read_only(amounts), self._salt)
        else:
            if amounts is not None:
                weighed = amounts > 0
                times, objects, units = times[weighed], objects[weighed], amounts[weighed].astype(np.int64)
            divisors = units if self.total == "sum" else _NO_ROWS
            scores = kernel.row_scores(read_only(times), read_only(objects), divisors, self._rows, self._salt)
            self._rows += len(times)
        self._buffer.append((times.copy(), scores, objects.copy(), units))
        self._buffered += len(times)
        if self._buffered >= _BUFFERED * self._size:
            self._settle()

    def _settle(self) -> None:
        """Add the buffered rows, and forget those older than the longest window."""
        if self._now is None and not self._buffered:
            return
        parts, self._buffer, self._buffered = self._buffer or [_NO_SAMPLE], [], 0
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        now = self._now if self._now is not None else int(columns[0][-1])
        if len(columns[0]):
            now = max(now, int(columns[0][-1]))
        oldest = now - self.longest
        if not len(columns[0]) and (not len(self._sample[0]) or self._sample[0][-1] >= oldest):
            return
        for start in range(0, max(1, len(columns[0])), _CHUNK):
            self._sweep([column[start : start + _CHUNK] for column in columns], oldest)

    def _sweep(self, columns: Any, oldest: int) -> None:
        distinct = self.total == "distinct"
        self._sample, self._limits = kernel.sweep(tuple(columns), self._sample, self._size, oldest, distinct)

    def _top(self, window: int) -> Top:
        assert self._now is not None
        return self._since(self._now - self.windows[window])

    def _since(self, begin: int) -> Top:
        self._settle()
        times, scores, objects, units = self._sample
        count = len(times) - int(np.searchsorted(times[::-1], begin))
        if not count:
            return EMPTY_TOP
        unit = self.unit if self.total == "sum" else 1.0
        if count < self._size:
            keys, _, sums = kernel.tally(objects, scores, units, count, np.uint64(_ALL), 0.0)
            return sample_answers.exact(keys, sums, self.limit, self.least, unit)
        limit = self._limits[count - 1]
        scale = sample_answers.scale_of(limit)
        heavy = scale if self.total == "sum" else math.inf
        keys, lights, sums = kernel.tally(objects, scores, units, count, limit, heavy)
        return sample_answers.estimated(keys, lights, sums, scale, self.delta, self.limit, self.least, unit)

    def _merge(self, other: Self, now: int) -> None:
        self._settle()
        other._settle()
        self._sweep([column[::-1].copy() for column in other._sample], now - self.longest)
        self._rows += other._rows

    def __len__(self) -> int:
        self._settle()
        return len(self._limits)

    @property
    def nbytes(self) -> int:
        """Bytes of the sample and the buffer."""
        return 40 * len(self._limits) + 32 * self._buffered

    def _state(self) -> dict[str, Array]:
        self._settle()
        times, scores, objects, units = self._sample
        order = np.lexsort((units, objects, scores, -times))
        return {
            **self._clock(),
            "seen": np.array([self._rows], np.int64),
            "times": times[order],
            "scores": scores[order],
            "objects": objects[order],
            "units": units[order],
        }

    def _load(self, state: Mapping[str, Array]) -> None:
        self._set_clock(state["clock"])
        times, scores, objects, units, rows = (
            np.array(state[name]) for name in ("times", "scores", "objects", "units", "seen")
        )
        kinds = [column.dtype for column in (times, scores, objects, units, rows)]
        wrong = (
            kinds != [np.int64, np.uint64, np.int64, np.int64, np.int64]
            or len({len(times), len(scores), len(objects), len(units)}) > 1
            or len(rows) != 1
            or not 0 <= int(rows[0]) <= _ANY
            or (times[1:] > times[:-1]).any()
            or (units < 1).any()
            or (len(times) > 0 and (self._last is None or int(times[0]) > self._last))
        )
        if wrong:
            raise SnapshotError("of total-ranker/k-skb holds columns that are not a sample of a stream")
        self._rows = int(rows[0])
        if len(times):
            assert self._now is not None
            self._sweep([column[::-1].copy() for column in (times, scores, objects, units)], self._now - self.longest)
