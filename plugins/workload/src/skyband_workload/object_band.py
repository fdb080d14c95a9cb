"""A k-skyband of objects, for answers that have each object once: in its best row of the window."""

from typing import Any

import numpy as np
import skyband.kernels.numba_compiler_patches  # noqa: F401 - has numba go on where it can keep nothing
from numba import njit
from skyband.arrays import Array, Float64, Int64
from skyband.kernels import kskyband_kernels

from skyband_workload.extractor import Found
from skyband_workload.scheduler import Moments, Scheduler
from skyband_workload.table import Rows

_LEAST = 256
"""Rows that wait, at least, before what is kept is looked through."""


class ObjectBand:
    """The rows that may be in an answer to come, best first: score descending, then object, then the latest.

    A row is in none where its own object has a better one, or an equal one that is later, of its own or a later pane;
    or where k other objects have. The answer over the panes from one on is then the first k objects kept of these: each
    has its best row of them, and what was dropped is beaten by k. Rows wait for the next answer.
    """

    def __init__(self, k: int, items: Array) -> None:
        self._k = k
        self._items, self._codes = _kept(items, k)
        self._waiting: list[Array] = []
        self._rows = 0

    def execute(self, scheduler: Scheduler, last: int, rows: Rows, moments: Moments) -> Found:
        """Take in rows, before which `last` was the time of the latest, and answer moments, in order of time."""
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
            self._look_through()
        sizes = np.array([len(part) for part in objects], np.int64)
        return Found(sizes, *(np.concatenate([_NONE[name], *parts]) for name, parts in
                              (("tie", objects), ("score", scores))))  # fmt: skip

    def canonicalize(self, oldest: int) -> None:
        """Let go of panes before `oldest`, so that what is kept does not tell when rows were looked through."""
        self._look_through()
        live = self._items["expiry"] >= oldest
        if not live.all():
            self._items, self._codes = _kept(self._items[live], self._k)

    @property
    def items(self) -> Array:
        """What is kept, in canonical form: of kskyband_kernels.ITEM, its expiry the pane, its tie the object."""
        return self._items

    @property
    def nbytes(self) -> int:
        """Of what is kept and what waits."""
        return self._items.nbytes + self._codes.nbytes + sum(part.nbytes for part in self._waiting)

    def _wait(self, items: Array) -> None:
        if len(items):
            self._waiting.append(items)
            self._rows += len(items)

    def _look_through(self) -> None:
        if self._rows:
            self._items, self._codes = _kept(np.concatenate([self._items, *self._waiting]), self._k)
            self._waiting, self._rows = [], 0

    def _best(self, start: int, k: int) -> Array:
        """The best row of each of the first k objects among the panes from `start` on."""
        self._look_through()
        return self._items[_first_of_each(self._items["expiry"], self._codes, start, min(k, len(self._items)))]


_NONE = np.empty(0, kskyband_kernels.ITEM)


def _as_items(scheduler: Scheduler, last: int, rows: Rows) -> Array:
    """The rows with their panes: where the youngest window that each falls into begins."""
    items = np.empty(len(rows.time), kskyband_kernels.ITEM)
    if len(items):
        starts = np.append(scheduler.latest_start(last), scheduler.panes(last, rows.time))
        items["expiry"] = starts[np.searchsorted(starts, rows.time, side="right") - 1]
    items["tie"], items["score"], items["key"] = rows.object, rows.score, rows.arrival
    return items


def _kept(items: Array, k: int) -> tuple[Array, Int64]:
    """Those of the items that an answer may have, best first, and a number for the object of each."""
    ranked = items[np.lexsort((-items["key"], items["tie"], -items["score"]))]
    codes = _numbered(ranked["tie"])
    mask = _unbeaten(ranked["expiry"], codes, min(k, len(ranked)))
    return ranked[mask], codes[mask]


def _numbered(objects: Int64) -> Int64:
    numbers: Int64 = np.unique(objects, return_inverse=True)[1].astype(np.int64).reshape(-1)
    return numbers


@njit(cache=True)
def _unbeaten(panes: Any, codes: Int64, k: int) -> Any:
    """bool[n]: of rows best first, those that neither a row of their object nor those of k others beat. O(n k).

    `latest` has the latest pane of each object so far, `best` the k latest of these, ascending.
    """
    kept = np.zeros(len(panes), np.bool_)
    latest, known = np.empty(len(panes), np.int64), np.zeros(len(panes), np.bool_)
    best, size = np.empty(max(k, 1), np.int64), 0
    for i in range(len(panes)):
        pane, code = panes[i], codes[i]
        if (known[code] and latest[code] >= pane) or (size == k and best[0] >= pane):
            continue
        kept[i] = True
        place = 0  # of the entry that goes: the object's own, or else the least of k
        if known[code] and (size < k or latest[code] >= best[0]):
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
        latest[code], known[code] = pane, True
    return kept


@njit(cache=True)
def _first_of_each(panes: Any, codes: Int64, start: int, k: int) -> Int64:
    """int64[at most k]: of rows best first, the first of each object among the panes from `start` on."""
    firsts, size, most = np.empty(k, np.int64), 0, -1
    for code in codes:
        most = max(most, code)
    seen = np.zeros(most + 1, np.bool_)
    for i in range(len(panes)):
        if size == k:
            break
        if panes[i] >= start and not seen[codes[i]]:
            seen[codes[i]] = True
            firsts[size] = i
            size += 1
    return firsts[:size]
