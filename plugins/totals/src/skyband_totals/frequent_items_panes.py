"""total-ranker/frequent-items-panes: an Apache DataSketches frequent-items sketch for each pane of time."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import ClassVar, Self

import numpy as np
from attrs import define, field
from skyband.arrays import Array, Int64
from skyband.config.parameters import number
from skyband.state_validation import StateReader

from skyband_totals.fixed_point import fit_together, worth
from skyband_totals.frequent_items import LEAST, SIZES, PaneSketch, Summary, error_of, most_items
from skyband_totals.role import Amounts, TotalRanker
from skyband_totals.shares import least_units
from skyband_totals.top import EMPTY_TOP, UNKNOWN, Top

_ANY = 2**62
_COLUMNS = ("weights", "errors", "sizes")


@define(eq=False)
class FrequentItemsPanes(TotalRanker):
    """An Apache DataSketches frequent-items sketch for each pane of time, added up for each answer.

    The true total is always between `low` and `high`. A sketch has the fewest counters, a power of two, for which
    DataSketches declares an error of at most `epsilon`. The errors of panes add up, so that high − low is at most
    `epsilon` times the grand total. A pane is as long as the greatest common divisor of `every` and the windows. For
    total="rows" and "sum". Use it for comparison, or to share the state with other programs that use DataSketches
    (`images`). Needs the extra `datasketches`.

    With `share` or `at_least`, the answer includes every object that might reach it, so that none is missing; those
    whose `low` reaches it surely do. If the limit is below `epsilon` of the grand total, objects with at most `epsilon`
    might be missing. `k` limits their number.

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
        high − low of a total, as a part of the grand total (at least 0.0035 and below 1)

    Complexity
    ----------
    A row costs O(1) amortised, in Python; an answer O(counters of the window's panes). Memory is 16 bytes for each
    counter in use; a pane has up to 2.6 / epsilon to 5.3 / epsilon.

    References
    ----------
    Anderson et al., A high-performance algorithm for identifying frequent items in data streams, IMC 2017. Panes: Li,
    Maier, Tufte, Papadimos and Tucker, No pane, no gain, SIGMOD Record 2005.

    Examples
    --------
    >>> import skyband
    >>> ranker = skyband.create("total-ranker", "frequent-items-panes", windows=[10], every=5, k=2)
    >>> ranker.update(times=[0, 1, 6, 7, 8], objects=[4, 4, 9, 9, 9])
    >>> ranker.advance(10)
    >>> top = ranker.top(0)
    >>> top.objects.tolist(), top.low.tolist(), top.high.tolist()
    ([9, 4], [3.0, 2.0], [3.0, 2.0])
    """

    name: ClassVar[str] = "frequent-items-panes"
    order_matters: ClassVar[bool] = True
    totals: ClassVar[tuple[str, ...]] = ("rows", "sum")

    epsilon: float = number(0.01, at_least=LEAST, below=1, help="high − low of a total, as a part of the grand total")

    _size: int = field(init=False)
    """The logarithm of a sketch's largest number of counters."""
    _closed: dict[int, Summary] = field(factory=dict, init=False)
    """The panes before the last one with rows, oldest first."""
    _pane: int | None = field(default=None, init=False)
    """The last pane with rows."""
    _sketch: PaneSketch = field(init=False)
    """The sketch of that pane."""

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._size = next(size for size in SIZES if error_of(size) <= self.epsilon)
        self._sketch = PaneSketch.empty(self._size)

    @property
    def exact_up_to(self) -> int:
        """A pane with at most this many objects has a counter for each."""
        return most_items(self._size)

    @property
    def limit(self) -> int:
        """The most objects in an answer: `k`, or any number without it, so that none is missed."""
        return _ANY if self.k is None else self.k

    @property
    def grain(self) -> int:
        return self.pane

    @property
    def _unit(self) -> float:
        return self.unit if self.total == "sum" else 1.0

    def images(self) -> dict[int, bytes]:
        """The sketches of 64-bit integers as serialized by DataSketches, by the time at which their pane begins."""
        return {pane * self.pane: summary.image(self._size) for pane, summary in self._panes()}

    def _panes(self) -> Iterator[tuple[int, Summary]]:
        yield from self._closed.items()
        if self._pane is not None:
            yield self._pane, self._sketch.summary()

    def _update(self, times: Int64, objects: Int64, amounts: Amounts) -> None:
        if amounts is not None and not amounts.all():
            weighed = amounts > 0
            times, objects, amounts = times[weighed], objects[weighed], amounts[weighed]
        panes = times // self.pane
        cuts = [0, *(np.flatnonzero(np.diff(panes)) + 1).tolist(), len(panes)] if len(panes) else []
        for start, stop in pairwise(cuts):
            self._begin(int(panes[start]))
            weights = None if amounts is None else amounts[start:stop].astype(np.int64)
            self._sketch.update(objects[start:stop], weights)

    def _begin(self, pane: int) -> None:
        """Start this pane if it is not the running one."""
        if pane == self._pane:
            return
        if self._pane is not None:
            self._closed[self._pane] = self._sketch.summary()
        self._pane, self._sketch = pane, PaneSketch.empty(self._size)
        self._expire(pane)

    def _advance(self, now: int) -> None:
        self._expire(-(-now // self.pane))

    def _expire(self, pane: int) -> None:
        """Forget what no window holds at the start of a pane."""
        oldest = pane - self.longest // self.pane
        while self._closed and (first := next(iter(self._closed))) < oldest:
            del self._closed[first]
        if self._pane is not None and self._pane < oldest:
            self._pane, self._sketch = None, PaneSketch.empty(self._size)

    def _settle(self) -> None:
        if self._now is not None:
            self._expire(-(-self._now // self.pane))

    def _top(self, window: int) -> Top:
        assert self._now is not None
        return self._since(self._now - self.windows[window])

    def _since(self, begin: int) -> Top:
        summaries = [summary for pane, summary in self._panes() if pane >= begin // self.pane]
        grand, error = sum(summary.weight for summary in summaries), sum(summary.error for summary in summaries)
        if not grand:
            return EMPTY_TOP
        keys, low, likely = _sums(summaries)
        large = np.flatnonzero(low + error >= least_units(self.least, int(grand)))
        order = large[np.lexsort((keys[large], -likely[large]))][: self.limit]
        others = np.ones(len(keys), bool)
        others[order] = False
        rest = error + int(low[others].max(initial=0))
        unit = self._unit
        columns = (likely[order], low[order], low[order] + error)
        totals, lows, highs = (worth(column, unit) for column in columns)
        sure, most = float(worth(grand, unit)), float(worth(rest, unit))
        count = UNKNOWN if error else len(keys)
        return Top(keys[order], totals, lows, highs, sure, sure, sure, most, objects_in_all=count)

    def _merge(self, other: Self, now: int) -> None:
        panes = dict(self._panes())
        for pane, summary in other._panes():
            own = panes.get(pane)
            panes[pane] = summary if own is None else own.merged(summary, self._size)
        self._hold(dict(sorted(panes.items())))
        self._expire(-(-now // self.pane))

    def _hold(self, panes: dict[int, Summary]) -> None:
        """Continue from these panes, oldest first."""
        self._closed, self._pane = panes, max(panes, default=None)
        last = None if self._pane is None else panes.pop(self._pane)
        self._sketch = PaneSketch.empty(self._size) if last is None else PaneSketch.of(last, self._size)

    def _alive(self, now: int) -> int:
        oldest = now // self.pane - self.longest // self.pane
        return sum(summary.weight for pane, summary in self._panes() if pane >= oldest)

    def __len__(self) -> int:
        self._settle()
        return sum(len(summary.keys) for _, summary in self._panes())

    @property
    def nbytes(self) -> int:
        """Bytes of the panes, as serialized by DataSketches."""
        return sum(summary.nbytes for _, summary in self._panes())

    def _state(self) -> dict[str, Array]:
        self._settle()
        panes = dict(self._panes())
        summaries = panes.values()
        numbers = np.array([(each.weight, each.error, each.size) for each in summaries], np.int64).reshape(-1, 3)
        return {
            **self._clock(),
            "panes": np.array(list(panes), np.int64),
            **{name: numbers[:, place].copy() for place, name in enumerate(_COLUMNS)},
            "counters": np.array([len(each.keys) for each in summaries], np.int64),
            "keys": np.concatenate([np.empty(0, np.int64), *(each.keys for each in summaries)]),
            "lows": np.concatenate([np.empty(0, np.int64), *(each.lows for each in summaries)]),
        }

    def _load(self, state: Mapping[str, Array]) -> None:
        reader = StateReader(state)
        self._set_clock(reader.column("clock", np.int64))
        latest = -(2**63) if self._last is None else self._last // self.pane
        oldest = -(-(self._now or 0) // self.pane) - self.longest // self.pane
        panes = reader.ascending("panes", strictly=True, at_least=oldest, at_most=latest).tolist()
        weights = reader.column("weights", np.int64, len(panes), at_least=1)
        errors = reader.column("errors", np.int64, len(panes), at_least=0)
        sizes = reader.column("sizes", np.int64, len(panes), at_least=SIZES[0], at_most=self._size)
        keys, lows = reader.column("keys", np.int64), reader.column("lows", np.int64, at_least=1)
        reader.require(len(keys) == len(lows), "lows", f"must have {len(keys)} values, as keys (got {len(lows)})")
        counters = reader.sizes("counters", len(panes), len(keys))
        reader.require(fit_together(weights), "weights", "must add up to less than 2^63")
        ends = np.cumsum(counters)
        summaries = {}
        for place, pane in enumerate(panes):
            part = slice(int(ends[place] - counters[place]), int(ends[place]))
            size, weight, error = int(sizes[place]), int(weights[place]), int(errors[place])
            most = most_items(size)
            reader.require(len(keys[part]) <= most, "counters", f"must be at most {most} in a pane")
            reader.require(not (keys[part][1:] <= keys[part][:-1]).any(), "keys", "must be ascending in a pane")
            counted = float(lows[part].astype(float).sum()) + error
            reader.require(counted <= weight * (1 + 1e-9), "lows", "must add up to no more than the pane's weight")
            summaries[pane] = Summary(weight, error, size, keys[part].copy(), lows[part].copy())
        self._hold(summaries)


def _sums(summaries: list[Summary]) -> tuple[Int64, Int64, Int64]:
    """int64[n] each: the objects that panes name, ascending, their least totals, and their likely totals."""
    keys = np.concatenate([each.keys for each in summaries])
    lows = np.concatenate([each.lows for each in summaries])
    likely = np.concatenate([each.lows + each.error for each in summaries])
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: len(keys)])
    if not len(keys):
        return keys, lows, likely
    return keys[starts], np.add.reduceat(lows[order], starts), np.add.reduceat(likely[order], starts)
