"""A k-skyband of objects, for answers with each object once: in its best row of the window."""

from typing import Any

import numpy as np
import skyband.kernels.numba_compiler_patches  # noqa: F401 - lets numba compile without a writable cache
from numba import njit
from skyband.arrays import Array, Float64, Int64
from skyband.kernels import kskyband_kernels

from skyband_workload.extractor import Found
from skyband_workload.scheduler import Moments, Scheduler
from skyband_workload.table import Rows

_LEAST = 256
"""The least rows that wait before the kept rows are updated."""


class ObjectBand:
    """The rows that may be in a future answer, best first: score descending, then object, then the latest.

    A row is in no answer if its own object, or k others, have a better row, or an equal later one, in the same or a
    later pane. The answer since some pane is then the first k objects of its kept rows: each has its best row there,
    and dropped rows are beaten by k. Rows wait for the next answer.
    """

    def __init__(self, k: int, items: Array) -> None:
        self._k = k
        self._items, self._codes = _skyband(items, k)
        self._waiting: list[Array] = []
        self._rows = 0

    def execute(self, scheduler: Scheduler, last: int, rows: Rows, moments: Moments) -> Found:
        """Add rows and answer moments, in order of time; `last` is the time of the last row before."""
        items = _as_items(scheduler, last, rows)
        before = np.searchsorted(rows.time, moments.at)
        objects, scores, filled = list[Int64](), list[Float64](), 0
        for start, k, stop in zip(moments.start.tolist(), moments.k.tolist(), before.tolist(), strict=True):
            self._wait(items[filled:stop])
            filled = stop
            best = self._best(start, k)
            objects.append(best["tie"])
            scores.append(best["score"])
        self._wait(items[filled:])
        if self._rows > max(_LEAST, len(self._items)):
            self._add_waiting()
        sizes = np.array([len(part) for part in objects], np.int64)
        return Found(sizes, *(np.concatenate([_NO_ITEMS[name], *parts]) for name, parts in
                              (("tie", objects), ("score", scores))))  # fmt: skip

    def canonicalize(self, oldest: int) -> None:
        """Drop panes before `oldest`, so that the state does not depend on when rows were added."""
        self._add_waiting()
        live = self._items["expiry"] >= oldest
        if not live.all():
            self._items, self._codes = _skyband(self._items[live], self._k)

    @property
    def items(self) -> Array:
        """The kept rows in canonical form, as kskyband_kernels.ITEM with the pane as expiry and the object as tie."""
        return self._items

    @property
    def nbytes(self) -> int:
        """Bytes of the kept and the waiting rows."""
        return self._items.nbytes + self._codes.nbytes + sum(part.nbytes for part in self._waiting)

    def _wait(self, items: Array) -> None:
        if len(items):
            self._waiting.append(items)
            self._rows += len(items)

    def _add_waiting(self) -> None:
        if self._rows:
            self._items, self._codes = _skyband(np.concatenate([self._items, *self._waiting]), self._k)
            self._waiting, self._rows = [], 0

    def _best(self, start: int, k: int) -> Array:
        """The best row of each of the first k objects in the panes from `start` on."""
        self._add_waiting()
        return self._items[_first_of_each(self._items["expiry"], self._codes, start, min(k, len(self._items)))]


_NO_ITEMS = np.empty(0, kskyband_kernels.ITEM)


def _as_items(scheduler: Scheduler, last: int, rows: Rows) -> Array:
    """The rows with their panes: the start of the youngest window of each."""
    items = np.empty(len(rows.time), kskyband_kernels.ITEM)
    if len(items):
        starts = np.append(scheduler.latest_start(last), scheduler.panes(last, rows.time))
        items["expiry"] = starts[np.searchsorted(starts, rows.time, side="right") - 1]
    items["tie"], items["score"], items["key"] = rows.object, rows.score, rows.arrival
    return items


def _skyband(items: Array, k: int) -> tuple[Array, Int64]:
    """The items that may be in an answer, best first, and a number for the object of each."""
    ranked = items[np.lexsort((-items["key"], items["tie"], -items["score"]))]
    codes = _numbered(ranked["tie"])
    mask = _unbeaten(ranked["expiry"], codes, min(k, len(ranked)))
    return ranked[mask], codes[mask]


def _numbered(objects: Int64) -> Int64:
    numbers: Int64 = np.unique(objects, return_inverse=True)[1].astype(np.int64).reshape(-1)
    return numbers


@njit(cache=True)
def _unbeaten(panes: Any, codes: Int64, k: int) -> Any:
    """bool[n]: which rows, best first, are beaten neither by a row of their object nor by rows of k others. O(n k).

    `latest` has the latest pane of each object so far, `best` the k latest of these, ascending.
    """
    unbeaten = np.zeros(len(panes), np.bool_)
    latest, has_row = np.empty(len(panes), np.int64), np.zeros(len(panes), np.bool_)
    best, size = np.empty(max(k, 1), np.int64), 0
    for i in range(len(panes)):
        pane, code = panes[i], codes[i]
        if (has_row[code] and latest[code] >= pane) or (size == k and best[0] >= pane):
            continue
        unbeaten[i] = True
        place = 0  # of the entry to replace: the object's own, or else the least of k
        if has_row[code] and (size < k or latest[code] >= best[0]):
            place = np.searchsorted(best[:size], latest[code])
        elif size < k:
            place = size
            size += 1
        while place > 0 and best[place - 1] > pane:
            best[place] = best[place - 1]
            place -= 1
        while place + 1 < size and best[place + 1] < pane:
            best[place] = best[place + 1]
            place += 1
        best[place] = pane
        latest[code], has_row[code] = pane, True
    return unbeaten


@njit(cache=True)
def _first_of_each(panes: Any, codes: Int64, start: int, k: int) -> Int64:
    """int64[at most k]: the first row of each object in the panes from `start` on, with rows best first."""
    firsts, size, most = np.empty(k, np.int64), 0, -1
    for code in codes:
        most = max(most, code)
    is_found = np.zeros(most + 1, np.bool_)
    for i in range(len(panes)):
        if size == k:
            break
        if panes[i] >= start and not is_found[codes[i]]:
            is_found[codes[i]] = True
            firsts[size] = i
            size += 1
    return firsts[:size]
