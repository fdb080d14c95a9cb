"""total-ranker/misra-gries: totals since any moment with certain bounds, from Misra-Gries summaries by age."""

import math
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, ClassVar, Self

import numpy as np
from attrs import define, field
from skyband.arrays import Array, Int64, read_only
from skyband.config.parameters import number
from skyband.errors import SnapshotError

from skyband_totals.fixed_point import fit_together, worth
from skyband_totals.misra_gries import since_any_moment_kernels as kernel
from skyband_totals.misra_gries import tally_kernels as tallies
from skyband_totals.role import Amounts, TotalRanker
from skyband_totals.shares import least_units
from skyband_totals.top import EMPTY_TOP, UNKNOWN, Top

_ANY = 2**62
_NO_UNITS = read_only(np.empty(0, np.int64))


@define(eq=False)
class MisraGries(TotalRanker):
    """Totals since any moment with certain bounds, from Misra-Gries summaries that become coarser with age.

    The true total is always between `low` and `high`, and high − low is at most `epsilon` times the grand total since
    the moment, for any moment. The youngest rows are kept unchanged. Older rows are in summaries of a few objects, with
    an error of at most epsilon / 2 of all younger rows. For total="rows" and "sum". With an epsilon below 0.005,
    `total-ranker/exact` needs less memory.

    With `share` or `at_least`, the answer includes every object that might reach it, so that none is missing; those
    whose `low` reaches it surely do. If the limit is below `epsilon` of the grand total, objects with at most `epsilon`
    might be missing. `k` limits their number. Of `windows` only the longest matters.

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
        high − low of a total, as a part of the grand total (at least 0.0001 and below 1)

    Complexity
    ----------
    A row costs O(log n) amortised, an answer O(entries and rows of the window). Memory is 24 bytes for each of 1024 /
    epsilon rows, and 16 bytes for each of O(1 / epsilon² log n) entries; far fewer if most objects are rare.

    References
    ----------
    Misra and Gries, Finding repeated elements, 1982. Agarwal et al., Mergeable summaries, PODS 2012. Arasu and Manku,
    Approximate counts and quantiles over sliding windows, PODS 2004.

    Examples
    --------
    >>> import skyband
    >>> ranker = skyband.create("total-ranker", "misra-gries", windows=[10], every=5, k=2, epsilon=0.1)
    >>> ranker.update(times=[0, 1, 6, 7, 8], objects=[4, 4, 9, 9, 9])
    >>> ranker.advance(10)
    >>> top = ranker.top(0)
    >>> top.objects.tolist(), top.low.tolist(), top.high.tolist()
    ([9, 4], [3.0, 2.0], [3.0, 2.0])
    """

    name: ClassVar[str] = "misra-gries"
    order_matters: ClassVar[bool] = True
    totals: ClassVar[tuple[str, ...]] = ("rows", "sum")

    epsilon: float = number(0.01, at_least=1e-4, below=1, help="high − low of a total, as a part of the grand total")

    _history: kernel.History = field(init=False)
    _others: list[kernel.History] = field(factory=list, init=False)
    """The histories of streams merged into this one; new rows go to its own."""

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._history = kernel.new(self._m, self._raw, self.longest)

    @property
    def exact_up_to(self) -> int:
        """The number of youngest rows that are kept unchanged."""
        return self._raw

    @property
    def limit(self) -> int:
        """The most objects in an answer: `k`, or any number without it, so that none is missed."""
        return _ANY if self.k is None else self.k

    @property
    def _m(self) -> int:
        return math.ceil(2 / self.epsilon)

    @property
    def _part(self) -> float:
        return self.epsilon / 2

    @property
    def _raw(self) -> int:
        return math.ceil(2 * kernel.BASE / self._part)

    def _update(self, times: Int64, objects: Int64, amounts: Amounts) -> None:
        if amounts is not None and not amounts.all():
            weighed = amounts > 0
            times, objects, amounts = times[weighed], objects[weighed], amounts[weighed]
        if len(times):
            units = _NO_UNITS if amounts is None else read_only(amounts)
            self._history = kernel.take(self._history, read_only(times), read_only(objects), units, self._part)

    def _advance(self, now: int) -> None:
        self._expire(now)

    def _expire(self, now: int) -> None:
        for history in self._histories:
            kernel.expire(history, now - self.longest)
        self._others = [history for history in self._others if _size(history)]

    @property
    def _histories(self) -> list[kernel.History]:
        return [self._history, *self._others]

    def _top(self, window: int) -> Top:
        assert self._now is not None
        return self._since(self._now - self.windows[window])

    def _since(self, begin: int) -> Top:
        table = tallies.new_tally(sum(tallies.entries_since(history, begin) for history in self._histories))
        sums = np.zeros(4, np.int64)
        for history in self._histories:
            tallies.tally(history, begin, table, sums)
        sure, unsure, errors, least = sums.tolist()
        if not sure + unsure:
            return EMPTY_TOP
        unit = self.unit if self.total == "sum" else 1.0
        low, high = sure + least, sure + unsure - least
        best = tallies.select(table, sums, self.limit, least_units(self.least, low))
        objects, likely, lows, highs, rest = best
        columns = (worth(column, unit) for column in (likely / 2, lows, highs))
        numbers = (float(worth(number, unit)) for number in ((low + high) / 2, low, high, rest))
        count = UNKNOWN if unsure + errors else int(np.count_nonzero(table[:, tallies.USED]))
        return Top(objects, *columns, *numbers, objects_in_all=count)

    def _merge(self, other: Self, now: int) -> None:
        others = deepcopy(other._histories)
        if not _size(self._history):
            self._history, others = others[0], others[1:]
        self._others += [history for history in others if _size(history)]
        self._expire(now)

    def _alive(self, now: int) -> int:
        self._expire(now)
        return sum(int(history.counts[kernel.WEIGHT]) for history in self._histories)

    def _settle(self) -> None:
        if self._now is not None:
            self._expire(self._now)

    def __len__(self) -> int:
        self._settle()
        return sum(map(_size, self._histories))

    @property
    def nbytes(self) -> int:
        """Bytes of the nodes, their entries, and the rows."""
        return sum(array.nbytes for history in self._histories for array in history)

    def _state(self) -> dict[str, Array]:
        self._settle()
        parts = [_columns(history) for history in self._histories]
        return {**self._clock(), **{name: np.concatenate([part[name] for part in parts]) for name in parts[0]}}

    def _load(self, state: Mapping[str, Array]) -> None:
        self._set_clock(state["clock"])
        columns = {name: np.array(state[name]) for name in _NAMES}
        if any(column.dtype != np.int64 for column in columns.values()) or len(columns["counts"]) % 4:
            raise SnapshotError("of total-ranker/misra-gries holds columns that are not int64, or counts of no history")
        places = dict.fromkeys(_NAMES, 0)
        histories = []
        for _, nodes, entries, rows in columns["counts"].reshape(-1, 4).tolist():
            sizes = dict.fromkeys(_NAMES, nodes) | {"counts": 4, "keys": entries, "lows": entries}
            sizes |= dict.fromkeys(("times", "objects", "units"), rows)
            if min(sizes.values()) < 0:
                raise SnapshotError("of total-ranker/misra-gries holds counts below 0")
            parts = {name: columns[name][places[name] : places[name] + size] for name, size in sizes.items()}
            places = {name: places[name] + size for name, size in sizes.items()}
            histories.append(self._loaded(parts))
        if not histories or any(len(columns[name]) != places[name] for name in _NAMES):
            raise SnapshotError("of total-ranker/misra-gries holds columns whose lengths contradict its counts")
        self._history, self._others = histories[0], histories[1:]

    def _loaded(self, columns: Mapping[str, Array]) -> kernel.History:
        """A history from its columns. Raises SnapshotError if they are invalid."""
        history = kernel.new(self._m, self._raw, self.longest)
        phase, nodes, entries, rows = columns["counts"].tolist()
        times = np.concatenate([np.stack([columns["first"], columns["last"]], axis=1).reshape(-1), columns["times"]])
        last = -(2**63) if self._last is None else self._last
        ends = np.cumsum(columns["size"])
        starts = ends - columns["size"]
        lows = np.add.reduceat(np.append(columns["lows"], 0), np.minimum(starts, entries)) if nodes else ends
        lows = np.where(columns["size"] > 0, lows, 0)  # nodes without entries have no heavy objects
        wrong = (
            not 0 <= phase < kernel.STEP
            or rows > len(history.times)
            or (times[1:] < times[:-1]).any()
            or (len(times) > 0 and int(times[-1]) > last)
            or (columns["size"] < 0).any()
            or (columns["weight"] < 1).any()
            or (nodes > 0 and int(ends[-1]) != entries)
            or (nodes == 0 and entries > 0)
            or (columns["units"] < 1).any()
            or (columns["lows"] < 1).any()
            or (columns["error"] < 0).any()
            or (lows + (self._m + 1) * columns["error"] > columns["weight"]).any()
            or not fit_together(columns["weight"], columns["units"])
        )
        if wrong:
            raise SnapshotError("of total-ranker/misra-gries holds nodes or rows that are not possible")
        table = np.empty((max(16, nodes), kernel.FIELDS), np.int64)
        fields = (*(columns[name] for name in ("first", "last", "weight", "error")), starts, columns["size"])
        table[:nodes] = np.stack(fields, axis=1)
        for ring, name in zip(history[-3:], ("times", "objects", "units"), strict=True):
            ring[:rows] = columns[name]
        history.counts[[kernel.NODES, kernel.POOL, kernel.ROWS, kernel.PHASE]] = nodes, entries, rows, phase
        history.counts[kernel.WEIGHT] = int(columns["weight"].sum() + columns["units"].sum())
        keys, lows = (np.append(columns[name], np.empty(64, np.int64)) for name in ("keys", "lows"))
        return history._replace(nodes=table, keys=keys, lows=lows)


_NAMES = ("counts", "first", "last", "weight", "error", "size", "keys", "lows", "times", "objects", "units")
"""The columns of all histories: four counts each, and a value for each node, entry, or row of the stream."""


def _size(history: kernel.History) -> int:
    """The number of entries and rows."""
    counts, nodes = history.counts, history.nodes
    return int(counts[kernel.ROWS] + nodes[: counts[kernel.NODES], kernel.SIZE].sum())


def _columns(history: kernel.History) -> dict[str, Any]:
    counts, table = history.counts, history.nodes[: history.counts[kernel.NODES]]
    parts = table[:, [kernel.START, kernel.SIZE]].tolist()
    entries = np.concatenate([_NO_UNITS, *(np.arange(start, start + size) for start, size in parts)])
    rows = (counts[kernel.HEAD] + np.arange(counts[kernel.ROWS])) % len(history.times)
    head = [counts[kernel.PHASE], len(table), len(entries), len(rows)]
    nodes = {
        name: table[:, column].copy()
        for name, column in zip(
            ("first", "last", "weight", "error", "size"),
            (kernel.FIRST, kernel.LAST, kernel.HEAVY, kernel.ERROR, kernel.SIZE),
            strict=True,
        )
    }
    return {
        "counts": np.array(head, np.int64),
        **nodes,
        "keys": history.keys[entries],
        "lows": history.lows[entries],
        "times": history.times[rows],
        "objects": history.objects[rows],
        "units": history.units[rows],
    }
