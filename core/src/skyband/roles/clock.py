"""The clock shared by the rankers: whether an item is valid, in time or in rows."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt
from attrs import define, field

from skyband.arrays import TIME_MIN, Array, Int64, ascending_in_spans, column, first_bad_span, never_back, whole
from skyband.config.parameters import choice
from skyband.errors import InputError, SnapshotError
from skyband.roles.backend import Backend

_Backend = TypeVar("_Backend", bound=Backend)


@define(eq=False)
class Clocked(Backend):
    """A backend with a `now` that never goes back; an item is valid iff its time >= now − window.

    `by="rows"`: the times are the row numbers 0, 1, 2, … and `now` is the number of rows seen, so a window
    holds exactly the last W rows.
    """

    ordered: ClassVar[bool] = True

    by: str = choice("time", "rows", default="time", kw_only=True, help="whether windows are times or row counts")

    _now: int | None = field(default=None, init=False)

    @property
    def now(self) -> int | None:
        """The moment reached; None before the first row."""
        return self._now

    def _check_times(self, times: Int64) -> None:
        if self.by == "time":
            never_back("times", times, self._now)
            return
        first = self._now or 0
        wrong = times != np.arange(first, first + len(times))  # numpy compares a plain range element by element
        if wrong.any():
            row = int(wrong.argmax())
            raise InputError("times", f"must be the row number {first + row} (got {int(times[row])})", row)

    # Raises InputError unless answers can be given at these moments from `now` on.
    def _check_moments(self, moments: Int64) -> None:
        never_back("moments", moments, self._now)

    # The first moment that can be answered.
    @property
    def _first_moment(self) -> int:
        return TIME_MIN if self._now is None else self._now

    def _reached(self, times: Int64) -> int:
        """The value of `now` after these times."""
        return int(times[-1]) + (self.by == "rows")

    def advance(self, now: int) -> None:
        """Move `now` forward; idempotent. Raises InputError if it would go back or does not fit int64."""
        moment = self._check_moment(now)
        if moment != self._now:
            self._advance(moment)
            self._now = moment

    def _check_moment(self, now: int) -> int:
        moment = whole("now", now)
        reached = 0 if self._now is None and self.by == "rows" else self._now
        if reached is not None and moment < reached:
            raise InputError("now", f"{moment} is before {reached}, the time already reached; times never go back")
        return moment

    def _advance(self, now: int) -> None:
        """Drop what is no longer valid at `now`; a backend may also do so later."""


@define(eq=False)
class RowClocked(Clocked):
    """A backend whose answers at a moment are over the rows before it, and that merges with others in time."""

    _furthest: ClassVar[int] = 2**63
    """The limit of the last row's time, on both sides of 0."""

    _last: int | None = field(default=None, init=False)
    """The time of the last row."""

    @property
    def latest(self) -> int | None:
        """The time of the last row; None before the first."""
        return self._last

    @property
    def _first_moment(self) -> int:
        now = super()._first_moment
        return now if self._last is None else max(now, self._last + 1)

    def _pass(self, times: Int64) -> None:
        self._last = int(times[-1])
        self._now = max(self._reached(times), self._now or 0) if self.by == "rows" else self._last

    def _pass_rows_and_moments(self, times: Int64, moments: Int64) -> None:
        if len(times):
            self._pass(times)
        if len(moments):
            self._now = int(moments[-1]) if self._now is None else max(self._now, int(moments[-1]))

    def merge(self, other: Self) -> None:
        """Become the backend of both streams; `other` is unchanged, and `now` is the later of the two.

        Raises InputError unless it has the same class and equal parameters, with windows in time.
        """
        self._check_alike(other)
        if self.by == "rows":
            raise InputError("other", "cannot be merged: windows in rows need one order of all rows")
        self._check_merge(other)
        if other._now is not None:
            now = other._now if self._now is None else max(self._now, other._now)
            self._merge(other, now)
            self._now = now
            self._last = max((last for last in (self._last, other._last) if last is not None), default=None)

    def _check_merge(self, other: Self) -> None:
        """Raise InputError if the two cannot be merged, though their classes and parameters are equal."""

    @abstractmethod
    def _merge(self, other: Self, now: int) -> None:
        """Add the rows of `other`; now: the later of both, which they do not have yet."""

    def _clock(self) -> dict[str, Array]:
        """`now` and the last row's time, for `_state`."""
        return {"clock": np.array([number for number in (self._now, self._last) if number is not None], np.int64)}

    def _set_clock(self, clock: Array) -> None:
        """Set the clock to what `_clock` returned. Raises SnapshotError if it is impossible."""
        numbers, rows = [int(number) for number in clock], self.by == "rows"
        late = len(numbers) == 2 and numbers[1] > numbers[0] - rows
        far = any(abs(number) > self._furthest for number in numbers[1:])
        if clock.dtype != np.int64 or len(numbers) > 2 or late or far or (rows and bool(numbers) and numbers[0] < 0):
            raise SnapshotError(f"of {self.role}/{self.name} holds the clock {numbers}, which is impossible")
        self._now, self._last = (*numbers, None, None)[:2]


def first_of(backends: Sequence[_Backend]) -> _Backend:
    """The first of several backends. Raises InputError if there is none."""
    if not backends:
        raise InputError("spans", "must be of one backend at least (got none)")
    return backends[0]


def checked_spans(backends: Sequence[Backend], spans: npt.ArrayLike, rows: int) -> Int64:
    """int64[g, 2]: the span of the `rows` rows that each of several backends gets.

    Raises InputError unless there is one per backend, all within the rows, none overlapping, and no backend repeated.
    """
    whole_numbers = np.asarray(spans)
    if whole_numbers.shape != (len(backends), 2) or whole_numbers.dtype.kind not in "iu":
        got = f"got {whole_numbers.dtype.name} of shape {whole_numbers.shape}"
        raise InputError("spans", f"must be int64, a begin and an end for each of {len(backends)} ({got})")
    bounds: Int64 = whole_numbers.astype(np.int64, copy=False)
    row = first_bad_span(bounds[:, 0], bounds[:, 1], 0, rows)
    if row is not None:
        raise InputError("spans", f"must be ascending and within {rows} rows (got {bounds[row].tolist()})", row)
    order = np.argsort(bounds[:, 0], kind="stable")
    some = order[bounds[order, 1] > bounds[order, 0]]
    overlap = bounds[some[1:], 0] < bounds[some[:-1], 1]
    if overlap.any():
        row = int(some[1:][overlap][0])
        raise InputError("spans", f"must not overlap (got {bounds[row].tolist()} beside another with its rows)", row)
    if len({id(backend) for backend in backends}) < len(backends):
        raise InputError("spans", "must be of different backends: one is listed twice")
    return bounds


def checked_moments(backends: Sequence[Backend], moments: Sequence[npt.ArrayLike]) -> list[Int64]:
    """int64[q] for each of several backends. Raises InputError unless there is one valid array per backend."""
    if len(moments) != len(backends):
        raise InputError("moments", f"must be an array for each of {len(backends)} (got {len(moments)})")
    return [column("moments", own, np.int64) for own in moments]


def check_times_together(backends: Sequence[Clocked], times: Int64, spans: Int64) -> None:
    """Raise InputError unless each of several backends can take in rows at times[spans[i, 0] : spans[i, 1]]."""
    some = spans[:, 1] > spans[:, 0]
    if backends[0].by == "time" and ascending_in_spans(times, spans[some]):
        reached = np.array([TIME_MIN if backend._now is None else backend._now for backend in backends], np.int64)
        if (times[spans[some, 0]] >= reached[some]).all():
            return
    for backend, (start, stop) in zip(backends, spans.tolist(), strict=True):
        backend._check_times(times[start:stop])


def check_moments_together(backends: Sequence[Clocked], moments: Sequence[Int64]) -> None:
    """Raise InputError unless each of several backends can answer its moments. Most share one array."""
    apart = {id(own): own for own in moments}.values()
    if not any((own[1:] < own[:-1]).any() for own in apart if len(own)):
        firsts = [(backend, int(own[0])) for backend, own in zip(backends, moments, strict=True) if len(own)]
        if all(backend._first_moment <= first for backend, first in firsts):
            return
    for backend, own in zip(backends, moments, strict=True):
        backend._check_moments(own)
