"""What eaa and approx share: the arrays behind the kernels, their growth, and their snapshot."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import define, field
from skyband.arrays import Array, Float64, Int32, Int64
from skyband.roles import ObjectRanker

from skyband_incomplete import kernels
from skyband_incomplete.kernels import Heap, Log, Reports, Rows, Rule, Slots

_LOWEST, _HIGHEST, _OLDEST = -(2**63), 2**63 - 1, 2**64 - 1
_LEAST = 1024
_PIECE = 4096
_ANSWERS = 2**20
ALWAYS, NEVER = -1.0, 2.0


@define(eq=False)
class InstanceRanker(ObjectRanker):
    """Early aggregation without a policy of its own: a subclass says when to let go of doomed instances."""

    _rule: Rule = field(init=False, repr=False)
    _cursor: Int64 = field(init=False, repr=False)
    _reports: Reports = field(init=False, repr=False)
    _slots: Slots = field(init=False, repr=False)
    _log: Log = field(init=False, repr=False)
    _heap: Heap = field(init=False, repr=False)
    _at: int | None = field(default=None, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._rule = _rule(self)
        self._cursor = np.zeros(kernels.CURSOR, np.int64)
        self._reports = _reports(_LEAST)
        self._slots = _slots(_LEAST, self.streams)
        self._heap = _heap(self.k, _LEAST)
        self._log = _log(0 if self._rule.once else _LEAST)

    @property
    def _thrift(self) -> float:
        """The part of the reports that must be doomed before an answer lets go of them."""
        raise NotImplementedError

    def _relieve(self, first: int) -> None:
        """Make room in the reports, all before `first` being expired."""
        raise NotImplementedError

    def _drop_expired(self, first: int) -> None:
        """Make room without letting go of anything that is valid."""
        kernels.expire(first, self._cursor, self._reports, self._slots)
        self._reports.alive[self._cursor[kernels.HEAD] : self._cursor[kernels.TAIL]] = True
        kernels.compact(self._cursor, self._reports, self._slots)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays, spare room included."""
        parts = (self._reports, self._slots, self._log, self._heap, (self._cursor,))
        return int(sum(array.nbytes for part in parts for array in part))

    @property
    def repeated(self) -> int:
        """Reports left out because they broke the promise `repeats`."""
        return int(self._cursor[kernels.REPEATED])

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

    def _first(self, now: int) -> int:
        """The oldest valid time at `now`."""
        return min(max(now - self.window, _LOWEST), _HIGHEST)

    def _firsts(self, moments: Int64) -> Int64:
        if self.window > _HIGHEST:
            return np.array([self._first(moment) for moment in moments.tolist()], np.int64)
        return np.where(moments < _LOWEST + self.window, _LOWEST, moments - self.window)

    def _replay(self, rows: Rows, stops: Int64, firsts: Int64) -> tuple[Int64, Int64, Float64]:
        """Take in rows piece by piece, so that memory follows what is retained; answer as `kernels.replay` does."""
        start, done = 0, 0
        now = self._now if self._at is None else max(self._at, self._now or self._at)
        sizes, ids, scores = [np.zeros(1, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]
        at_once = max(1, _ANSWERS // min(self.k, _ANSWERS))
        while start < len(rows.time) or done < len(firsts):
            stop = min(len(rows.time), start + max(_PIECE, 2 * int(self._cursor[kernels.INSTANCES])))
            until = int(np.searchsorted(stops, stop, side="right"))
            if until > done + at_once:
                until = done + at_once
                stop = int(stops[until - 1])
            self._make_room(stop - start, now)
            piece = rows.part(start, stop)
            offsets, found, points = self._run(piece, stops[done:until] - start, firsts[done:until])
            sizes.append(np.diff(offsets))
            ids.append(found)
            scores.append(points)
            if stop > start:
                now = self._reached(piece.time)
            start, done = stop, until
        self._at = now
        return np.cumsum(np.concatenate(sizes)), np.concatenate(ids), np.concatenate(scores)

    def _run(self, rows: Rows, stops: Int64, firsts: Int64) -> tuple[Int64, Int64, Float64]:
        """One piece, for which there is room."""
        width = min(self.k, len(self._slots.place))
        offsets = np.zeros(len(firsts) + 1, np.int64)
        ids, scores = np.empty(len(firsts) * width, np.int64), np.empty(len(firsts) * width)
        if callable(self.aggregate):
            self._run_called(rows, stops, firsts, offsets, ids, scores)
        else:
            parts = (self._rule, self._cursor, self._reports, self._slots, self._log, self._heap)
            kernels.replay(rows, stops, firsts, self._thrift, *parts, offsets, ids, scores)
        return offsets, ids[: offsets[-1]], scores[: offsets[-1]]

    def _run_called(self, rows: Rows, stops: Int64, firsts: Int64, offsets: Int64, ids: Int64, scores: Float64) -> None:
        start = 0
        parts = (self._rule, self._cursor, self._reports, self._slots)
        for turn, (stop, first) in enumerate(zip(stops.tolist(), firsts.tolist(), strict=True)):
            kernels.insert(rows, start, stop, *parts, self._log)
            self._sweep(first, self._thrift)
            begin = offsets[turn]
            offsets[turn + 1] = begin + kernels.drain(self._heap, self._slots, ids[begin:], scores[begin:])
            start = stop
        kernels.insert(rows, start, len(rows.time), *parts, self._log)

    def _sweep(self, first: int, thrift: float) -> None:
        """Find what lives on at the window that begins at `first`, and let go of the rest as `thrift` says."""
        parts = (self._rule, self._cursor, self._reports, self._slots)
        if not callable(self.aggregate):
            kernels.sweep(first, thrift, *parts, self._heap)
            return
        kernels.expire(first, self._cursor, self._reports, self._slots)
        self._call(self.aggregate)
        doomed = kernels.rank(*parts, self._heap)
        if doomed >= thrift * self._valid_reports:
            kernels.compact(*parts[1:])

    def _call(self, score: Callable[[Float64], float]) -> None:
        shape = (self._valid_reports, self.streams)
        which, known, reachable = np.empty(shape[0], np.int64), np.empty(shape), np.empty(shape)
        parts = (self._rule, self._cursor, self._reports, self._slots)
        found = kernels.vectors(*parts, which, known, reachable)
        self._reports.current[which[:found]] = [score(row) for row in known[:found]]
        self._reports.best[which[:found]] = [score(row) for row in reachable[:found]]

    @property
    def _valid_reports(self) -> int:
        return int(self._cursor[kernels.TAIL] - self._cursor[kernels.HEAD])

    def _make_room(self, rows: int, now: int | None) -> None:
        first = _LOWEST if now is None else self._first(now)
        if self._cursor[kernels.TAIL] + rows > len(self._reports.time):
            self._relieve(first)
            needed = 2 * (int(self._cursor[kernels.TAIL]) + rows)
            if needed > len(self._reports.time):
                self._reports = Reports(*(_longer(column, needed) for column in self._reports))
        if not self._rule.once and self._cursor[kernels.LOG_TAIL] + rows > len(self._log.time):
            self._log = self._valid_log(first, rows)
        if self._cursor[kernels.USED] + rows > len(self._slots.place):
            self._gather_slots(first, rows)

    def _valid_log(self, first: int, rows: int) -> Log:
        """The log without what expired before `first`, with room for `rows` more."""
        kernels.forget(first, self._cursor, self._slots, self._log)
        span = slice(int(self._cursor[kernels.LOG_HEAD]), int(self._cursor[kernels.LOG_TAIL]))
        length = span.stop - span.start
        self._cursor[kernels.LOG_HEAD], self._cursor[kernels.LOG_TAIL] = 0, length
        return Log(*(_longer(column[span], max(_LEAST, 2 * (length + rows))) for column in self._log))

    def _gather_slots(self, first: int, rows: int) -> None:
        kernels.expire(first, self._cursor, self._reports, self._slots)
        if not self._rule.once:
            kernels.forget(first, self._cursor, self._slots, self._log)
        used = int((self._slots.facts[: self._cursor[kernels.USED], kernels.LAST] >= first).sum())
        kept = _slots(max(len(self._slots.place), 2 * (used + rows)), self.streams)
        kernels.gather_slots(first, self._cursor, self._reports, self._slots, self._log, kept)
        self._slots = kept
        self._heap = _heap(self.k, len(kept.place))

    def _state(self) -> dict[str, Array]:
        first = _LOWEST if self._now is None else self._first(self._now)
        self._relieve(first)
        used, tail = int(self._cursor[kernels.USED]), int(self._cursor[kernels.TAIL])
        reports, slots = self._reports, self._slots
        objects, last = slots.facts[:used, kernels.OBJECT], slots.facts[:used, kernels.LAST]
        clock = [] if self._now is None else [self._now]
        state: dict[str, Array] = {
            "clock": np.array([self.repeated, *clock], np.int64),
            "times": reports.time[:tail],
            "streams": reports.stream[:tail],
            "objects": objects[reports.slot[:tail]],
            "values": reports.value[:tail],
        }
        if self._rule.once:
            valid = np.flatnonzero(last >= first)
            valid = valid[np.argsort(objects[valid])]
            state |= {
                "seen_objects": objects[valid],
                "seen_last": last[valid],
                "seen_counts": slots.counts[valid].reshape(-1),
            }
            return state
        kernels.forget(first, self._cursor, slots, self._log)
        span = slice(int(self._cursor[kernels.LOG_HEAD]), int(self._cursor[kernels.LOG_TAIL]))
        state |= {
            "log_times": self._log.time[span],
            "log_streams": self._log.stream[span],
            "log_objects": objects[self._log.slot[span]],
        }
        return state

    def _load(self, state: Mapping[str, Array]) -> None:
        clock = state["clock"].tolist()
        self._now = clock[1] if len(clock) > 1 else None
        self._cursor[kernels.REPEATED] = clock[0]
        seen = state["seen_objects"] if self._rule.once else np.unique(state["log_objects"])
        used, tail = len(seen), len(state["times"])
        self._slots = _slots(max(_LEAST, 2 * used), self.streams)
        self._heap = _heap(self.k, len(self._slots.place))
        self._slots.facts[:used, kernels.OBJECT] = seen
        if self._rule.once:
            self._slots.facts[:used, kernels.LAST] = state["seen_last"]
            self._slots.counts[:used] = state["seen_counts"].reshape(used, self.streams)
        else:
            self._load_log(seen, state)
        self._reports = _reports(max(_LEAST, 2 * tail))
        self._reports.time[:tail], self._reports.stream[:tail] = state["times"], state["streams"]
        self._reports.slot[:tail] = np.searchsorted(seen, state["objects"])
        self._reports.value[:tail] = state["values"]
        self._cursor[kernels.USED], self._cursor[kernels.TAIL] = used, tail
        kernels.enroll(self._cursor, self._reports, self._slots)

    def _load_log(self, seen: Int64, state: Mapping[str, Array]) -> None:
        length = len(state["log_times"])
        self._log = _log(max(_LEAST, 2 * length))
        slots = np.searchsorted(seen, state["log_objects"])
        self._log.time[:length], self._log.stream[:length] = state["log_times"], state["log_streams"]
        self._log.slot[:length] = slots
        self._cursor[kernels.LOG_TAIL] = length
        np.add.at(self._slots.counts, (slots, state["log_streams"]), 1)
        self._slots.facts[slots, kernels.LAST] = state["log_times"]


def _rule(ranker: ObjectRanker) -> Rule:
    aggregate, most = ranker.aggregate, ranker.occurrences
    kind, divisor, weights = kernels.SUM, 1.0, np.ones(ranker.streams)
    if aggregate == "mean":
        divisor = float(ranker.streams)
    elif aggregate in ("min", "max"):
        kind = kernels.MIN if aggregate == "min" else kernels.MAX
    elif isinstance(aggregate, Sequence) and not isinstance(aggregate, str):
        weights = np.array(aggregate, np.float64)
    return Rule(
        k=min(ranker.k, _HIGHEST),
        reach=np.uint64(min(ranker.window - (ranker.by == "rows"), _OLDEST)),
        once=ranker.repeats == "never",
        most=most,
        upper=ranker.upper,
        slack=1.0 if most == 1 else 1.0 + 4 * most * float(np.finfo(np.float64).eps),
        kind=kind,
        weights=weights,
        divisor=divisor,
        chances=np.empty((0, 0)),
    )


def _reports(room: int) -> Reports:
    kinds: tuple[Any, ...] = (
        np.int64,
        np.int32,
        np.int32,
        np.float64,
        np.int32,
        np.float64,
        np.float64,
        np.bool_,
    )
    return Reports(*(np.zeros(room, kind) for kind in kinds))


def _slots(room: int, streams: int) -> Slots:
    return Slots(
        facts=np.zeros((room, kernels.FACTS), np.int64),
        counts=np.zeros((room, streams), np.int32),
        table=np.full(1 << (2 * room - 1).bit_length(), -1, np.int32),
        changed=np.zeros(room, np.int32),
        place=np.zeros(room, np.int32),
    )


def _log(room: int) -> Log:
    return Log(np.zeros(room, np.int64), np.zeros(room, np.int32), np.zeros(room, np.int32))


def _heap(k: int, objects: int) -> Heap:
    room = min(k, objects)
    return Heap(np.zeros(room, np.int32), np.zeros(room), np.zeros(1, np.int64))


def _longer(column: Array, length: int) -> Array:
    grown = np.zeros(length, column.dtype)
    grown[: len(column)] = column
    return grown
