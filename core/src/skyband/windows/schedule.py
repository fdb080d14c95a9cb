"""When groups answer: the moments of a query, and where a group's stream falls into sessions. The one walk of windows.

A session ends when the longest window has run empty: later rows can be answered as if there had been none before.
Within a session every moment is answered at which the longest window can hold a row. Both follow from the times of rows
alone, so no moment has to be looked at to find them, however long a silence is.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from skyband.arrays import Array, Int64
from skyband.errors import EngineError
from skyband.instants import instant


class Moments(NamedTuple):
    """Moments in order of (at, query): at int64[m], and query int64[m], the number of the query that is asked there."""

    at: Int64
    query: Int64


MOST_MOMENTS = 2**26
"""Answered in one step: those of a year at every half a second."""


class TooManyMomentsError(EngineError):
    """More moments are due in one step than can be answered: mostly, as one row is far ahead of all others."""

    def __init__(self, count: int, begin: str, end: str) -> None:
        super().__init__(
            f"{count:,} moments are due from {begin} to {end}, and in one step at most {MOST_MOMENTS:,} are answered: "
            'set query.ahead, such as ahead = "1 day", which leaves rows out and counts them that are further ahead of '
            "all others; or answer less often, by a longer `every`"
        )


class Schedule:
    """Queries with windows of their own, each asked at the moments phase + j·slide.

    A session ends with its last moment whose window can hold a row, or at once where there is none.
    """

    falls_back = 0
    """How far a window may begin before where it began at an earlier moment, at most."""
    has_gaps = False
    """Whether all windows of a session may be empty at a moment before its end: it does not answer there."""

    def __init__(self, windows: Sequence[int], slides: Sequence[int], phases: Sequence[int]) -> None:
        self.windows, self.slides = np.array(windows, np.int64), np.array(slides, np.int64)
        self.phases = np.array(phases, np.int64) % self.slides
        self.horizon = int(self.windows.max())
        """Length of the longest window."""
        longest: dict[tuple[int, int], int] = {}
        for beat, window in zip(zip(self.slides.tolist(), self.phases.tolist(), strict=True), windows, strict=True):
            longest[beat] = max(window, longest.get(beat, 0))
        self.slides_with_longest_window = np.array([(*beat, window) for beat, window in longest.items()], np.int64)
        """int64[b, 3]: the slides and phases there are, each once, with the longest window asked then."""
        self.gapless = bool((self.windows >= self.slides).any())
        """Whether every session ends at a moment."""
        self._shortest_silence = self.horizon + 1 - int(self.slides_with_longest_window[:, 0].min())
        """No shorter one ends a session."""

    def after(self, time: Any) -> Any:
        """The first moment of any query later than `time`, an int or int64[n]."""
        earliest = None
        for slide, phase, _ in self.slides_with_longest_window.tolist():
            moment = (time - phase) // slide * slide + (phase + slide)
            earliest = moment if earliest is None else np.minimum(earliest, moment)
        return earliest

    def next_due(self, lasts: Int64, reached: int) -> int:  # noqa: ARG002 - others look at it
        """When groups answered up to `reached` have something to do; lasts: int64[g], the times of their last rows."""
        return int(self.after(reached))

    def latest(self, time: int) -> int:
        """The last moment of any query at most `time`."""
        return max(
            (time - phase) // slide * slide + phase for slide, phase, _ in self.slides_with_longest_window.tolist()
        )

    def each_after(self, time: int) -> Int64:
        """int64[q]: each query's first moment later than `time`."""
        following: Int64 = time + 1 + (self.phases - time - 1) % self.slides
        return following

    def after_own(self, times: Int64, queries: Int64) -> Int64:
        """int64[n]: of each of these times the first later moment of the query of this number."""
        phases, slides = self.phases[queries], self.slides[queries]
        following: Int64 = times + 1 + (phases - times - 1) % slides
        return following

    def empty_at(self, last: Any) -> Any:
        """The watermark at which no answer to come depends on rows up to `last`, an int or int64[n], any more."""
        reach, moment = last + self.horizon, last + 1
        for slide, phase, _ in self.slides_with_longest_window.tolist():
            moment = np.maximum(moment, (reach - phase) // slide * slide + phase)
        return moment

    def has_ended(self, last: Int64, watermark: Any) -> Array:
        """bool[n]: which sessions, the last row of each so far at `last`, have ended at a watermark (one or int64[n]).

        A row there begins another.
        """
        ended: Array = watermark >= last + self._shortest_silence
        where = np.flatnonzero(ended)
        if len(where):
            then = np.broadcast_to(watermark, last.shape)[where]
            ended[where] = self.empty_at(last[where]) <= then
        return ended

    def cannot_end(self, last: int, watermark: int) -> bool:
        """Whether no session whose last row is at `last` or later has ended at a watermark: a quick look."""
        return watermark - last < self._shortest_silence

    def reach(self, last: Any) -> Any:
        """The last time at which a session answers whose last row is at `last`, an int or int64[n]."""
        return last + self.horizon

    def starts(self, at: int) -> list[int]:
        """Where each window begins that ends at the moment `at`."""
        first_starts: list[int] = self.starts_at(np.array([at]))[0].tolist()
        return first_starts

    def starts_at(self, at: Int64) -> Int64:
        """int64[m, w]: where each window begins that ends at these moments."""
        return at[:, None] - self.windows

    def needed_from(self, starts: Sequence[int]) -> int:
        """No answer to come depends on rows before this; starts: where the windows of a moment begin."""
        return min(starts) - self.falls_back

    def oldest(self, time: Any) -> Any:
        """No answer after `time`, an int or int64[n], depends on rows before this."""
        earliest = None
        for slide, phase, window in self.slides_with_longest_window.tolist():
            start = (time - phase) // slide * slide + (phase + slide - window)
            earliest = start if earliest is None else np.minimum(earliest, start)
        return earliest

    def holds_rows(self, at: Int64, lasts: Int64) -> Array:
        """bool[m]: at which moments a window holds a row; lasts: int64[m], the time of the last row before each."""
        holds: Array = self.starts_at(at).min(axis=1) <= lasts
        return holds

    def between(self, begin: int, end: int) -> Int64:
        """int64[m]: the moments in (begin, end], each once."""
        return np.unique(self.within(np.array([begin]), np.array([end])).at)

    def within(self, begins: Int64, ends: Int64) -> Moments:
        """The moments in any of the spans (begin, end], int64[s] each, every moment once. O(spans + moments)."""
        return self.of_each(*united(begins, ends))[0]

    def of_each(self, begins: Int64, ends: Int64) -> tuple[Moments, Int64]:
        """The moments of each of the spans (begin, end], and int64[m], the number of the span that each is of."""
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
    """One query, asked at the multiples of `every`, moved by a phase.

    A session ends at the first moment that finds the window empty.
    """

    def __init__(self, every: int, horizon: int, phase: int = 0, windows: Sequence[int] = ()) -> None:
        """windows: all that are answered, where they are more than the one of length `horizon`."""
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


def schedule_for_rules(longest: int) -> Schedule:
    """Any moment may be one of a rule that comes while it runs, as long as the longest window holds a row."""
    return Schedule([longest], [1], [0])


class EachRow(Schedule):
    """No moments: each row is answered when it comes, over what came less than `window` before it.

    A session ends when its window has run empty.
    """

    def __init__(self, window: int) -> None:
        super().__init__([window], [1], [0])

    def next_due(self, lasts: Int64, reached: int) -> int:  # noqa: ARG002 - no moment is waited for
        return int(lasts.min()) + self.horizon

    def of_each(self, begins: Int64, ends: Int64) -> tuple[Moments, Int64]:  # noqa: ARG002 - there are none
        return Moments(np.empty(0, np.int64), np.empty(0, np.int64)), np.empty(0, np.int64)


def check_count(count: int, begins: Any, ends: Any) -> None:
    """Raise TooManyMomentsError where there are more moments in some spans than memory has room for."""
    if count > MOST_MOMENTS:
        raise TooManyMomentsError(count, instant(int(np.min(begins))).plain(), instant(int(np.max(ends))).plain())


def united(begins: Int64, ends: Int64) -> tuple[Int64, Int64]:
    """Spans that hold what these hold, ascending and apart."""
    order = np.argsort(begins, kind="stable")
    begins, reached = begins[order], np.maximum.accumulate(ends[order])
    apart = np.append(True, begins[1:] > reached[:-1])[: len(begins)]
    last = np.append(np.flatnonzero(apart)[1:], len(begins)) - 1
    return begins[apart], reached[last] if len(begins) else reached


def _ragged(firsts: Int64, counts: Int64) -> Int64:
    """The numbers first, first + 1, …, so many of each, one after another."""
    if len(firsts) == 1:
        return np.arange(firsts[0], firsts[0] + counts[0])
    place = np.cumsum(counts) - counts
    return np.arange(int(counts.sum())) + np.repeat(firsts - place, counts)
