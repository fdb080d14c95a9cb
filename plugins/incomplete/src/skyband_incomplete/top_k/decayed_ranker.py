"""Ranks objects by values that decay with time, which no object ranker can do, as all scores always change."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from skyband.arrays import Array, Float64, Int32, Int64
from skyband.errors import SnapshotError
from skyband.windows.half_lives import left_after

_REPORT = 28
"""Bytes."""


class _Reports(NamedTuple):
    """Reports in order of arrival."""

    times: Int64
    streams: Int32
    objects: Int64
    values: Float64

    def pick(self, which: Any) -> "_Reports":
        return _Reports(*(column[which] for column in self))

    def and_then(self, others: "_Reports") -> "_Reports":
        return _Reports(*(np.concatenate(both) for both in zip(self, others, strict=True)))  # type: ignore[arg-type]


_KINDS = dict(zip(_Reports._fields, (np.int64, np.int32, np.int64, np.float64), strict=True))
_NO_REPORTS = _Reports(*(np.empty(0, kind) for kind in _KINDS.values()))


class DecayedRanker:
    """Ranks objects by reports that lose half their worth with each half-life since arrival.

    It is used like an object ranker. Each answer weights the reports of its window by their age at that time, so that
    nothing grows with the stream, and answers do not depend on batches. It keeps the latest report per object and
    stream if only that counts, else all of the window. An answer costs O(n log n) for n reports.

    Forward decay (Cormode, Shkapenyuk, Srivastava and Xu, ICDE 2009, section 3) gives each report a constant number,
    which orders single reports but not their sums, so it is not used here.
    """

    by = "time"
    repeated = 0

    def __init__(self, parameters: Mapping[str, Any], every: int, half_life: int) -> None:
        """parameters: of an object ranker. every, half_life: in the unit of the times."""
        self._k, self._window, self._streams = (parameters[name] for name in ("k", "window", "streams"))
        self._bounds = parameters["lower"], parameters["upper"]
        self._aggregate, self._repeats = parameters["aggregate"], parameters["repeats"]
        self._every, self._half_life = every, half_life
        self._reports = _NO_REPORTS

    def answers(
        self, times: Int64, streams: Int32, objects: Int64, values: Float64, moments: Int64
    ) -> tuple[Int64, Int64, Float64]:
        """`ObjectRanker.answers`: the answer at a moment refers to the time after it."""
        self._reports = self._reports.and_then(_Reports(times, streams, objects, values))
        best = []
        for moment in moments.tolist():
            first, stop = np.searchsorted(self._reports.times, [moment - self._window, moment], side="left")
            stop += int(np.searchsorted(self._reports.times[stop:], moment, side="right"))
            inside, later = self._reports.pick(slice(first, stop)), self._reports.pick(slice(stop, None))
            counted, order = self._counted(inside)
            best.append(self._best(counted.pick(order), moment + 1))
            oldest = moment + self._every - self._window
            self._reports = counted.pick(counted.times >= oldest).and_then(later)
        offsets = np.cumsum([0, *(len(objects) for objects, _ in best)], dtype=np.int64)
        ranked = np.concatenate([np.empty(0, np.int64), *(objects for objects, _ in best)])
        return offsets, ranked, np.concatenate([np.empty(0), *(scores for _, scores in best)])

    def _counted(self, reports: _Reports) -> tuple[_Reports, Int64]:
        """The reports that can still count, and their order by object and stream, then arrival."""
        order = np.lexsort((reports.streams, reports.objects))
        if self._repeats != "latest":
            return reports, order
        last = np.sort(order[_begins(reports.pick(order[::-1]))[::-1]])
        latest = reports.pick(last)
        return latest, np.lexsort((latest.streams, latest.objects))

    def _best(self, reports: _Reports, at: int) -> tuple[Int64, Float64]:
        """The best objects of reports ordered by object and stream, and their scores."""
        weighed = reports.values * left_after(at - reports.times, self._half_life)
        starts = np.flatnonzero(_begins(reports))
        cells = reports.pick(starts)
        begins = np.append(True, cells.objects[1:] != cells.objects[:-1])[: len(starts)]
        objects = cells.objects[begins]
        scores = self._scores(self._values(weighed, starts), cells.streams, np.flatnonzero(begins)) + 0.0
        best = np.lexsort((objects, -scores))[: self._k]
        return objects[best], scores[best]

    def _values(self, weighed: Float64, starts: Int64) -> Float64:
        """The reduced value of each object and stream."""
        if self._repeats == "latest" or not len(starts):
            return weighed
        if self._repeats != "mean":
            reduced = np.maximum if self._repeats == "largest" else np.minimum
            return np.asarray(reduced.reduceat(weighed, starts), np.float64)
        sizes = np.diff(np.append(starts, len(weighed)))
        # Summed one by one, from the newest on: the same on every machine, and in small groups.
        cells = np.repeat(np.arange(len(starts)), sizes)
        return np.asarray(np.bincount(cells[::-1], weighed[::-1]) / sizes, np.float64)

    def _scores(self, values: Float64, streams: Int32, starts: Int64) -> Float64:
        """The scores of objects, whose first values are at `starts`; missing values count as 0."""
        sizes = np.diff(np.append(starts, len(values)))
        if self._aggregate in ("min", "max") and len(starts):
            reduced = np.maximum if self._aggregate == "max" else np.minimum
            scores = reduced.reduceat(values, starts)
            return np.asarray(np.where(sizes < self._streams, reduced(scores, 0.0), scores), np.float64)
        weights = 1.0 if isinstance(self._aggregate, str) else np.array(self._aggregate, np.float64)[streams]
        sums = np.bincount(np.repeat(np.arange(len(starts)), sizes), values * weights, len(starts))
        return np.asarray(sums / (self._streams if self._aggregate == "mean" else 1), np.float64)

    def __len__(self) -> int:
        return len(self._reports.times)

    @property
    def nbytes(self) -> int:
        """Bytes of the reports."""
        return _REPORT * len(self)

    def dump_state(self) -> dict[str, Array]:
        """The reports as flat arrays."""
        return self._reports._asdict()

    def load_state(self, arrays: Mapping[str, Array]) -> None:
        """Restore the output of `dump_state`. Raises SnapshotError if it is anything else."""
        columns = [arrays.get(name, np.empty(0)) for name in _KINDS]
        if [(column.dtype, column.ndim) for column in columns] != [(np.dtype(kind), 1) for kind in _KINDS.values()]:
            raise SnapshotError("of decayed values lacks the columns of its reports")
        if len({len(column) for column in columns}) != 1:
            raise SnapshotError("of decayed values has columns of several lengths")
        reports = _Reports(*columns)
        lower, upper = self._bounds
        fine = (reports.streams >= 0) & (reports.streams < self._streams)
        fine &= (reports.values >= lower) & (reports.values <= upper) & (np.abs(reports.times) <= 2**62)
        if not fine.all() or (reports.times[1:] < reports.times[:-1]).any():
            raise SnapshotError("of decayed values holds impossible reports")
        self._reports = reports


def _begins(reports: _Reports) -> Array:
    """bool[n]: whether a new object or stream begins at each report."""
    objects, streams = reports.objects, reports.streams
    return np.append(True, (objects[1:] != objects[:-1]) | (streams[1:] != streams[:-1]))[: len(objects)]
