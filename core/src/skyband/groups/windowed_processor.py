"""Processors that follow the windows of a group's stream, from its first row until its longest window is empty."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Self, cast

import numpy as np

from skyband.arrays import TIME_MAX, TIME_MIN, Int64
from skyband.columns.rows import Rows
from skyband.errors import SnapshotError
from skyband.groups.answer_columns import ProcessorAnswers
from skyband.groups.plain_turns import AnswersOfTurns, PlainTurn, regular_turns
from skyband.groups.processor import GroupProcessor
from skyband.windows.schedule import Regular, Schedule

_FIRST_LOOKED_AT = 1024


class ScheduledProcessor(GroupProcessor):
    """Follows the sessions of its stream, over windows in time, which become empty, or in rows, which do not."""

    def __init__(self, schedule: Schedule, rows: bool) -> None:
        self._schedule = schedule
        self._horizon = schedule.horizon
        self._rows = rows
        self._last: int | None = None
        """The time of the session's last row; None before the first session."""
        self._count = 0
        """The number of rows seen, for windows counted in rows."""
        self.needs_answers = True
        """Whether its answers are used. If not, answers that do not affect its state may be skipped."""

    def end(self, latest: int) -> int:
        return latest + 1 if self._rows else int(self._schedule.each_after(latest).max())

    @abstractmethod
    def take(self, times: Int64, rows: Rows, until: int) -> None:
        """Take in rows of one session and store the answers of its moments up to `until`.

        times: their own times, or their row numbers for windows counted in rows.
        """

    @abstractmethod
    def collect(self) -> ProcessorAnswers | None:
        """The answers stored since the last call."""

    @abstractmethod
    def clear(self) -> None:
        """Forget everything: the longest window is empty."""

    @property
    def empty(self) -> bool:
        return not self._rows and self._last is None

    def catch_up(self, rows: Rows, until: int) -> ProcessorAnswers | None:
        self.needs_answers = False
        try:
            return self.advance(rows, until)
        finally:
            self.needs_answers = True

    def advance(self, rows: Rows, until: int) -> ProcessorAnswers | None:
        if self._rows:
            times = np.arange(self._count, self._count + len(rows), dtype=np.int64)
            self._count += len(rows)
            self.take(times, rows, self._count)
            self._last = self._count - 1 if self._count else None
        else:
            self._walk(rows, until)
        return self.collect()

    def _walk(self, rows: Rows, until: int) -> None:
        start = 0
        while start < len(rows) or self._last is not None:
            session = rows.slice(start, start + self.rows_in_session(rows.times[start:]))
            last = int(session.times[-1]) if len(session) else cast(int, self._last)
            self.take(session.times, session, min(until, self._schedule.reach(last)))
            self._last = last
            if self._schedule.empty_at(last) > until:
                return
            self.begin_anew()
            start += len(session)

    def begin_anew(self) -> None:
        """The session has ended."""
        self.clear()
        self._last = None

    def rows_in_session(self, times: Int64) -> int:
        if self._rows or not len(times):
            return len(times)
        before = int(times[0]) if self._last is None else self._last
        if self._schedule.cannot_end(before, int(times[-1])):
            return len(times)
        start, size = 0, _FIRST_LOOKED_AT
        while start < len(times):  # at most twice the session: the rest is searched again
            part = times[start : start + size]
            ends = np.flatnonzero(self._schedule.has_ended(np.append(before, part[:-1]), part))
            if len(ends):
                return start + int(ends[0])
            before, start, size = part[-1], start + size, 2 * size
        return len(times)


class RegularProcessor(ScheduledProcessor):
    """Answers at the multiples of `every`, over windows of at most `horizon`, in time or in rows.

    It answers at T iff [T − horizon, T) holds a row, so a group stops answering when its longest window is empty.
    schedule: other moments, if not the multiples of `every`.
    """

    def __init__(self, every: int, horizon: int, rows: bool, schedule: Schedule | None = None) -> None:
        super().__init__(schedule or Regular(every, horizon), rows)
        self._next = self.moment_after(0) if rows else TIME_MAX

    def begin_anew(self) -> None:
        super().begin_anew()
        self._next = TIME_MAX

    @property
    def next_at(self) -> int:
        return TIME_MAX if self._rows else self._next

    def finish(self, rows: Rows, latest: int) -> ProcessorAnswers | None:
        return self.advance(rows, self.moment_after(latest))

    def moment_after(self, time: int) -> int:
        """The first moment later than `time`."""
        return int(self._schedule.after(time))

    def resume_after(self, last: int) -> None:
        """Continue after a row at `last`, with the moments up to then answered."""
        self._next, self._last = self.moment_after(last), last
        self._count = last + 1 if self._rows else 0

    def earliest_start(self, at: int) -> int:
        """The start of the longest window of the next answer after a moment."""
        return int(min(self._schedule.starts(self.moment_after(at))))

    def resume_at(self, at: int, last: int | None) -> None:
        """Continue at a moment, with it and earlier ones answered, and the last row at `last`."""
        if last is not None and self._schedule.empty_at(last) > at:
            self._next, self._last = self.moment_after(at), last
        else:
            self.begin_anew()

    def due(self, times: Int64, until: int) -> Int64:
        """The moments to answer up to `until`; `times` are those of the rows taken in with them."""
        if self._next == TIME_MAX:
            self._next = self.moment_after(int(times[0]))
        moments = self._schedule.between(self._next - 1, until) if self._next <= until else np.empty(0, np.int64)
        if not len(moments):
            return moments
        self._next = self.moment_after(int(moments[-1]))
        return self._with_rows(moments, times) if self._schedule.has_gaps else moments

    def _with_rows(self, moments: Int64, times: Int64) -> Int64:
        """The moments at which a window holds a row; `times` are those of the rows taken in with them."""
        lasts = np.append(TIME_MIN if self._last is None else self._last, times)
        return moments[self._schedule.holds_rows(moments, lasts[np.searchsorted(times, moments)])]

    def resume_after_both(self, other: "RegularProcessor") -> None:
        """Continue after the later of both last rows, with the moments that both have passed answered."""
        marks = [mark for mark in (self._last, other._last) if mark is not None]
        moments = [moment for moment in (self._next, other._next) if moment != TIME_MAX]
        self._last, self._next = max(marks, default=None), max(moments, default=TIME_MAX)

    def clock(self) -> dict[str, Any]:
        """The position of the processor, for its `dump_state`."""
        return {"next": self._next, "last": self._last, "count": self._count}

    def set_clock(self, clock: Mapping[str, Any]) -> None:
        """Set the position. Raises SnapshotError if no group can be there: the next moment follows the last row."""
        following: Any
        last: Any
        count: Any
        following, last, count = (clock.get(name) for name in ("next", "last", "count"))
        whole = all(type(number) is int for number in (following, count, 0 if last is None else last))
        if not whole or count < 0 or not self._can_stand(following, last, count):
            raise SnapshotError(f"contradicts itself: a group cannot be at {dict(clock)!r:.200}")
        self._next, self._count = following, count
        self._last = None if following == TIME_MAX else last

    def _can_stand(self, following: int, last: int | None, count: int) -> bool:
        if self._rows:
            return following == self.moment_after(count) and last == (count - 1 if count else None)
        if following == TIME_MAX or last is None:
            return following == TIME_MAX
        if max(abs(following), abs(last)) >= 2**62 or self._schedule.latest(following) != following:
            return False
        return last < following <= int(self._schedule.empty_at(last))


class DueMomentsProcessor(RegularProcessor):
    """A regular processor that gets the moments due together with its rows.

    So the moments of many groups can be computed at once (`skyband.groups.plain_turns`).
    """

    def take(self, times: Int64, rows: Rows, until: int) -> None:
        self.take_due(times, rows, self.due(times, until))

    @abstractmethod
    def take_due(self, times: Int64, rows: Rows, due: Int64) -> None:
        """As `take`, for these moments."""

    def turn(self, rows: Rows, due: Int64, last: int, following: int) -> ProcessorAnswers | None:
        """As `advance` for a session that continues. The other arguments are those of a PlainTurn."""
        self.take_due(rows.times, rows, due)
        self._last, self._next = last, following
        return self.collect()

    @classmethod
    def plain_turns(
        cls, processors: Sequence[Self], times: Int64, spans: Int64, until: int
    ) -> Sequence[PlainTurn | None]:
        schedule = processors[0]._schedule
        if processors[0]._rows or type(schedule) is not Regular or not _walks_plainly(cls):
            return super().plain_turns(processors, times, spans, until)
        before = np.array([TIME_MIN if own._last is None else own._last for own in processors], np.int64)
        following = np.array([own._next for own in processors], np.int64)
        return regular_turns(schedule, before, following, times, spans, until)

    @classmethod
    def turns(cls, processors: Sequence[Self], rows: Rows, spans: Int64, turns: Sequence[PlainTurn]) -> AnswersOfTurns:
        each = zip(processors, spans.tolist(), turns, strict=True)
        return AnswersOfTurns.of([own.turn(rows.slice(start, stop), *turn) for own, (start, stop), turn in each])


_LEFT_OUT = ("advance", "_walk", "rows_in_session", "take", "due", "moment_after")
"""Methods that a plain turn skips."""


@cache
def _walks_plainly(kind: type[DueMomentsProcessor]) -> bool:
    return all(getattr(kind, name) is getattr(DueMomentsProcessor, name) for name in _LEFT_OUT)


class WindowedProcessor(DueMomentsProcessor):
    """A regular processor that takes in rows and answers moment by moment, in order.

    Examples
    --------
    Sums over the last twenty, every ten:

    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from skyband.columns.rows import Rows
    >>> from skyband.groups.answer_columns import AnswerColumns
    >>> from skyband.groups.windowed_processor import WindowedProcessor
    >>> SCHEMA = pa.schema([("at", pa.int64()), ("sum", pa.float64())])
    >>> class Sums(WindowedProcessor):
    ...     def __init__(self):
    ...         super().__init__(every=10, horizon=20, rows=False)
    ...         self.answers = []
    ...         self.clear()
    ...
    ...     def clear(self):
    ...         self.times, self.values = np.empty(0, np.int64), np.empty(0)
    ...
    ...     def update(self, times, rows):
    ...         self.times = np.append(self.times, times)
    ...         self.values = np.append(self.values, rows["value"])
    ...
    ...     def answer(self, at):
    ...         self.answers.append((at, self.values[self.times >= at - 20].sum()))
    ...
    ...     def collect(self):
    ...         answers, self.answers = self.answers, []
    ...         columns = [np.array(column) for column in zip(*answers)]
    ...         return AnswerColumns(SCHEMA, columns) if answers else None
    ...
    ...     @property
    ...     def retained(self):
    ...         return len(self.times)
    ...
    ...     def dump_state(self):
    ...         return {"clock": self.clock()}, {"times": self.times, "values": self.values}
    ...
    ...     def load_state(self, header, arrays):
    ...         self.set_clock(header["clock"])
    ...         self.times, self.values = arrays["times"], arrays["values"]
    >>> sums = Sums()
    >>> answers = sums.advance(Rows(np.array([1, 4, 12]), {"value": np.array([1.0, 2.0, 4.0])}), until=20)
    >>> [column.tolist() for column in answers.columns]
    [[10, 20], [3.0, 7.0]]
    >>> again = Sums()
    >>> again.load_state(*sums.dump_state())
    >>> answers = again.finish(Rows(np.array([25]), {"value": np.array([8.0])}), latest=25)
    >>> [column.tolist() for column in answers.columns]
    [[30], [12.0]]
    """

    @abstractmethod
    def update(self, times: Int64, rows: Rows) -> None:
        """Take in rows at `times`: their own times, or their row numbers for windows counted in rows."""

    @abstractmethod
    def answer(self, at: int) -> None:
        """Store the answer at `at`, after every row before it was taken in."""

    def take_due(self, times: Int64, rows: Rows, due: Int64) -> None:
        start = 0
        for at, stop in zip(due.tolist(), times.searchsorted(due).tolist(), strict=True):
            self._update(times, rows, start, stop)
            self.answer(at)
            start = stop
        self._update(times, rows, start, len(times))

    def _update(self, times: Int64, rows: Rows, start: int, stop: int) -> None:
        if stop > start:
            self.update(times[start:stop], rows.slice(start, stop))
            self._last = int(times[stop - 1])
