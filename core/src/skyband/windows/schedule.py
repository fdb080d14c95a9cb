"""Schedules: the moments at which a query answers, and the sessions into which a group's stream falls.

A session ends when the longest window is empty: later rows can be answered as if there had been none before. Within a
session, every moment at which the longest window can hold a row is answered. Both follow from the times of rows alone,
so that long silences cost nothing: no moment needs to be visited.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from skyband.arrays import TIME_MAX, Array, Int64
from skyband.errors import EngineError
from skyband.instants import instant


class Moments(NamedTuple):
    """Moments ordered by (at, query): at int64[m], and query int64[m], the number of the query that answers there."""

    at: Int64
    query: Int64


MOST_MOMENTS = 2**26
"""The most moments of a group answered in one step: a year of half seconds."""
MOST_ANSWERED = 2**27
"""The most moments of all groups and queries answered in one step, which returns their answers together."""


class TooManyMomentsError(EngineError):
    """More moments are due in one step than can be answered, usually because one row is far ahead of all others."""

    def __init__(self, count: int, begin: int, end: int, groups: int = 1) -> None:
        span = f"from {instant(begin).plain()} to {instant(end).plain()}" + (f" in {groups:,} groups" * (groups > 1))
        super().__init__(
            f"{count:,} moments are due {span}, but one step answers at most {MOST_MOMENTS:,} for a group and "
            f"{MOST_ANSWERED:,} in all: "
            'set query.ahead, such as ahead = "1 day", to drop and count rows that are further ahead of all '
            "others; or answer less often, by a longer `every` or slide of a rule"
        )


class Schedule:
    """Queries with their own windows, each answered at the moments phase + j·slide.

    A session ends with its last moment whose window can hold a row, or immediately without one.
    """

    falls_back = 0
    """The most that a window may begin before the start of the window at an earlier moment."""
    has_gaps = False
    """Whether all windows of a session may be empty at a moment before its end, which is then not answered."""

    def __init__(self, windows: Sequence[int], slides: Sequence[int], phases: Sequence[int]) -> None:
        self.windows, self.slides = np.array(windows, np.int64), np.array(slides, np.int64)
        self.phases = np.array(phases, np.int64) % self.slides
        self.horizon = int(self.windows.max())
        """The length of the longest window."""
        longest: dict[tuple[int, int], int] = {}
        for beat, window in zip(zip(self.slides.tolist(), self.phases.tolist(), strict=True), windows, strict=True):
            longest[beat] = max(window, longest.get(beat, 0))
        self.slides_with_longest_window = np.array([(*beat, window) for beat, window in longest.items()], np.int64)
        """int64[b, 3]: the distinct slides and phases, with the longest window of each."""
        self.gapless = bool((self.windows >= self.slides).any())
        """Whether every session ends at a moment."""
        self.rate = float((1 / self.slides).sum())
        """The moments in a microsecond."""
        self._shortest_silence = self.horizon + 1 - int(self.slides_with_longest_window[:, 0].min())
        """The shortest silence that can end a session."""

    def after(self, time: Any) -> Any:
        """The first moment of any query later than `time`, an int or int64[n]."""
        earliest = None
        for slide, phase, _ in self.slides_with_longest_window.tolist():
            moment = (time - phase) // slide * slide + (phase + slide)
            earliest = moment if earliest is None else np.minimum(earliest, moment)
        return earliest

    def next_due(self, lasts: Int64, reached: int) -> int:  # noqa: ARG002 - subclasses use it
        """When groups answered up to `reached` need work again; lasts: int64[g], the times of their last rows."""
        return int(self.after(reached))

    def latest(self, time: int) -> int:
        """The last moment of any query at or before `time`."""
        return max(
            (time - phase) // slide * slide + phase for slide, phase, _ in self.slides_with_longest_window.tolist()
        )

    def each_after(self, time: int) -> Int64:
        """int64[q]: each query's first moment later than `time`."""
        following: Int64 = time + 1 + (self.phases - time - 1) % self.slides
        return following

    def after_own(self, times: Int64, queries: Int64) -> Int64:
        """int64[n]: for each time, the first later moment of the query with this number."""
        phases, slides = self.phases[queries], self.slides[queries]
        following: Int64 = times + 1 + (phases - times - 1) % slides
        return following

    def empty_at(self, last: Any) -> Any:
        """The watermark from which no future answer depends on rows up to `last`, an int or int64[n]."""
        reach, moment = last + self.horizon, last + 1
        for slide, phase, _ in self.slides_with_longest_window.tolist():
            moment = np.maximum(moment, (reach - phase) // slide * slide + phase)
        return moment

    def has_ended(self, last: Int64, watermark: Any) -> Array:
        """bool[n]: the sessions, by the time of their last row, that have ended at a watermark (one or int64[n]).

        A row at the watermark begins another session.
        """
        ended: Array = watermark >= last + self._shortest_silence
        where = np.flatnonzero(ended)
        if len(where):
            then = np.broadcast_to(watermark, last.shape)[where]
            ended[where] = self.empty_at(last[where]) <= then
        return ended

    def cannot_end(self, last: int, watermark: int) -> bool:
        """Whether surely no session whose last row is at `last` or later has ended at a watermark: a fast check."""
        return watermark - last < self._shortest_silence

    def reach(self, last: Any) -> Any:
        """The last time at which a session with its last row at `last`, an int or int64[n], answers."""
        return last + self.horizon

    def starts(self, at: int) -> list[int]:
        """The start of each window that ends at the moment `at`."""
        first_starts: list[int] = self.starts_at(np.array([at]))[0].tolist()
        return first_starts

    def starts_at(self, at: Int64) -> Int64:
        """int64[m, w]: the start of each window that ends at these moments."""
        return at[:, None] - self.windows

    def needed_from(self, starts: Sequence[int]) -> int:
        """No future answer depends on rows before this time; starts: of the windows at a moment."""
        return min(starts) - self.falls_back

    def oldest(self, time: Any) -> Any:
        """No answer after `time`, an int or int64[n], depends on rows before this time."""
        earliest = None
        for slide, phase, window in self.slides_with_longest_window.tolist():
            start = (time - phase) // slide * slide + (phase + slide - window)
            earliest = start if earliest is None else np.minimum(earliest, start)
        return earliest

    def holds_rows(self, at: Int64, lasts: Int64) -> Array:
        """bool[m]: the moments whose windows hold a row; lasts: int64[m], the time of the last row before each."""
        holds: Array = self.starts_at(at).min(axis=1) <= lasts
        return holds

    def between(self, begin: int, end: int) -> Int64:
        """int64[m]: the moments in (begin, end], without duplicates."""
        return np.unique(self.within(np.array([begin]), np.array([end])).at)

    def within(self, begins: Int64, ends: Int64) -> Moments:
        """The moments in any of the spans (begin, end], int64[s] each, without duplicates. O(spans + moments)."""
        return self.of_each(*united(begins, ends))[0]

    def of_each(self, begins: Int64, ends: Int64) -> tuple[Moments, Int64]:
        """The moments in each span (begin, end], and int64[m], the number of the span of each."""
        columns = []
        for query, (slide, phase) in enumerate(zip(self.slides.tolist(), self.phases.tolist(), strict=True)):
            first = (begins - phase) // slide + 1
            count = np.maximum((ends - phase) // slide + 1 - first, 0)
            check_count(int(count.sum(dtype=np.float64)), begins, ends)
            due = _ragged(first, count) * slide + phase
            columns.append((due, np.full(len(due), query), np.repeat(np.arange(len(count)), count)))
        at, parts, span = (np.concatenate(column) for column in zip(*columns, strict=True))
        if len(columns) > 1:
            order = np.lexsort((parts, at, span))
            at, parts, span = at[order], parts[order], span[order]
        return Moments(at, parts), span


class Regular(Schedule):
    """One query, answered at the multiples of `every`, shifted by a phase.

    A session ends at the first moment with an empty window.
    """

    def __init__(self, every: int, horizon: int, phase: int = 0, windows: Sequence[int] = ()) -> None:
        """windows: all windows that are answered, if there are more than the one of length `horizon`."""
        super().__init__([horizon], [every], [phase])
        self._lengths = np.array(windows or (horizon,), np.int64)
        self.every, self.phase = every, phase % every
        self.gapless = True

    def after(self, time: Any) -> Any:
        return (time - self.phase) // self.every * self.every + (self.every + self.phase)

    def empty_at(self, last: Any) -> Any:
        return self.after(last + self.horizon)

    def starts(self, at: int) -> list[int]:
        return [at - length for length in self._lengths.tolist()]

    def starts_at(self, at: Int64) -> Int64:
        return at[:, None] - self._lengths

    def between(self, begin: int, end: int) -> Int64:
        check_count((end - begin) // self.every, begin, end)
        return np.arange(self.after(begin), end + 1, self.every, dtype=np.int64)


class Endless(Schedule):
    """Sessions never end: a group answers at every moment after its first row."""

    def has_ended(self, last: Int64, watermark: Any) -> Array:  # noqa: ARG002
        return np.zeros(last.shape, bool)

    def cannot_end(self, last: int, watermark: int) -> bool:  # noqa: ARG002
        return True

    def empty_at(self, last: Any) -> Any:
        return np.full(last.shape, TIME_MAX) if np.ndim(last) else TIME_MAX

    def reach(self, last: Any) -> Any:
        return self.empty_at(last)


class EndlessRegular(Endless, Regular):
    """Answers at the multiples of `every`."""


def schedule_for_rules(longest: int) -> Schedule:
    """A schedule in which any moment may be one of a later rule, while the longest window holds a row."""
    schedule = Schedule([longest], [1], [0])
    schedule.rate = 0.0  # rules have their own
    return schedule


class EachRow(Schedule):
    """No moments: each row is answered when it arrives, over the rows less than `window` before it.

    A session ends when its window is empty.
    """

    def __init__(self, window: int) -> None:
        super().__init__([window], [1], [0])
        self.rate = 0.0

    def next_due(self, lasts: Int64, reached: int) -> int:  # noqa: ARG002 - it waits for no moment
        return int(lasts.min()) + self.horizon

    def of_each(self, begins: Int64, ends: Int64) -> tuple[Moments, Int64]:  # noqa: ARG002 - it has none
        return Moments(np.empty(0, np.int64), np.empty(0, np.int64)), np.empty(0, np.int64)


def check_count(count: int, begins: Any, ends: Any) -> None:
    """Raise TooManyMomentsError if spans contain more moments than memory allows."""
    if count > MOST_MOMENTS:
        raise TooManyMomentsError(count, int(np.min(begins)), int(np.max(ends)))


def united(begins: Int64, ends: Int64) -> tuple[Int64, Int64]:
    """The union of spans, as ascending disjoint spans."""
    order = np.argsort(begins, kind="stable")
    begins, reached = begins[order], np.maximum.accumulate(ends[order])
    apart = np.append(True, begins[1:] > reached[:-1])[: len(begins)]
    last = np.append(np.flatnonzero(apart)[1:], len(begins)) - 1
    return begins[apart], reached[last] if len(begins) else reached


def _ragged(firsts: Int64, counts: Int64) -> Int64:
    """The ranges from each `first`, with `count` numbers each, concatenated."""
    if len(firsts) == 1:
        return np.arange(firsts[0], firsts[0] + counts[0])
    place = np.cumsum(counts) - counts
    return np.arange(int(counts.sum())) + np.repeat(firsts - place, counts)
