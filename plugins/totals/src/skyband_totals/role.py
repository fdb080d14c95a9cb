"""TotalRanker: the objects with the largest totals over several windows, all from one state."""

from abc import abstractmethod
from collections.abc import Sequence
from copy import deepcopy
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import define
from skyband.arrays import Array, Int64, UInt64, column, moment
from skyband.errors import ConfigError, InputError, Problem
from skyband.roles.clock import (
    RowClocked,
    check_moments_together,
    check_times_together,
    checked_moments,
    checked_spans,
    first_of,
)
from skyband.roles.thread_guard import inside_all

from skyband_totals import ranker_parameters
from skyband_totals.fixed_point import FULL
from skyband_totals.ranker_parameters import LONGEST, TOTALS
from skyband_totals.shares import Least, least_of, most_objects
from skyband_totals.top import EMPTY_TOP, Top, Tops
from skyband_totals.units import REASONS, VALID, to_units

_MOST_OBJECTS = 2**40
"""The limit of objects in an answer without `k` or `share`: more than fit memory, and safe to calculate with."""
Amounts: TypeAlias = Int64 | UInt64 | None
"""What a row adds: one row (None), units (int64[n]), or a value of its object (uint64[n])."""


Columns: TypeAlias = tuple[Int64, Int64, Amounts]
"""The times, objects and amounts of rows."""


@define(eq=False)
class TotalRanker(RowClocked):
    """Ranks objects by their total over windows that end at `now`: rows, the sum of weights, or distinct values.

    The answer has the `k` objects with the largest totals, all objects with at least `share` of the grand total (at
    most 1 / share of them), or all with a total of `at_least`; with several limits, the objects that meet them all. The
    order is total descending, then object ascending. Objects whose total is 0 are left out. With `total = "distinct"`,
    an object's total is the number of its distinct values, and the grand total is the number of distinct (object,
    value) pairs, so that shares add up to 1.
    """

    role: ClassVar[str] = "total-ranker"
    totals: ClassVar[tuple[str, ...]] = TOTALS
    """The kinds of total that the backend can rank by."""
    order_matters: ClassVar[bool] = False
    """Whether another order of rows with equal times may lead to a different, equally valid answer."""
    gives_states: ClassVar[bool] = False
    """Whether the `reader` of its BackendInfo can query its state for any window without the ranker."""

    windows: Sequence[int] = ranker_parameters.windows()
    every: int = ranker_parameters.every()
    k: int | None = ranker_parameters.k()
    share: float | None = ranker_parameters.share()
    at_least: float | None = ranker_parameters.at_least()
    total: str = ranker_parameters.total()
    unit: float = ranker_parameters.unit()

    def __attrs_post_init__(self) -> None:
        ranker_parameters.check_limits(self.k, self.share, self.at_least, self.total)
        if self.total not in self.totals:
            message = f"must be {' or '.join(self.totals)} with {self.name}: use another backend (got {self.total!r})"
            raise ConfigError(Problem("total", message))

    @property
    def exact_up_to(self) -> int:
        """The query ranks groups of at most this many entries together, without a backend for each. 0: none.

        An entry is the total of an object in a pane or, with `total = "distinct"`, a value of an object. For a backend
        that is not exact this applies only if its class defines the property, as the number of entries up to which it
        keeps them all, so that its answers are exact.
        """
        return 2048

    @property
    def longest(self) -> int:
        """The length of the longest window; older rows are forgotten."""
        return max(self.windows)

    @property
    def pane(self) -> int:
        """The longest step at whose multiples all windows begin and end: their greatest common divisor with `every`."""
        return ranker_parameters.pane_of(self.windows, self.every)

    @property
    def grain(self) -> int:
        """Windows begin at multiples of this. Above 1, the backend lacks `any-since` and refuses other moments."""
        return 1

    @property
    def limit(self) -> int:
        """The most objects in an answer."""
        bounds = [*([] if self.k is None else [self.k]), *([] if self.share is None else [most_objects(self.share)])]
        return min([*bounds, _MOST_OBJECTS])

    @property
    def least(self) -> Least:
        """The least total of an answer, in units."""
        return least_of(self.share, self.at_least, self.unit if self.total == "sum" else 1.0)

    def update(
        self,
        times: npt.ArrayLike,
        objects: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        values: npt.ArrayLike | None = None,
    ) -> None:
        """Add rows of objects (int64[n]) at times (int64[n], ascending); moves `now` to the last time.

        weights: float64[n], multiples of `unit` from 0 to 2**53 units, only with total = "sum".
        values: uint64[n], hashes as made by `skyband.columns.hashing`, only with total = "distinct".

        Raises InputError, and leaves the ranker unchanged, if they are invalid, times go back, or the total of the
        longest window would exceed 64 bits.
        """
        rows = self._checked(times, objects, weights, values)
        if len(rows[0]):
            self._check_sum(*rows)
            self._update(*rows)
            self._pass(rows[0])

    def answers(
        self,
        times: npt.ArrayLike,
        objects: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        values: npt.ArrayLike | None = None,
        *,
        moments: npt.ArrayLike,
    ) -> Tops:
        """Like `update`, and returns the answers for all windows at each of the `moments` in between.

        moments: int64[q], ascending, multiples of `grain`, none before `now`. The answer at a moment covers the rows
        before it; later rows are added after it. Raises InputError like `update` and `top`.
        """
        rows = self._checked(times, objects, weights, values)
        marks: Int64 = column("moments", moments, np.int64)
        self._check_moments(marks)
        self._check_sum(*rows)
        tops = self._answers(*rows, marks)
        self._pass_rows_and_moments(rows[0], marks)
        return tops

    @classmethod
    def answers_together(
        cls,
        rankers: Sequence[Self],
        times: npt.ArrayLike,
        objects: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        values: npt.ArrayLike | None = None,
        *,
        spans: npt.ArrayLike,
        moments: Sequence[npt.ArrayLike],
    ) -> Tops:
        """Like `answers` for several rankers, each with its own rows and moments: their answers one after another.

        rankers: one or more of this class with equal parameters, without repetitions. spans: int64[g, 2] that do not
        overlap: ranker i has the rows from spans[i, 0] up to spans[i, 1]. moments: for each, as in `answers`.
        Raises InputError like `answers`, and leaves all rankers unchanged.
        """
        columns = first_of(rankers)._columns(times, objects, weights, values)
        bounds = checked_spans(rankers, spans, len(columns[0]))
        marks = checked_moments(rankers, moments)
        parts = bounds.tolist()
        with inside_all(rankers):
            check_times_together(rankers, columns[0], bounds)
            check_moments_together(rankers, marks)
            for own in {id(own): own for own in marks}.values():
                rankers[0]._check_grains(own)
            for ranker, (start, stop) in zip(rankers, parts, strict=True):
                ranker._check_limits(columns[0][start:stop])
                if ranker.total == "sum":
                    ranker._check_sum(*_part(columns, start, stop))
            tops = cls._answers_together(rankers, columns, bounds, marks)
            for ranker, (start, stop), own in zip(rankers, parts, marks, strict=True):
                ranker._pass_rows_and_moments(columns[0][start:stop], own)
        return tops

    def top(self, window: int) -> Top:
        """The answer over [now − windows[window], now), where all rows are before `now`.

        Raises InputError if there is no such window, or `now` is not a multiple of `grain` or not after the last row:
        call `advance` first.
        """
        place = moment("window", window)
        if not 0 <= place < len(self.windows):
            raise InputError("window", f"must be from 0 to {len(self.windows) - 1}, a place in `windows` (got {place})")
        if self._now is None:
            return EMPTY_TOP
        self._check_after_last("now", self._now)
        self._check_grain("now", self._now)
        return self._top(place)

    def since(self, moment_: int) -> Top:
        """The answer over all rows with time >= the moment, including those at `now`.

        Raises InputError if the moment is not a multiple of `grain`, or before `now` − `longest`, which is forgotten.
        """
        begin = moment("since", moment_)
        self._check_grain("since", begin)
        if self._now is None:
            return EMPTY_TOP
        if begin < self._now - self.longest:
            message = f"{begin} is before {self._now - self.longest}, where the longest window begins: use a longer one"
            raise InputError("since", message)
        return self._since(begin) if begin <= self._now else EMPTY_TOP

    def _check_merge(self, other: Self) -> None:
        if self.total == "sum" and self._alive(self._now or 0) + other._alive(other._now or 0) > FULL:
            raise InputError("other", "cannot be merged: the total would exceed 64 bits; use a larger `unit`")

    def _checked(self, times: Any, objects: Any, weights: Any, values: Any) -> Columns:
        rows = self._columns(times, objects, weights, values)
        self._check_times(rows[0])
        self._check_limits(rows[0])
        return rows

    # The rows may not be sorted yet.
    def _columns(self, times: Any, objects: Any, weights: Any, values: Any) -> Columns:
        moments: Int64 = column("times", times, np.int64)
        ids: Int64 = column("objects", objects, np.int64, len(moments))
        for name, argument, total in (("weights", weights, "sum"), ("values", values, "distinct")):
            if (argument is not None) != (self.total == total):
                message = f"is required with total = {total!r}, and only then (this ranker has {self.total!r})"
                raise InputError(name, message)
        amounts = None if values is None else column("values", values, np.uint64, len(moments))
        if weights is not None:
            amounts = self._units(column("weights", weights, np.float64, len(moments)))
        return moments, ids, amounts

    @staticmethod
    def _check_limits(times: Int64) -> None:
        """Check ascending times."""
        for row in (0, -1) if len(times) else ():
            if abs(int(times[row])) > 2 * LONGEST:
                raise InputError("times", f"must be from −2**62 to 2**62 (got {int(times[row])})", row % len(times))

    def _units(self, weights: Array) -> Int64:
        units, codes = to_units(weights, self.unit)
        if codes.any():
            row = int((codes != VALID).argmax())
            raise InputError("weights", f"{REASONS[int(codes[row])]} (got {weights[row].item()!r})", row)
        return units

    def _check_sum(self, times: Int64, objects: Int64, amounts: Amounts) -> None:
        """Raise InputError if a row would bring the total of the longest window beyond 64 bits."""
        if self.total != "sum" or amounts is None or not len(times):
            return
        if float(amounts.astype(np.float64).sum()) + self._alive(self._now or 0) < 0.99 * FULL:
            return
        trial = deepcopy(self)  # row by row, because rows that expire within the batch make room; rarely needed
        for row in range(len(times)):
            now, part = int(times[row]), slice(row, row + 1)
            if trial._alive(now) + int(amounts[row]) > FULL:
                message = "would bring the total of the longest window beyond 64 bits: use a larger `unit`"
                raise InputError("weights", message, row)
            trial._update(times[part], objects[part], amounts[part])
            trial._pass(times[part])

    def _check_moments(self, moments: Int64) -> None:
        super()._check_moments(moments)
        if len(moments):
            self._check_after_last("moments", int(moments[0]))
            self._check_grains(moments)

    def _check_grains(self, moments: Int64) -> None:
        off = moments % self.grain != 0
        if off.any():
            self._check_grain("moments", int(moments[off.argmax()]), int(off.argmax()))

    def _check_after_last(self, name: str, at: int) -> None:
        if self._last is not None and at <= self._last:
            message = f"{at} is not after the last row, at {self._last}: answers cover the rows before a moment"
            raise InputError(name, f"{message}; advance first")

    def _check_grain(self, name: str, at: int, row: int | None = None) -> None:
        if at % self.grain:
            message = f"must be a multiple of {self.grain}, the common divisor of `every` and `windows` (got {at})"
            raise InputError(name, message, row)

    def _answers(self, times: Int64, objects: Int64, amounts: Amounts, moments: Int64) -> Tops:
        """Like `answers`; leaves `now` to its caller. This default stops at every moment: compiled code is faster."""
        tops, start = [], 0
        stops = np.searchsorted(times, moments, side="left")
        for at, stop in zip([*moments.tolist(), None], [*stops.tolist(), len(times)], strict=True):
            if stop > start:
                part = slice(start, stop)
                self._update(times[part], objects[part], None if amounts is None else amounts[part])
                self._pass(times[part])
                start = stop
            if at is not None:
                self.advance(at)
                tops += [self._top(window) for window in range(len(self.windows))]
        return Tops.of(tops)

    @classmethod
    def _answers_together(
        cls, rankers: Sequence[Self], columns: Columns, spans: Int64, moments: Sequence[Int64]
    ) -> Tops:
        """The answers of each ranker. This default calls `_answers` of each: a single call is faster."""
        each = zip(rankers, spans.tolist(), moments, strict=True)
        return Tops.joined([ranker._answers(*_part(columns, start, stop), at) for ranker, (start, stop), at in each])

    @abstractmethod
    def _update(self, times: Int64, objects: Int64, amounts: Amounts) -> None: ...

    @abstractmethod
    def _top(self, window: int) -> Top: ...

    @abstractmethod
    def _since(self, begin: int) -> Top: ...

    def _alive(self, now: int) -> int:  # noqa: ARG002
        """A lower bound of the units in the longest window at `now`, if their sum must fit 64 bits."""
        return 0


def _part(columns: Columns, start: int, stop: int) -> Columns:
    times, objects, amounts = columns
    return times[start:stop], objects[start:stop], None if amounts is None else amounts[start:stop]
