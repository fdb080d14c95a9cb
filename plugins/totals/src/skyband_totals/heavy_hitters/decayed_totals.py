"""Totals in which a row weighs half as much for each half-life since it came. Loads no compiled code.

A row is kept as what it weighs at the end of its pane, added to what the pane has of its object, and an answer weighs
panes by the time since their ends: numbers only ever become smaller, so that none overflows however long a stream is.
Rows are added in their order, one after the other, so that sums do not depend on how a stream was cut into batches.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, cast

import numpy as np
from skyband.arrays import Array, Float64, Int64
from skyband.errors import SnapshotError
from skyband.windows.half_lives import left_after

from skyband_totals.ranker_parameters import pane_of
from skyband_totals.top import Tops

_ENTRY = 24
"""Bytes."""
_KINDS = {"ends": np.int64, "objects": np.int64, "amounts": np.float64}


class _Entries(NamedTuple):
    """What panes have of objects, by the end of the pane, then object: int64[e], int64[e], float64[e]."""

    ends: Int64
    objects: Int64
    amounts: Float64

    def between(self, after: int, until: int) -> "_Entries":
        """Those of panes that end after one moment and not after another."""
        return self.slice(*np.searchsorted(self.ends, [after, until], side="right").tolist())

    def slice(self, start: int, stop: int) -> "_Entries":
        return _Entries(self.ends[start:stop], self.objects[start:stop], self.amounts[start:stop])

    def and_then(self, others: "_Entries") -> "_Entries":
        """These and then others."""
        ends, objects = np.concatenate([self.ends, others.ends]), np.concatenate([self.objects, others.objects])
        return _Entries(ends, objects, np.concatenate([self.amounts, others.amounts]))


class DecayedTotals:
    """The objects with the largest decayed totals over each of several windows that end at a moment.

    A row costs O(log n) and an answer O(n log n), with n entries in the longest window, a pane's object each. A pane is
    as long as the greatest common divisor of `every` and the windows.

    Source: Cormode, Shkapenyuk, Srivastava and Xu, Forward decay, ICDE 2009, section 4: there a row's weight grows with
    its time until numbers are made smaller together, which here are so from the start.
    """

    by = "time"
    order_matters = False
    """Rows come in one order, as the query's ties say."""

    def __init__(self, windows: Sequence[int], every: int, half_life: int, k: int | None, at_least: float) -> None:
        """windows, every, half_life: lengths in the unit of the times. at_least: of a total, 0 where all are in."""
        self.every = every
        self._windows, self._half_life, self._k, self._least = windows, half_life, k, at_least
        self._longest, self._pane = max(windows), pane_of(windows, every)
        self._entries = _Entries(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))

    def answers(self, times: Int64, objects: Int64, weights: Float64 | None = None, *, moments: Int64) -> Tops:
        """Take in rows and give the answers at these moments, window by window, each over the rows before it.

        times, objects: int64[n], times ascending; weights: float64[n] of at least 0, 1 where there are none; moments:
        int64[m], ascending multiples of `every`, none before an earlier one.
        """
        self._add(times, objects, np.ones(len(times)) if weights is None else weights)
        tops, at_once = list[Tops](), max(1, self._longest // self.every)
        for start in range(0, len(moments), at_once):  # so that few objects are looked at that are in no window
            tops += self._tops(moments[start : start + at_once])
        if len(moments):
            self._entries = self._entries.between(int(moments[-1]) + self.every - self._longest, 2**63 - 1)
        return _together(tops)

    def _add(self, times: Int64, objects: Int64, weights: Float64) -> None:
        ends = self._ends(times)
        amounts = weights * left_after(ends - times, self._half_life)
        some = amounts > 0
        if some.any():
            rows = _Entries(ends[some], objects[some], amounts[some])
            before = int(np.searchsorted(self._entries.ends, rows.ends[0]))
            new = _added_up(self._entries.slice(before, len(self)).and_then(rows))
            self._entries = self._entries.slice(0, before).and_then(new)

    def _ends(self, times: Int64) -> Int64:
        """Of each time the end of its pane."""
        return (times // self._pane + 1) * self._pane

    def _tops(self, moments: Int64) -> Iterator[Tops]:
        """The answers of each moment."""
        inside = self._entries.between(int(moments[0]) - self._longest, int(moments[-1]))
        objects, codes = np.unique(inside.objects, return_inverse=True)
        ends, panes = np.unique(inside.ends, return_inverse=True)
        for at in moments.tolist():
            weighed = inside.amounts * left_after(np.maximum(at - ends, 0), self._half_life)[panes]
            totals = list[Float64]()
            for window in self._windows:
                first, stop = np.searchsorted(inside.ends, [at - window, at], side="right")
                totals.append(cast(Float64, np.bincount(codes[first:stop], weighed[first:stop], len(objects))))
            numbers, count = np.repeat(np.arange(len(totals)), len(objects)), len(totals)
            yield ranked_totals(numbers, np.tile(objects, count), np.concatenate(totals), count, self._k, self._least)

    def begin_with(self, times: Int64, objects: Int64, amounts: Float64) -> None:
        """Begin with entries: what panes have of objects (each once), at the time of some row of the pane."""
        order = np.lexsort((objects, ends := self._ends(times)))
        self._entries = _Entries(ends[order], objects[order], amounts[order])

    def merge(self, other: "DecayedTotals") -> None:
        """Become the totals of both streams."""
        self._entries = _added_up(self._entries.and_then(other._entries))

    def __len__(self) -> int:
        return len(self._entries.ends)

    @property
    def nbytes(self) -> int:
        """Bytes of the entries."""
        return _ENTRY * len(self)

    def dump_state(self) -> dict[str, Array]:
        """The entries as flat arrays."""
        return dict(zip(_KINDS, self._entries, strict=True))

    def load_state(self, arrays: Mapping[str, Array]) -> None:
        """Take over what `dump_state` gave. Raises SnapshotError where that is no such thing."""
        columns = [arrays.get(name, np.empty(0)) for name in _KINDS]
        if [column.dtype for column in columns] != [np.dtype(kind) for kind in _KINDS.values()]:
            raise SnapshotError("of decayed totals lacks the columns of its entries")
        ends, objects, amounts = columns
        alike = len({column.shape for column in columns}) == 1 and ends.ndim == 1
        if not alike or (ends % self._pane).any() or not (np.isfinite(amounts) & (amounts > 0)).all():
            raise SnapshotError("of decayed totals holds entries that are of no pane")
        later = (ends[1:] > ends[:-1]) | ((ends[1:] == ends[:-1]) & (objects[1:] > objects[:-1]))
        if not later.all():
            raise SnapshotError("of decayed totals holds entries that are in no order")
        self._entries = _Entries(ends, objects, amounts)


def ranked_totals(numbers: Int64, objects: Int64, totals: Float64, count: int, k: int | None, at_least: float) -> Tops:
    """Of `count` answers the best k objects of at least so much, the smaller one first of those that are equal.

    numbers: the answer that each total is of, in any order. O(n log n).
    """
    grand = cast(Float64, np.bincount(numbers, totals, count))
    large = np.flatnonzero((totals > 0) & (totals >= at_least))
    order = large[np.lexsort((objects[large], -totals[large], numbers[large]))]
    of = numbers[order]
    rank = np.arange(len(of)) - np.searchsorted(of, of)
    best = order if k is None else order[rank < k]
    others = np.full(count, at_least)
    if k is not None:
        others[of[rank == k]] = totals[order[rank == k]]
    offsets = np.searchsorted(numbers[best], np.arange(count + 1))
    own = totals[best]
    return Tops(offsets, objects[best], own, own, own, grand, grand, grand, others)


def _together(answers: Sequence[Tops]) -> Tops:
    """Answers one after the other as one."""
    sizes = [np.diff(tops.offsets) for tops in answers]
    offsets = np.cumsum(np.concatenate([[0], *sizes]), dtype=np.int64)
    objects = np.concatenate([np.empty(0, np.int64), *(tops.objects for tops in answers)])
    totals, grand, rest = (
        np.concatenate([np.empty(0), *(getattr(tops, name) for tops in answers)])
        for name in ("totals", "grand", "rest")
    )
    return Tops(offsets, objects, totals, totals, totals, grand, grand, grand, rest)


def _added_up(rows: _Entries) -> _Entries:
    """One entry of each pane and object, what they have being added in the order of rows."""
    order = np.lexsort((rows.objects, rows.ends))
    ends, objects = rows.ends[order], rows.objects[order]
    first = np.append(True, (ends[1:] != ends[:-1]) | (objects[1:] != objects[:-1]))[: len(order)]
    amounts = np.bincount(np.cumsum(first) - 1, rows.amounts[order], int(first.sum()))
    return _Entries(ends[first], objects[first], cast(Float64, amounts))
