"""Totals in which the weight of a row halves with each half-life since its arrival. Loads no compiled code.

A row's weight at the end of its pane is added to its object's amount in that pane. An answer weighs panes by the time
since their ends. So numbers only become smaller, and never overflow, however long the stream is. Rows are added in
order, one after another, so that sums do not depend on how the stream is cut into batches.
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
"""The bytes of an entry."""
_KINDS = {"ends": np.int64, "objects": np.int64, "amounts": np.float64}


class _Entries(NamedTuple):
    """The amounts of objects in panes, by the end of the pane, then object: int64[e], int64[e], float64[e]."""

    ends: Int64
    objects: Int64
    amounts: Float64

    def between(self, after: int, until: int) -> "_Entries":
        """The entries of panes that end after one moment and not after another."""
        return self.slice(*np.searchsorted(self.ends, [after, until], side="right").tolist())

    def slice(self, start: int, stop: int) -> "_Entries":
        return _Entries(self.ends[start:stop], self.objects[start:stop], self.amounts[start:stop])

    def and_then(self, others: "_Entries") -> "_Entries":
        """These entries followed by others."""
        ends, objects = np.concatenate([self.ends, others.ends]), np.concatenate([self.objects, others.objects])
        return _Entries(ends, objects, np.concatenate([self.amounts, others.amounts]))


class DecayedTotals:
    """The objects with the largest decayed totals over each of several windows that end at a moment.

    A row costs O(log n) and an answer O(n log n), with n (object, pane) entries in the longest window. A pane is as
    long as the greatest common divisor of `every` and the windows.

    Source: Cormode, Shkapenyuk, Srivastava and Xu, Forward decay, ICDE 2009, section 4. There the weight of a row grows
    with its time until all numbers are rescaled; here they are small from the start.
    """

    by = "time"
    order_matters = False
    """Rows arrive in a fixed order, that of the query's ties."""

    def __init__(self, windows: Sequence[int], every: int, half_life: int, k: int | None, at_least: float) -> None:
        """windows, every, half_life: lengths in the unit of the times. at_least: the least total, 0 for all."""
        self.every = every
        self._windows, self._half_life, self._k, self._least = windows, half_life, k, at_least
        self._longest, self._pane = max(windows), pane_of(windows, every)
        self._entries = _Entries(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))

    def answers(self, times: Int64, objects: Int64, weights: Float64 | None = None, *, moments: Int64) -> Tops:
        """Add rows and return the answers at these moments, window by window, each over the rows before it.

        times, objects: int64[n], times ascending; weights: float64[n] of at least 0, by default 1; moments: int64[m],
        ascending multiples of `every`, none before that of an earlier call.
        """
        self._add(times, objects, np.ones(len(times)) if weights is None else weights)
        tops, at_once = list[Tops](), max(1, self._longest // self.every)
        for start in range(0, len(moments), at_once):  # so that few objects outside of the windows are read
            tops += self._tops(moments[start : start + at_once])
        if len(moments):
            self._entries = self._entries.between(int(moments[-1]) + self.every - self._longest, 2**63 - 1)
        return _concatenated(tops)

    def _add(self, times: Int64, objects: Int64, weights: Float64) -> None:
        ends = self._ends(times)
        amounts = weights * left_after(ends - times, self._half_life)
        positive = amounts > 0
        if positive.any():
            rows = _Entries(ends[positive], objects[positive], amounts[positive])
            before = int(np.searchsorted(self._entries.ends, rows.ends[0]))
            new = _sums(self._entries.slice(before, len(self)).and_then(rows))
            self._entries = self._entries.slice(0, before).and_then(new)

    def _ends(self, times: Int64) -> Int64:
        """The end of the pane of each time."""
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
        """Start with entries: the amounts of objects in panes, at the time of any row of the pane."""
        order = np.lexsort((objects, ends := self._ends(times)))
        self._entries = _Entries(ends[order], objects[order], amounts[order])

    def merge(self, other: "DecayedTotals") -> None:
        """Become the totals of both streams."""
        self._entries = _sums(self._entries.and_then(other._entries))

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
        """Load what `dump_state` returned. Raises SnapshotError if it is invalid."""
        columns = [arrays.get(name, np.empty(0)) for name in _KINDS]
        if [column.dtype for column in columns] != [np.dtype(kind) for kind in _KINDS.values()]:
            raise SnapshotError("of decayed totals lacks the columns of its entries")
        ends, objects, amounts = columns
        alike = len({column.shape for column in columns}) == 1 and ends.ndim == 1
        if not alike or (ends % self._pane).any() or not (np.isfinite(amounts) & (amounts > 0)).all():
            raise SnapshotError("of decayed totals holds entries that are in no pane")
        later = (ends[1:] > ends[:-1]) | ((ends[1:] == ends[:-1]) & (objects[1:] > objects[:-1]))
        if not later.all():
            raise SnapshotError("of decayed totals holds entries that are not in order")
        self._entries = _Entries(ends, objects, amounts)


def ranked_totals(numbers: Int64, objects: Int64, totals: Float64, count: int, k: int | None, at_least: float) -> Tops:
    """The best k objects of `count` answers with at least this total, the smaller object first if totals are equal.

    numbers: the number of the answer of each total, in any order. O(n log n).
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


def _concatenated(answers: Sequence[Tops]) -> Tops:
    """Several answers one after the other."""
    sizes = [np.diff(tops.offsets) for tops in answers]
    offsets = np.cumsum(np.concatenate([[0], *sizes]), dtype=np.int64)
    objects = np.concatenate([np.empty(0, np.int64), *(tops.objects for tops in answers)])
    totals, grand, rest = (
        np.concatenate([np.empty(0), *(getattr(tops, name) for tops in answers)])
        for name in ("totals", "grand", "rest")
    )
    return Tops(offsets, objects, totals, totals, totals, grand, grand, grand, rest)


def _sums(rows: _Entries) -> _Entries:
    """One entry for each pane and object, with amounts added up in the order of rows."""
    order = np.lexsort((rows.objects, rows.ends))
    ends, objects = rows.ends[order], rows.objects[order]
    first = np.append(True, (ends[1:] != ends[:-1]) | (objects[1:] != objects[:-1]))[: len(order)]
    amounts = np.bincount(np.cumsum(first) - 1, rows.amounts[order], int(first.sum()))
    return _Entries(ends[first], objects[first], cast(Float64, amounts))
