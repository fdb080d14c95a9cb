"""object-ranker/sla: sorted lists, the paper's exact baseline, which keeps every valid report."""

from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from attrs import define, field
from skyband.arrays import Array, Float64, Int32, Int64
from skyband.config.parameters import integer
from skyband.roles import ObjectRanker
from skyband.roles.object_ranker import REDUCTIONS
from skyband.state_validation import StateReader
from sortedcontainers import SortedList

from skyband_incomplete.aggregates import scorer
from skyband_incomplete.reading import read_clock, read_reports


def _sum(values: deque[float]) -> float:
    """From the newest to the oldest, rounding at each step."""
    total = 0.0
    for value in reversed(values):
        total += value
    return total


REDUCE: Mapping[str | int, Callable[[deque[float]], float]] = {
    "latest": lambda values: values[-1],
    "largest": max,
    "smallest": min,
    "mean": lambda values: _sum(values) / len(values),
}
"""The reduction of one or more valid reports of a stream, by `repeats`; a promise sums them."""


@define
class Known:
    """An object's valid values per stream, oldest first, their reductions, and its number of reports per stream."""

    values: list[deque[float]]
    totals: list[float]
    counts: list[int]
    reduce: Callable[[deque[float]], float]
    valid: int = 0

    @classmethod
    def of(cls, streams: int, repeats: str | int) -> Self:
        """An object without reports."""
        return cls([deque() for _ in range(streams)], [0.0] * streams, [0] * streams, REDUCE.get(repeats, _sum))

    def reported(self, stream: int, once: bool) -> int:
        """How often it has reported a stream: in total since it is remembered (`once`), or the valid reports."""
        return self.counts[stream] if once else len(self.values[stream])

    def add(self, stream: int, value: float) -> None:
        """Add its newest value of a stream."""
        self.values[stream].append(value)
        self.counts[stream] += 1
        self.valid += 1
        self._reduce(stream)

    def drop(self, stream: int) -> None:
        """Drop its oldest value of a stream."""
        self.values[stream].popleft()
        self.valid -= 1
        self._reduce(stream)

    def _reduce(self, stream: int) -> None:
        values = self.values[stream]
        self.totals[stream] = self.reduce(values) if values else 0.0


Key = tuple[float, int]
"""(−score, object): ascending is the order of an answer."""

_LAST: Key = (float("inf"), 0)
_BYTES_A_REPORT, _BYTES_AN_ENTRY = 32, 16


@define(eq=False)
class SortedLists(ObjectRanker):
    """Keeps every valid report in one sorted list for each stream: the paper's exact baseline.

    A view holds the answer and some more objects, up to `kmax`, and is updated with every report. When reports expire
    and fewer than k objects are left in the view, the threshold algorithm refills it: it reads the lists in parallel
    from their tops, scores each object that it finds, and stops once no object further down can enter the view.

    Parameters
    ----------
    by : str, default "time"
        whether windows are times or row counts (one of time, rows)
    k : int
        objects in an answer (at least 1)
    window : int
        length of the window, in the unit of the times or in rows (at least 1)
    streams : int
        number of streams that report attributes, numbered from 0 (at least 1 and at most 65536)
    aggregate : str | weights | function, default "sum"
        score of an object from its valid values, one per stream, 0 if it has none (sum, mean, min, max, a weight
        per stream, or a monotone function)
    upper : float, default 1.0
        no value is above this (above 0)
    lower : float, default 0.0
        no value is below this; may be below 0 if `repeats` is latest, largest, smallest or mean (at most 0)
    repeats : str | int, default "latest"
        which of an object's valid reports in a stream counts: the latest, largest, smallest or mean; or a promise
        that it reports never again, at most once per window, or m times per window, summed (latest, largest,
        smallest, mean, never, per-window, or a number)
    kmax : int, default None
        objects in the maintained view; none: 2·k (at least 1)

    Complexity
    ----------
    A report costs O(streams + log n), and O(r) for the r valid reports of its object in its stream. Filling the view
    reads as much of the lists as the threshold algorithm needs, in the worst case all. Memory is O(n) for n valid
    reports, which `len` counts.

    References
    ----------
    Haghani, Michel and Aberer, Evaluating top-k queries over incomplete data streams, CIKM 2009, section 3.1 (SLA).
    Threshold algorithm: Fagin, Lotem and Naor, PODS 2001. View of more than k objects: Yi et al., ICDE 2003, corrected
    for falling scores.

    Examples
    --------
    >>> import skyband
    >>> ranker = skyband.create("object-ranker", "sla", k=2, window=10, streams=2)
    >>> ranker.update(times=[1, 2, 3], streams=[0, 1, 0], objects=[7, 7, 8], values=[0.5, 0.25, 0.625])
    >>> objects, scores = ranker.top()
    >>> objects.tolist(), scores.tolist()
    ([7, 8], [0.75, 0.625])
    """

    name: ClassVar[str] = "sla"

    kmax: int | None = integer(None, at_least=1, help="objects in the maintained view; none: 2·k")

    _score: Callable[[list[float]], float] = field(init=False, repr=False)
    _reports: deque[tuple[int, int, int, float]] = field(factory=deque, init=False, repr=False)
    _known: dict[int, Known] = field(factory=dict, init=False, repr=False)
    _lists: list[Any] = field(init=False, repr=False)
    _view: Any = field(factory=SortedList, init=False, repr=False)
    _bound: Key = field(default=_LAST, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._score = scorer(self.aggregate)
        self._lists = [SortedList() for _ in range(self.streams)]

    def __len__(self) -> int:
        self._expire(self._now)
        return len(self._reports)

    @property
    def nbytes(self) -> int:
        """Bytes of reports, sorted lists and view, as if in flat arrays."""
        entries = sum(map(len, self._lists)) + len(self._view)
        return _BYTES_A_REPORT * len(self._reports) + _BYTES_AN_ENTRY * entries + 8 * self.streams * len(self._known)

    def _update(self, times: Int64, streams: Int32, objects: Int64, values: Float64) -> None:
        rows = zip(times.tolist(), streams.tolist(), objects.tolist(), (values + 0.0).tolist(), strict=True)
        step = self.by == "rows"
        for row in rows:
            self._expire(row[0] + step)
            self._add(row)

    def _add(self, row: tuple[int, int, int, float]) -> None:
        _, stream, name, value = row
        entry = self._known.get(name)
        if entry is None:
            entry = self._known[name] = Known.of(self.streams, self.repeats)
        promised = self.repeats not in REDUCTIONS
        if promised and entry.reported(stream, once=self.repeats == "never") >= self.occurrences:
            self._repeated += 1
            return
        self._reports.append(row)
        self._change(name, entry, stream, partial(entry.add, stream, value))

    def _expire(self, now: int | None) -> None:
        while self._reports and now is not None and self._reports[0][0] < now - self.window:
            _, stream, name, _ = self._reports.popleft()
            entry = self._known[name]
            self._change(name, entry, stream, partial(entry.drop, stream))
            if not entry.valid:
                del self._known[name]

    def _change(self, name: int, entry: Known, stream: int, change: Callable[[], None]) -> None:
        """Add or drop a report, and update its object in the sorted list and the view."""
        values = self._lists[stream]
        if entry.values[stream]:
            values.remove((-entry.totals[stream], name))
        before = self._key(name, entry) if entry.valid else None
        change()
        if entry.values[stream]:
            values.add((-entry.totals[stream], name))
        if before is not None and before < self._bound:
            self._view.remove(before)
        if entry.valid:
            self._enter(self._key(name, entry))

    def _key(self, name: int, entry: Known) -> Key:
        return -self._score(entry.totals), name

    def _enter(self, key: Key) -> None:
        """Add to the view, unless an object outside may rank before it."""
        if key < self._bound:
            self._view.add(key)
            if len(self._view) > self._widest:
                self._bound = self._view.pop()

    @property
    def _widest(self) -> int:
        return max(self.k, 2 * self.k if self.kmax is None else self.kmax)

    def top(self) -> tuple[Int64, Float64]:
        """The answer at `now`: O(k) from the view, or as far down the lists as needed to refill it."""
        self._expire(self._now)
        if len(self._view) < self.k and self._bound != _LAST:
            self._fill()
        best = self._view[: self.k]
        return np.array([name for _, name in best], np.int64), np.array([0.0 - score for score, _ in best])

    def _fill(self) -> None:
        """The threshold algorithm, for one more object than the view holds: its key bounds the rest."""
        lists: Any = SortedList()
        names: set[int] = set()
        depth, most = 0, self._widest + 1
        while depth < max(map(len, self._lists)):
            tops = [values[depth] if depth < len(values) else (0.0, None) for values in self._lists]
            for _, name in tops:
                if name is not None and name not in names:
                    names.add(name)
                    lists.add(self._key(name, self._known[name]))
            depth += 1
            # An object further down has at most these values, or 0 if it has none.
            threshold = -self._score([max(0.0, 0.0 - value) for value, _ in tops])
            if len(lists) >= most and lists[most - 1][0] < threshold:
                break
        self._bound = lists[most - 1] if len(lists) >= most else _LAST
        self._view = SortedList(lists[: most - 1])

    def _state(self) -> dict[str, Array]:
        self._expire(self._now)
        times, streams, objects, values = zip(*self._reports, strict=True) if self._reports else ((), (), (), ())
        names = sorted(self._known)
        clock = [] if self._now is None else [self._now]
        counts = [self._known[name].counts for name in names]
        return {
            "clock": np.array([self._repeated, *clock], np.int64),
            "times": np.array(times, np.int64),
            "streams": np.array(streams, np.int32),
            "objects": np.array(objects, np.int64),
            "values": np.array(values, np.float64),
            "seen": np.array(counts, np.int64).reshape(-1),
        }

    def _load(self, state: Mapping[str, Array]) -> None:
        reader = StateReader(state)
        self._now, self._repeated = read_clock(reader)
        rows = zip(*(column.tolist() for column in read_reports(reader, self)), strict=True)
        for row in rows:
            _, stream, name, value = row
            entry = self._known.setdefault(name, Known.of(self.streams, self.repeats))
            self._reports.append(row)
            self._change(name, entry, stream, partial(entry.add, stream, value))
        numbers = reader.column("seen", np.int64, len(self._known) * self.streams, at_least=0).reshape(-1, self.streams)
        for name, counts in zip(sorted(self._known), numbers.tolist(), strict=True):
            self._known[name].counts = counts
