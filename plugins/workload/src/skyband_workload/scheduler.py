"""The scheduler: the moments at which each query answers, and the views of these answers (thesis, chapter 3).

A view is defined by its start s: the queries whose window [T − window, T) begins at s share it, each at its own moment
T. Everything here follows from the queries and the clock, so none of it is state.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from attrs import define, field
from skyband.arrays import TIME_MAX, TIME_MIN, Int64
from skyband.kernels.nested import kernel_njit, shared_njit
from skyband.kernels.sorted_arrays import distinct

from skyband_workload.analyser import FROM_THE_START, MetaQuery

NEVER = TIME_MAX
_FIRST = TIME_MIN
_NO_MOMENTS = np.empty(0, np.int64), np.empty(0, np.int64)


class Moments(NamedTuple):
    """Due answers in order of (at, query): int64[a] each; `start` is the start of the window."""

    at: Int64
    query: Int64
    start: Int64
    k: Int64


class Plan(NamedTuple):
    """Views in order of start, and the outputs of each in order of time.

    start: int64[v]; view i has the outputs offsets[i]..offsets[i+1] (int64[v+1]) of `at` and `k` (int64[o]), where
    k[j] is the largest k of that output and the view's later ones: K(s) until at[j] has passed.
    """

    start: Int64
    offsets: Int64
    at: Int64
    k: Int64


@define(eq=False)
class Scheduler:
    """Schedules the answers of a meta query."""

    meta: MetaQuery
    next_moment: int = field(default=NEVER, init=False)
    """The next moment after the last `look_from`, or an earlier one."""

    @cached_property
    def _rhythms(self) -> tuple[Int64, Int64, Int64]:
        """The distinct combinations of slide, residue and since of window starts, usually far fewer than queries.

        Only panes need them, and `mintopk` may create thousands of schedulers of one query.
        """
        window, slide, phase, since = self._arrays()
        if len(slide) == 1:
            return slide, (phase - window) % slide, since
        rhythms = np.unique(np.stack((slide, (phase - window) % slide, since)), axis=1)
        return rhythms[0].copy(), rhythms[1].copy(), rhythms[2].copy()

    @cached_property
    def rate(self) -> float:
        """The answers due in a unit of time."""
        return float((1 / self.meta.slide).sum())

    def moments(self, after: int, until: int) -> Moments:
        """The answers with after < at <= until. O(q) if there are any, plus O(a log a)."""
        at, query = _NO_MOMENTS
        if until >= self.next_moment:
            at, query = _listed(*self._arrays(), after, until, False)
            if len(self.meta) > 1:
                order = np.lexsort((query, at))
                at, query = at[order], query[order]
            self.next_moment = int(_first_after(*self._arrays(), until).min())
        return Moments(at, query, _begins(at, self.meta.window[query]), self.meta.k[query])

    def look_from(self, after: int) -> None:
        """Set the next moment to the first after `after`."""
        self.next_moment = int(_first_after(*self._arrays(), after).min())

    def plan(self, after: int, horizon: int) -> Plan:
        """The views with start <= horizon and an output after `after`. O(q) plus O(o log o) in their outputs."""
        at, query = _listed(*self._arrays(), after, horizon, True)
        start = _begins(at, self.meta.window[query])
        k = self.meta.k[query]
        if len(self.meta) > 1:
            order = np.lexsort((at, start))
            at, start, k = at[order], start[order], k[order]
        offsets = np.concatenate((np.flatnonzero(np.concatenate(([len(at) > 0], start[1:] != start[:-1]))), [len(at)]))
        _largest_to_come(offsets, k)
        return Plan(start[offsets[:-1]], offsets, at, k)

    def starts(self, after: int, until: int) -> Int64:
        """The distinct starts of windows with after < start <= until, ascending."""
        slides, residues, since = self._rhythms
        starts, _ = _listed(np.zeros_like(slides), slides, residues, since, after, until, False)
        return distinct(starts) if len(slides) > 1 else starts

    def panes(self, after: int, times: Int64) -> Int64:
        """The distinct starts of panes of rows at `times` (int64[n], ascending), later than `after`, ascending."""
        return self.starts(after, int(times[-1]))

    def latest_start(self, time: int) -> int:
        """The start of the youngest window of a row at `time`; the least int64 if there is none."""
        return int(_latest_start(*self._rhythms, time))

    def oldest_start(self, after: int) -> int:
        """The earliest start of a window that is answered after `after`."""
        first = _first_after(*self._arrays(), after)
        return int(np.where(first == NEVER, NEVER, _begins(first, self.meta.window)).min())

    def _arrays(self) -> tuple[Int64, Int64, Int64, Int64]:
        return self.meta.window, self.meta.slide, self.meta.phase, self.meta.since


def moments_together(schedulers: Sequence[Scheduler], after: Sequence[int], until: Sequence[int]) -> list[Moments]:
    """The `moments` of several schedulers with the same queries, with equal ones computed once."""
    alike: dict[tuple[bytes, int, int], tuple[Moments, int]] = {}
    each = []
    for scheduler, begin, end in zip(schedulers, after, until, strict=True):
        key = scheduler.meta.since.tobytes(), scheduler.next_moment, end
        if begin >= scheduler.next_moment:
            each.append(scheduler.moments(begin, end))
            continue
        if key not in alike:
            alike[key] = scheduler.moments(begin, end), scheduler.next_moment
        moments, scheduler.next_moment = alike[key]
        each.append(moments)
    return each


def starts_together(schedulers: Sequence[Scheduler], after: Int64, until: Int64) -> list[Int64]:
    """The `starts` of several schedulers with the same queries, with equal ones computed once."""
    meta = schedulers[0].meta
    residues = (meta.phase - meta.window) % meta.slide
    numbers = [time[:, None] // meta.slide - (time[:, None] % meta.slide < residues) for time in (after, until)]
    alike: dict[tuple[bytes, bytes], Int64] = {}
    each = []
    spans = zip(schedulers, np.hstack(numbers), after.tolist(), until.tolist(), strict=True)
    for scheduler, number, begin, end in spans:
        key = scheduler.meta.since.tobytes(), number.tobytes()
        if key not in alike:
            alike[key] = scheduler.starts(begin, end)
        each.append(alike[key])
    return each


@define(eq=False)
class OnDemandScheduler(Scheduler):
    """Schedules only the questions that are asked: a window may begin anywhere, so each time with rows is a pane."""

    _questions: Moments = field(factory=lambda: Moments(*_NO_MOMENTS, *_NO_MOMENTS), init=False)
    """Questions that wait for the rows before their moments."""

    def ask(self, questions: Moments) -> None:
        """Answer these distinct moments next, in order of `at`."""
        self._questions = questions

    @property
    def rate(self) -> float:
        """No answer is due."""
        return 0.0

    def moments(self, after: int, until: int) -> Moments:  # noqa: ARG002 - none was answered before it was asked
        """The questions up to `until`."""
        count = int(np.searchsorted(self._questions.at, until, side="right"))
        due = Moments(*(column[:count] for column in self._questions))
        self._questions = Moments(*(column[count:] for column in self._questions))
        return due

    def look_from(self, after: int) -> None:
        """There is no next moment."""

    def panes(self, after: int, times: Int64) -> Int64:
        """The distinct times of rows later than `after`."""
        first = np.append(True, times[1:] != times[:-1])
        first &= times > after
        return times[first]

    def latest_start(self, time: int) -> int:
        """The time itself."""
        return time

    def oldest_start(self, after: int) -> int:
        """The start of the longest window at the first moment after `after`."""
        longest = self.meta.longest_window
        return after + 1 - longest if after + 1 >= _FIRST + longest else _FIRST


def _begins(at: Int64, window: Int64) -> Int64:
    return np.where(at < _FIRST + window, _FIRST, at - window)


@shared_njit
def _first_after(window: Int64, slide: Int64, phase: Int64, since: Int64, after: int) -> Int64:
    """Each query's first moment after `after`, NEVER if it does not fit 64 bits."""
    first = np.empty(len(slide), np.int64)
    for q in range(len(slide)):
        first[q] = NEVER
        if after == NEVER:
            continue
        least = after + 1
        if since[q] != FROM_THE_START:
            if since[q] > NEVER - window[q]:
                continue
            least = max(least, since[q] + window[q])
        wait = (phase[q] - least % slide[q]) % slide[q]
        if least <= NEVER - wait:
            first[q] = least + wait
    return first


@kernel_njit
def _latest_start(slide: Int64, residue: Int64, since: Int64, time: int) -> int:
    latest = _FIRST
    for q in range(len(slide)):
        passed = (time % slide[q] - residue[q]) % slide[q]
        if time >= _FIRST + passed and time - passed >= since[q]:
            latest = max(latest, time - passed)
    return latest


@kernel_njit
def _listed(
    window: Int64, slide: Int64, phase: Int64, since: Int64, after: int, until: int, by_start: bool
) -> tuple[Int64, Int64]:
    """Each query's moments after `after` up to `until`, or with windows that begin up to `until`."""
    first = _first_after(window, slide, phase, since, after)
    counts, total = np.zeros(len(slide), np.int64), 0
    for q in range(len(slide)):
        last = until
        if by_start:
            last = until + window[q] if until <= NEVER - window[q] else NEVER
        if first[q] != NEVER and first[q] <= last:
            counts[q] = 1 + np.int64((np.uint64(last) - np.uint64(first[q])) // np.uint64(slide[q]))
        total += counts[q]
    at, query = np.empty(total, np.int64), np.empty(total, np.int64)
    p = 0
    for q in range(len(slide)):
        for j in range(counts[q]):
            at[p] = first[q] + j * slide[q]
            query[p] = q
            p += 1
    return at, query


@kernel_njit
def _largest_to_come(offsets: Int64, k: Int64) -> None:
    """Replace each output's k with the largest of it and its view's later ones."""
    for v in range(len(offsets) - 1):
        for j in range(offsets[v + 1] - 2, offsets[v] - 1, -1):
            k[j] = max(k[j], k[j + 1])
