"""The state of early aggregation between calls: its arrays, their room, and their snapshot."""

from abc import abstractmethod
from collections.abc import Mapping
from functools import lru_cache

import numpy as np
from attrs import define, field
from skyband.arrays import Array, Int64
from skyband.roles import ObjectRanker
from skyband.roles.object_ranker import REDUCTIONS
from skyband.state_validation import StateReader

from skyband_incomplete import kernels
from skyband_incomplete.eaa_arrays import (
    CURSOR,
    HEAD,
    HIGHEST,
    LAST,
    LEAST,
    LOG_HEAD,
    LOG_TAIL,
    LOWEST,
    OBJECT,
    REPEATED,
    TAIL,
    USED,
    Heap,
    Log,
    Reports,
    Rule,
    Slots,
    longer,
    new_heap,
    new_log,
    new_reports,
    new_slots,
    rule_of,
)
from skyband_incomplete.live_values import LiveValues
from skyband_incomplete.reading import latest_time, places_among, read_clock, read_reports


@lru_cache(maxsize=16)
def _no_room(streams: int) -> tuple[Reports, Slots, Heap, Log]:
    """Empty arrays, shared by all rankers and never written to."""
    return new_reports(0), new_slots(0, streams), new_heap(0, 0), new_log(0)


@define(eq=False)
class Holding(ObjectRanker):
    """The arrays behind the kernels, which a subclass fills and queries.

    If `repeats` is a reduction they stay empty, and `_live` holds the values that count.
    """

    _rule: Rule = field(init=False, repr=False)
    _cursor: Int64 = field(init=False, repr=False)
    _reports: Reports = field(init=False, repr=False)
    _slots: Slots = field(init=False, repr=False)
    _log: Log = field(init=False, repr=False)
    _heap: Heap = field(init=False, repr=False)
    _live: LiveValues | None = field(default=None, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._rule = rule_of(self)
        self._cursor = np.zeros(CURSOR, np.int64)
        if self.repeats in REDUCTIONS:
            self._live = LiveValues(self, self._rule)
            self._reports, self._slots, self._heap, self._log = _no_room(self.streams)
            return
        self._reports = new_reports(LEAST)
        self._slots = new_slots(LEAST, self.streams)
        self._heap = new_heap(self.k, LEAST)
        self._log = new_log(0 if self._rule.once else LEAST)

    @abstractmethod
    def _relieve(self, first: int) -> None:
        """Make room in the reports; all before `first` have expired."""

    def _drop_expired(self, first: int) -> None:
        """Make room without dropping valid reports."""
        kernels.expire(first, self._cursor, self._reports, self._slots)
        self._reports.alive[self._cursor[HEAD] : self._cursor[TAIL]] = True
        kernels.compact(self._cursor, self._reports, self._slots)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays, including spare room."""
        parts = (self._reports, self._slots, self._log, self._heap, (self._cursor,))
        own = int(sum(array.nbytes for part in parts for array in part))
        return own if self._live is None else own + self._live.nbytes

    @property
    def repeated(self) -> int:
        """The number of reports dropped because they broke the promise `repeats`."""
        return int(self._cursor[REPEATED])

    def _first(self, now: int) -> int:
        """The oldest valid time at `now`."""
        return min(max(now - self.window, LOWEST), HIGHEST)

    def _oldest(self, now: int | None) -> int:
        """`_first`; before the first row, no report is too old."""
        return LOWEST if now is None else self._first(now)

    @property
    def _valid_reports(self) -> int:
        return int(self._cursor[TAIL] - self._cursor[HEAD])

    def _make_room(self, rows: int, now: int | None) -> None:
        """Make room for `rows` rows at `now` or later; arrays grow to twice the need, so O(1) per row."""
        first = self._oldest(now)
        if self._live is not None:
            self._live.make_room(rows, first)
            return
        if self._cursor[TAIL] + rows > len(self._reports.time):
            self._relieve(first)
            needed = 2 * (int(self._cursor[TAIL]) + rows)
            if needed > len(self._reports.time):
                self._reports = Reports(*(longer(column, needed) for column in self._reports))
        if not self._rule.once and self._cursor[LOG_TAIL] + rows > len(self._log.time):
            self._log = self._valid_log(first, rows)
        if self._cursor[USED] + rows > len(self._slots.place):
            self._gather_slots(first, rows)

    def _valid_log(self, first: int, rows: int) -> Log:
        """The log without reports before `first`, with room for `rows` more."""
        kernels.forget(first, self._cursor, self._slots, self._log)
        span = slice(int(self._cursor[LOG_HEAD]), int(self._cursor[LOG_TAIL]))
        length = span.stop - span.start
        self._cursor[LOG_HEAD], self._cursor[LOG_TAIL] = 0, length
        return Log(*(longer(column[span], max(LEAST, 2 * (length + rows))) for column in self._log))

    def _gather_slots(self, first: int, rows: int) -> None:
        """Forget the objects without a report since `first`, and make room for `rows` more."""
        kernels.expire(first, self._cursor, self._reports, self._slots)
        if not self._rule.once:
            kernels.forget(first, self._cursor, self._slots, self._log)
        used = int((self._slots.facts[: self._cursor[USED], LAST] >= first).sum())
        slots = new_slots(max(len(self._slots.place), 2 * (used + rows)), self.streams)
        kernels.gather_slots(first, self._cursor, self._reports, self._slots, self._log, slots)
        self._slots = slots
        self._heap = new_heap(self.k, len(slots.place))

    def _state(self) -> dict[str, Array]:
        first = self._oldest(self._now)
        clock = [] if self._now is None else [self._now]
        now = {"clock": np.array([self.repeated, *clock], np.int64)}
        if self._live is not None:
            return {**now, **self._live.state(first)}
        self._relieve(first)
        used, tail = int(self._cursor[USED]), int(self._cursor[TAIL])
        reports, slots = self._reports, self._slots
        objects, last = slots.facts[:used, OBJECT], slots.facts[:used, LAST]
        state: dict[str, Array] = {
            **now,
            "times": reports.time[:tail].copy(),
            "streams": reports.stream[:tail].copy(),
            "objects": objects[reports.slot[:tail]],
            "values": reports.value[:tail].copy(),
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
        span = slice(int(self._cursor[LOG_HEAD]), int(self._cursor[LOG_TAIL]))
        state |= {
            "log_times": self._log.time[span],
            "log_streams": self._log.stream[span],
            "log_objects": objects[self._log.slot[span]],
        }
        return state

    def _load(self, state: Mapping[str, Array]) -> None:
        reader = StateReader(state)
        self._now, self._cursor[REPEATED] = read_clock(reader)
        reports = read_reports(reader, self)
        if self._live is not None:
            self._live.load(reports, self._oldest(self._now))
            return
        objects = self._load_seen(reader) if self._rule.once else self._load_log(reader)
        used, tail = len(objects), len(reports.time)
        slots = places_among(reader, "objects", reports.object, objects)
        late = self._slots.facts[slots, LAST] < reports.time
        reader.require(not late.any(), "times", "must not be later than the object's last report")
        self._heap = new_heap(self.k, len(self._slots.place))
        self._reports = new_reports(max(LEAST, 2 * tail))
        self._reports.time[:tail], self._reports.stream[:tail] = reports.time, reports.stream
        self._reports.slot[:tail], self._reports.value[:tail] = slots, reports.value
        self._cursor[USED], self._cursor[TAIL] = used, tail
        kernels.enroll(self._cursor, self._reports, self._slots)

    def _load_seen(self, reader: StateReader) -> Int64:
        """Restore the remembered objects, ascending, with the streams that each has reported."""
        objects = reader.ascending("seen_objects", strictly=True)
        used = len(objects)
        self._slots = new_slots(max(LEAST, 2 * used), self.streams)
        self._slots.facts[:used, OBJECT] = objects
        self._slots.facts[:used, LAST] = reader.column("seen_last", np.int64, used, at_most=latest_time(self))
        counts = reader.column("seen_counts", np.int32, used * self.streams, at_least=0, at_most=self._rule.most)
        self._slots.counts[:used] = counts.reshape(used, self.streams)
        return objects

    def _load_log(self, reader: StateReader) -> Int64:
        times = reader.ascending("log_times", at_most=latest_time(self))
        length = len(times)
        streams = reader.column("log_streams", np.int32, length, at_least=0, at_most=self.streams - 1)
        objects = reader.column("log_objects", np.int64, length)
        distinct = np.unique(objects)
        self._slots = new_slots(max(LEAST, 2 * len(distinct)), self.streams)
        self._slots.facts[: len(distinct), OBJECT] = distinct
        self._log = new_log(max(LEAST, 2 * length))
        slots = np.searchsorted(distinct, objects)
        self._log.time[:length], self._log.stream[:length], self._log.slot[:length] = times, streams, slots
        self._cursor[LOG_TAIL] = length
        np.add.at(self._slots.counts, (slots, streams), 1)
        reader.require(
            self._slots.counts.max(initial=0) <= self._rule.most, "log_streams", "breaks the promise `repeats`"
        )
        self._slots.facts[slots, LAST] = times
        return distinct
