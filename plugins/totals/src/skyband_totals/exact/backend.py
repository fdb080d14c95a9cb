"""total-ranker/exact: the totals of every pane, and a bar that finds the largest without checking the others."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

import numpy as np
from attrs import define, field
from skyband.arrays import Array, Int64
from skyband.errors import SnapshotError

from skyband_totals.exact.exact_distinct_pairs import PairLedger
from skyband_totals.exact.ledger import RawAnswers
from skyband_totals.exact.sum_ledger import SumLedger
from skyband_totals.fixed_point import fit_together, worth
from skyband_totals.role import Amounts, Columns, TotalRanker
from skyband_totals.top import Top, Tops

_NO_ROWS = np.empty(0, np.int64)
_NO_VALUES = np.empty(0, np.uint64)


@define(eq=False)
class Exact(TotalRanker):
    """The exact totals of each object in each pane of time, and a running total for each window. The default.

    A pane is as long as the greatest common divisor of `every` and the windows. No smaller state is exact: any two
    different tables of totals by pane lead to different answers for some future rows. With total="distinct", the state
    is (object, value) pairs, identified by 64 bits: two of n pairs collide with probability n² / 2^65.

    To find the largest totals without ranking all objects, each window has a threshold, a total and an object, and a
    list of the objects that have reached it: with a larger total, or with the same total and no larger object. While
    the list has at least k, the answer is among them. The threshold rises when the list becomes long. When fewer than k
    are left, it falls to the objects next to the list, or a scan of all objects finds it again. If that happens often,
    more objects are kept next to the list (16 bytes each), or in it.

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

    Complexity
    ----------
    A row costs one access to a hash table; an answer O(entries that joined or left the window, and objects on the
    list); `since` O(entries). Memory is 12 bytes for each (object, pane) entry, and 32 bytes (64 with two to five
    windows) for each slot of a table that is at most half full. With total="distinct" it is 4 bytes for each pane in
    which a pair occurs, and 24 bytes for each slot of the table of pairs.

    References
    ----------
    Panes: Li, Maier, Tufte, Papadimos and Tucker, No pane, no gain, SIGMOD Record 2005. The list of more than k
    objects: Yi et al., Efficient maintenance of materialized top-k views, ICDE 2003.

    Examples
    --------
    >>> import skyband
    >>> ranker = skyband.create("total-ranker", "exact", windows=[10], every=5, k=2)
    >>> ranker.update(times=[0, 1, 6, 7, 8], objects=[4, 4, 9, 9, 9])
    >>> ranker.advance(10)
    >>> top = ranker.top(0)
    >>> top.objects.tolist(), top.totals.tolist(), top.grand
    ([9, 4], [3.0, 2.0], 5.0)
    """

    name: ClassVar[str] = "exact"
    gives_states: ClassVar[bool] = True

    _ledger: SumLedger | PairLedger = field(init=False)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._ledger = self._new_ledger()

    @property
    def grain(self) -> int:
        return self.pane

    def _new_ledger(self) -> SumLedger | PairLedger:
        panes = [window // self.pane for window in self.windows]
        kind = PairLedger if self.total == "distinct" else SumLedger
        return kind(panes, self.pane, self.limit, self.least)

    def _update(self, times: Int64, objects: Int64, amounts: Amounts) -> None:
        self._ledger.run(times, objects, amounts, _NO_ROWS)

    def _answers(self, times: Int64, objects: Int64, amounts: Amounts, moments: Int64) -> Tops:
        return self._tops(self._ledger.run(times, objects, amounts, moments))

    @classmethod
    def _answers_together(
        cls, rankers: Sequence[Self], columns: Columns, spans: Int64, moments: Sequence[Int64]
    ) -> Tops:
        ledgers = [ranker._ledger for ranker in rankers]
        return rankers[0]._tops(type(ledgers[0]).run_together(ledgers, *columns, spans, moments))

    def _top(self, window: int) -> Top:
        moments = np.array([self._now], np.int64)
        amounts = _NO_VALUES if self.total == "distinct" else None
        return self._tops(self._ledger.run(_NO_ROWS, _NO_ROWS, amounts, moments, window))[0]

    def _since(self, begin: int) -> Top:
        objects, totals, *numbers = self._ledger.since(begin // self.pane)
        return self._tops(
            RawAnswers(np.array([0, len(objects)]), objects, totals, *(np.array([number]) for number in numbers))
        )[0]

    def _tops(self, answered: RawAnswers) -> Tops:
        totals = worth(answered.totals, self._unit)
        grand = worth(answered.grand, self._unit)
        rest = worth(answered.rest, self._unit)
        columns = answered.objects, totals, totals, totals, grand, grand, grand, rest
        return Tops(answered.offsets, *columns, objects_in_all=answered.object_counts)

    @property
    def _unit(self) -> float:
        return self.unit if self.total == "sum" else 1.0

    def _alive(self, now: int) -> int:
        if self.total != "sum":
            return 0
        assert isinstance(self._ledger, SumLedger)
        return self._ledger.alive(now // self.pane)

    def _settle(self) -> None:
        """Forget what no answer at `now` or later needs, so that the state does not depend on earlier answers."""
        if self._now is not None:
            self._ledger.forget(self._now)

    def __len__(self) -> int:
        self._settle()
        return self._ledger.entries

    @property
    def nbytes(self) -> int:
        """Bytes of the log, the table and the candidates."""
        return self._ledger.nbytes

    def _state(self) -> dict[str, Array]:
        self._settle()
        return {**self._clock(), **self._ledger.columns()}

    def _load(self, state: Mapping[str, Array]) -> None:
        self._set_clock(state["clock"])
        names = ("panes", "objects", "hashes" if self.total == "distinct" else "units")
        columns = [np.array(state[name]) for name in names]
        self._check_columns(*columns)
        self._fill(*columns)

    def _check_columns(self, panes: Int64, objects: Int64, amounts: Int64) -> None:
        """Raise SnapshotError if `_state` cannot have returned these columns."""
        sizes = {len(panes), len(objects), len(amounts)}
        if len(sizes) > 1 or any(column.dtype != np.int64 for column in (panes, objects, amounts)):
            raise SnapshotError(f"of total-ranker/exact holds columns of lengths {sorted(sizes)}, not int64 of one")
        if not len(panes):
            return
        first, last = int(panes[0]), int(panes[-1])
        oldest = -(-(self._now or 0) // self.pane) - self.longest // self.pane
        if self._last is None or (panes[1:] < panes[:-1]).any() or last > self._last // self.pane or first < oldest:
            raise SnapshotError(f"of total-ranker/exact holds panes from {first} to {last} that `now` does not allow")
        distinct = self.total == "distinct"
        keys = (amounts,) if distinct else (objects, panes)
        order = np.lexsort(keys)
        same = np.logical_and.reduce([key[order][1:] == key[order][:-1] for key in keys])
        if same.any() or (not distinct and ((amounts < 1).any() or not fit_together(amounts))):
            raise SnapshotError("of total-ranker/exact holds an entry twice, or units that are not possible")

    def _fill(self, panes: Int64, objects: Int64, amounts: Int64) -> None:
        """Start over with these entries, sorted by pane."""
        self._ledger = self._new_ledger()
        if isinstance(self._ledger, PairLedger):
            self._ledger.load(panes, objects, amounts)
        else:
            self._ledger.run(panes * self.pane, objects, amounts if len(amounts) else None, _NO_ROWS)

    def _merge(self, other: Self, now: int) -> None:
        own, others = self._ledger.columns(), other._ledger.columns()
        columns = [np.concatenate([own[name], others[name]]) for name in own]
        alive = columns[0] >= -(-now // self.pane) - self.longest // self.pane
        panes, objects, amounts = (column[alive] for column in columns)
        if self.total == "distinct":  # the last pane of each pair
            order = np.lexsort((panes, amounts))
            last = order[np.append(amounts[order][1:] != amounts[order][:-1], True)[: len(order)]]
            last = last[np.argsort(panes[last], kind="stable")]
            self._fill(panes[last], objects[last], amounts[last])
            return
        order = np.lexsort((objects, panes))
        panes, objects, amounts = panes[order], objects[order], amounts[order]
        starts = np.flatnonzero(
            np.append(True, (panes[1:] != panes[:-1]) | (objects[1:] != objects[:-1]))[: len(panes)]
        )
        sums = np.add.reduceat(amounts, starts) if len(starts) else amounts
        self._fill(panes[starts], objects[starts], sums)
