"""total-ranker/exact: every pane's totals, and a bar that finds the largest without a look at the others."""

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

_NOTHING = np.empty(0, np.int64)
_NO_VALUES = np.empty(0, np.uint64)


@define(eq=False)
class Exact(TotalRanker):
    """The exact totals: what each pane of time adds to each object, and a running total for each window. The default.

    A pane is as long as the greatest common divisor of `every` and the windows. Nothing smaller is exact: any two
    different tables of totals by pane give different answers for some rows to come. With total="distinct", what is kept
    are (object, value) pairs, told apart by 64 bits: two of n pairs are taken for one with probability n² / 2^65.

    To find the largest totals without ranking all objects, each window has a threshold, a total and an object, and a
    list of the objects that have reached it: with a larger total, or with the same one and no larger object. While at
    least k have, the answer is among them. The threshold rises when the list becomes long. When fewer than k are left
    it falls to objects that were next to the list, or is found anew by a scan of all objects. Where that happens often,
    more objects are kept next to the list (16 bytes each), or in it.

    Parameters
    ----------
    by : str, default "time"
        whether windows are times or row counts (one of time, rows)
    windows : list of int
        lengths of the windows, in the unit of the times or in rows (1 to 60 lengths, each at least 1)
    every : int
        answers are asked for at multiples of this (at least 1 and at most 2305843009213693952)
    k : int, default None
        objects in an answer, at most (at least 1)
    share : float, default None
        the part of the grand total from which on objects are in (above 0 and at most 1)
    at_least : float, default None
        the total from which on objects are in (above 0)
    total : str, default "rows"
        what is counted or added up of an object (one of rows, sum, distinct)
    unit : float, default 1.0
        weights are whole multiples of this (above 0)

    Complexity
    ----------
    A row costs one access to a hash table, an answer O(entries that joined or left the window, and objects on the
    list), `since` O(entries). Memory is 12 bytes for each (object, pane) entry, and 32 bytes (64 with two to five
    windows) for each slot of a table that is at most half full. With total="distinct" it is 4 bytes for each pane that
    a pair comes in, and 24 bytes for each slot of the pairs' table.

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
        self._ledger.run(times, objects, amounts, _NOTHING)

    def _answers(self, times: Int64, objects: Int64, amounts: Amounts, moments: Int64) -> Tops:
        return self._tops(self._ledger.run(times, objects, amounts, moments))

    @classmethod
    def _answers_together(
        cls, rankers: Sequence[Self], columns: Columns, spans: Int64, moments: Sequence[Int64]
    ) -> Tops:
        ledgers = [one._ledger for one in rankers]
        return rankers[0]._tops(type(ledgers[0]).run_together(ledgers, *columns, spans, moments))

    def _top(self, window: int) -> Top:
        asked = np.array([self._now], np.int64)
        none = _NO_VALUES if self.total == "distinct" else None
        return self._tops(self._ledger.run(_NOTHING, _NOTHING, none, asked, window))[0]

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
        return Tops(answered.offsets, *columns, objects_in_all=answered.some)

    @property
    def _unit(self) -> float:
        return self.unit if self.total == "sum" else 1.0

    def _alive(self, now: int) -> int:
        if self.total != "sum":
            return 0
        assert isinstance(self._ledger, SumLedger)
        return self._ledger.alive(now // self.pane)

    def _settle(self) -> None:
        """Forget what no answer at `now` or later needs, so that what is kept does not tell when it was last asked."""
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
        """Raise SnapshotError where the columns are none that `_state` gives."""
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
            raise SnapshotError("of total-ranker/exact holds an entry twice, or units that no rows weigh")

    def _fill(self, panes: Int64, objects: Int64, amounts: Int64) -> None:
        """Begin anew with these entries, by pane."""
        self._ledger = self._new_ledger()
        if isinstance(self._ledger, PairLedger):
            self._ledger.load(panes, objects, amounts)
        else:
            self._ledger.run(panes * self.pane, objects, amounts if len(amounts) else None, _NOTHING)

    def _merge(self, other: Self, now: int) -> None:
        mine, theirs = self._ledger.columns(), other._ledger.columns()
        columns = [np.concatenate([mine[name], theirs[name]]) for name in mine]
        held = columns[0] >= -(-now // self.pane) - self.longest // self.pane
        panes, objects, amounts = (column[held] for column in columns)
        if self.total == "distinct":  # of a pair, its last pane
            order = np.lexsort((panes, amounts))
            last = np.append(amounts[order][1:] != amounts[order][:-1], True)[: len(order)]
            kept = order[last]
            kept = kept[np.argsort(panes[kept], kind="stable")]
            self._fill(panes[kept], objects[kept], amounts[kept])
            return
        order = np.lexsort((objects, panes))
        panes, objects, amounts = panes[order], objects[order], amounts[order]
        starts = np.flatnonzero(
            np.append(True, (panes[1:] != panes[:-1]) | (objects[1:] != objects[:-1]))[: len(panes)]
        )
        sums = np.add.reduceat(amounts, starts) if len(starts) else amounts
        self._fill(panes[starts], objects[starts], sums)
