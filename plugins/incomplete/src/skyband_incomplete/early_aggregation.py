"""The base of eaa and approx: takes in reports and answers through the kernels."""

from abc import abstractmethod
from collections.abc import Callable

import numpy as np
from attrs import define, field
from skyband.arrays import Float64, Int32, Int64

from skyband_incomplete import kernels
from skyband_incomplete.aggregates import finite
from skyband_incomplete.eaa_arrays import HIGHEST, INSTANCES, LOWEST, Rows
from skyband_incomplete.early_aggregation_state import Holding

ALWAYS, NEVER = -1.0, 2.0
"""Values of `_thrift`."""

_PIECE = 4096
"""The fewest rows to take in at once."""

_ANSWERS = 2**20
"""The most objects in one piece of answers."""


@define(eq=False)
class InstanceRanker(Holding):
    """Early aggregation without a policy: a subclass decides when to drop doomed instances."""

    _at: int | None = field(default=None, init=False, repr=False)
    """The time of the last row taken in, which within a batch is ahead of `_now`."""

    @property
    @abstractmethod
    def _thrift(self) -> float:
        """The share of reports that must be doomed before an answer drops them."""

    def _update(self, times: Int64, streams: Int32, objects: Int64, values: Float64) -> None:
        none = np.empty(0, np.int64)
        self._replay(Rows(times, streams, objects, values), none, none)

    def top(self) -> tuple[Int64, Float64]:
        """The answer at `now`, by one sweep: O(retained · (streams + log k))."""
        if self._now is None:
            return np.empty(0, np.int64), np.empty(0)
        rows = Rows(np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0))
        first = np.array([self._first(self._now)])
        return self._replay(rows, np.zeros(1, np.int64), first)[1:]

    def _answers(
        self, times: Int64, streams: Int32, objects: Int64, values: Float64, moments: Int64
    ) -> tuple[Int64, Int64, Float64]:
        stops = np.searchsorted(times, moments, side="left" if self.by == "rows" else "right").astype(np.int64)
        firsts = self._firsts(moments)
        answers = self._replay(Rows(times, streams, objects, values), stops, firsts)
        reached = [self._reached(times)] if len(times) else []
        self._now = max([*reached, *moments[-1:].tolist()], default=self._now)
        return answers

    def _firsts(self, moments: Int64) -> Int64:
        """int64[q]: the oldest valid time at each moment."""
        if self.window > HIGHEST:
            return np.array([self._first(moment) for moment in moments.tolist()], np.int64)
        return np.where(moments < LOWEST + self.window, LOWEST, moments - self.window)

    def _replay(self, rows: Rows, stops: Int64, firsts: Int64) -> tuple[Int64, Int64, Float64]:
        """Take in rows and answer, like `kernels.replay`."""
        return self._take_in(rows, stops, firsts)[1:]

    def _take_in(self, rows: Rows, stops: Int64, firsts: Int64) -> tuple[int, Int64, Int64, Float64]:
        """`_replay`, until the window holds more than `_rule.limit` reports; first returns the number of rows taken in.

        It takes in pieces, so that memory depends on the retained reports.
        """
        start, rows_done = 0, 0
        now = max((moment for moment in (self._at, self._now) if moment is not None), default=None)
        at_once = max(1, _ANSWERS // min(self.k, _ANSWERS))
        if len(rows.time) + len(firsts) > 0 and len(rows.time) <= self._piece and len(firsts) <= at_once:
            self._make_room(len(rows.time), now)
            full, offsets, found, points = self._run(rows.part(0, len(rows.time)), stops, firsts)
            start = min(full + 1, len(rows.time))
            self._at = self._reached(rows.time[:start]) if start else now
            return start, offsets, found, points
        sizes, ids, scores = [np.zeros(1, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]
        while start < len(rows.time) or rows_done < len(firsts):
            stop = min(len(rows.time), start + self._piece)
            until = int(np.searchsorted(stops, stop, side="right"))
            if until > rows_done + at_once:
                until = rows_done + at_once
                stop = int(stops[until - 1])
            self._make_room(stop - start, now)
            piece = rows.part(start, stop)
            full, offsets, found, points = self._run(piece, stops[rows_done:until] - start, firsts[rows_done:until])
            sizes.append(np.diff(offsets))
            ids.append(found)
            scores.append(points)
            start, rows_done = min(start + full + 1, stop), until
            if start:
                now = self._reached(rows.time[:start])
            if full < len(piece.time):
                break
        self._at = now
        return start, np.cumsum(np.concatenate(sizes)), np.concatenate(ids), np.concatenate(scores)

    @property
    def _piece(self) -> int:
        """How many rows to make room for at once: few if an answer scans all the room."""
        return max(_PIECE, 2 * self._counted if self._live is None else self._counted // 2)

    @property
    def _counted(self) -> int:
        """About how many instances there are, at the last answer."""
        return int(self._cursor[INSTANCES]) if self._live is None else self._live.live

    def _run(self, rows: Rows, stops: Int64, firsts: Int64) -> tuple[int, Int64, Int64, Float64]:
        """Process one piece, for which there is room; ends like `kernels.replay`."""
        width = min(self.k, len(self._slots.place) if self._live is None else self._live.objects)
        offsets = np.zeros(len(firsts) + 1, np.int64)
        ids, scores = np.empty(len(firsts) * width, np.int64), np.empty(len(firsts) * width)
        full = len(rows.time)
        if self._live is not None:
            self._live.replay(rows, stops, firsts, offsets, ids, scores)
        elif callable(self.aggregate):
            full = self._run_called(rows, stops, firsts, offsets, ids, scores)
        else:
            parts = (self._rule, self._cursor, self._reports, self._slots, self._log, self._heap)
            full = kernels.replay(rows, stops, firsts, self._thrift, *parts, offsets, ids, scores)
        if full < len(rows.time):
            offsets = offsets[: np.searchsorted(stops, full, side="right") + 1]
        return full, offsets, ids[: offsets[-1]], scores[: offsets[-1]]

    def _run_called(self, rows: Rows, stops: Int64, firsts: Int64, offsets: Int64, ids: Int64, scores: Float64) -> int:
        start = 0
        parts = (self._rule, self._cursor, self._reports, self._slots)
        for turn, (stop, first) in enumerate(zip(stops.tolist(), firsts.tolist(), strict=True)):
            full = int(kernels.insert(rows, start, stop, *parts, self._log))
            if full < stop:
                return full
            self._sweep(first, self._thrift)
            begin = offsets[turn]
            offsets[turn + 1] = begin + kernels.drain(self._heap, self._slots, ids[begin:], scores[begin:])
            start = stop
        return int(kernels.insert(rows, start, len(rows.time), *parts, self._log))

    def _sweep(self, first: int, thrift: float) -> None:
        """Find the live instances of the window that begins at `first`, and drop the rest according to `thrift`."""
        parts = (self._rule, self._cursor, self._reports, self._slots)
        if not callable(self.aggregate):
            kernels.sweep(first, thrift, *parts, self._heap)
            return
        kernels.expire(first, self._cursor, self._reports, self._slots)
        self._call(finite(self.aggregate))
        doomed = kernels.rank(*parts, self._heap)
        if doomed >= thrift * self._valid_reports:
            kernels.compact(*parts[1:])

    def _call(self, score: Callable[[Float64], float]) -> None:
        shape = (self._valid_reports, self.streams)
        which, values, reachable = np.empty(shape[0], np.int64), np.empty(shape), np.empty(shape)
        parts = (self._rule, self._cursor, self._reports, self._slots)
        count = kernels.vectors(*parts, which, values, reachable)
        self._reports.current[which[:count]] = [score(row) for row in values[:count]]
        self._reports.best[which[:count]] = [score(row) for row in reachable[:count]]
