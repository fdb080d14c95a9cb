"""The clock shared by the rankers: whether an item is valid, in time or in rows."""

from collections.abc import Sequence
from typing import ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
from attrs import define, field

from skyband.arrays import TIME_MIN, Int64, ascending_in_spans, column, first_bad_span, never_back, whole
from skyband.config.parameters import choice
from skyband.errors import InputError
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
