"""QuantileSketch: quantiles of numbers, and the share of rows above a limit, since any moment."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import define
from skyband.arrays import Float64, Int64, column, moment
from skyband.errors import InputError
from skyband.roles.clock import (
    RowClocked,
    check_moments_together,
    check_times_together,
    checked_moments,
    checked_spans,
    first_of,
)
from skyband.roles.thread_guard import inside_all

from skyband_quantiles import sketch_parameters
from skyband_quantiles.ranks import shares_of
from skyband_quantiles.sketch_answers import Answers
from skyband_quantiles.sketch_parameters import LONGEST, fault_of_limit

if TYPE_CHECKING:
    from skyband_quantiles.buckets.reading import Reading

_NO_PARTS = np.empty(0, np.int64)
_NO_LIMITS = np.empty(0, np.float64)

Questions: TypeAlias = tuple[Int64, Int64, Float64]
"""Windows, quantiles in billionths, and limits."""


@define(eq=False)
class QuantileSketch(RowClocked):
    """Finds the value with a given share of the rows at or below it, and the share of the rows above a limit.

    The q-quantile of n rows since a moment is the value of rank max(1, ceil(q n)) in ascending order: always the value
    of a row, with q as an exact decimal. Every answer is a value or share with bounds, low and high, which are equal to
    it if it is exact. Values are any float64 except NaN; -0.0 equals 0.0.
    """

    role: ClassVar[str] = "quantile-sketch"
    order_matters: ClassVar[bool] = False
    """Whether equally correct answers may depend on the order of rows of one time, which are then sorted by value."""
    gives_states: ClassVar[bool] = False
    """Whether its states answer any window without the sketch."""

    bounds_ranks: ClassVar[bool] = False
    """Whether `readings` works: the rank of each value is bounded for certain, so that distances are, too."""
    keeps_rows: ClassVar[bool] = False
    """Whether all rows of the longest window are kept, so that distances are exact."""

    _furthest: ClassVar[int] = 2 * LONGEST + 1

    longest: int = sketch_parameters.longest()
    every: int = sketch_parameters.every()
    offset: int = sketch_parameters.offset()
    cuts: tuple[float, ...] = sketch_parameters.cuts()

    @property
    def exact_up_to(self) -> int:
        """The most rows of a group that the query answers together with others, without a backend for each; 0: none.

        A backend that is not exact must define this property, as the most rows for which its answers are exact.
        """
        return 4096

    @property
    def grain(self) -> int:
        """The time step at whose multiples the windows of questions may start."""
        return 1

    def update(self, times: npt.ArrayLike, values: npt.ArrayLike) -> None:
        """Add rows of values (float64[n]) at times (int64[n], ascending); moves `now` to the last time.

        Raises InputError, leaving the sketch unchanged, if they do not fit, a value is NaN, or times go back.
        """
        rows = self._checked(times, values)
        if len(rows[0]):
            self._update(*rows)
            self._pass(rows[0])

    def answers(
        self,
        times: npt.ArrayLike,
        values: npt.ArrayLike,
        *,
        moments: npt.ArrayLike,
        windows: npt.ArrayLike,
        at: Sequence[float],
        above: Sequence[float] = (),
    ) -> Answers:
        """Add rows as `update` does, and answer over each window at each of `moments` in between.

        moments: int64[m], ascending, not before `now` nor at the last row; windows: int64[w], from 1 to `longest`. The
        answer at a moment T is over the rows in [T - window, T); later rows are added after it. at: the quantiles, in
        any order; above: numbers, for the share of rows above each. Raises InputError as `update` does.
        """
        rows = self._checked(times, values)
        marks: Int64 = column("moments", moments, np.int64)
        self._check_moments(marks)
        questions = self._questions(windows, at, above)
        answers = self._answers(rows[0], rows[1], marks, *questions)
        self._pass_rows_and_moments(rows[0], marks)
        return answers

    @classmethod
    def answers_together(
        cls,
        sketches: Sequence[Self],
        times: npt.ArrayLike,
        values: npt.ArrayLike,
        *,
        spans: npt.ArrayLike,
        moments: Sequence[npt.ArrayLike],
        windows: npt.ArrayLike,
        at: Sequence[float],
        above: Sequence[float] = (),
    ) -> Answers:
        """Like `answers` for several sketches, each with its own rows and moments; answers are in order of sketches.

        sketches: at least one, all different, of this class and with equal parameters. spans: int64[g, 2], without
        overlaps: sketch i gets the rows spans[i, 0] to spans[i, 1]. moments: for each sketch, as in `answers`.
        Raises InputError as `answers` does, leaving all sketches unchanged.
        """
        rows = cls._columns(times, values)
        bounds = checked_spans(sketches, spans, len(rows[0]))
        marks = checked_moments(sketches, moments)
        questions = first_of(sketches)._questions(windows, at, above)
        parts = bounds.tolist()
        with inside_all(sketches):
            check_times_together(sketches, rows[0], bounds)
            check_moments_together(sketches, marks)
            for own in {id(own): own for own in marks}.values():
                cls._check_limits("moments", own)
            for start, stop in parts:
                cls._check_limits("times", rows[0][start:stop])
            answers = cls._answers_together(sketches, rows, bounds, marks, questions)
            for sketch, (start, stop), own in zip(sketches, parts, marks, strict=True):
                sketch._pass_rows_and_moments(rows[0][start:stop], own)
        return answers

    def quantiles(self, since: int, at: Sequence[float]) -> Float64:
        """float64[q, 3]: value, low and high of the quantile for each share, of all rows with time >= since.

        That includes rows at `now`. NaN if there are no rows. Raises InputError if `since` is before `now` - `longest`,
        where rows are forgotten, or if a share is not from 0 to 1 or has more than nine decimals.
        """
        parts = shares_of("at", at)
        bounds = np.full((len(parts), 3), np.nan)
        begin = self._begin(since)
        if begin is not None and len(parts):
            self._ask(begin, parts, _NO_LIMITS, bounds, np.empty((0, 3)))
        return bounds

    def quantile(self, since: int, q: float) -> tuple[float, float, float]:
        """(value, low, high) of a quantile."""
        value, low, high = self.quantiles(since, [q])[0].tolist()
        return value, low, high

    def shares(self, since: int, above: Sequence[float]) -> Float64:
        """float64[a, 3]: for each number, the share of the rows above it, with bounds, of all with time >= since."""
        limits = self._limits(above)
        bounds = np.full((len(limits), 3), np.nan)
        begin = self._begin(since)
        if begin is not None and len(limits):
            self._ask(begin, _NO_PARTS, limits, np.empty((0, 3)), bounds)
        return bounds

    def count(self, since: int) -> tuple[float, float, float]:
        """(rows, low, high): the number of rows with time >= since, with bounds."""
        begin = self._begin(since)
        if begin is None:
            return 0.0, 0.0, 0.0
        return self._count(begin)

    def readings(self, since: Sequence[int]) -> "list[Reading]":  # noqa: ARG002 - most sketches have none
        """For each moment, what is known of all rows with time >= since, including those at `now`.

        For backends with `bounds_ranks`; raises InputError for others. Rows older than `longest` are not counted.
        """
        raise InputError("readings", f"{self.name} bounds no ranks for certain: take buckets or exact")

    def _checked(self, times: Any, values: Any) -> tuple[Int64, Float64]:
        rows = self._columns(times, values)
        self._check_times(rows[0])
        self._check_limits("times", rows[0])
        return rows

    # The rows, whose order is not checked yet.
    @staticmethod
    def _columns(times: Any, values: Any) -> tuple[Int64, Float64]:
        moments: Int64 = column("times", times, np.int64)
        numbers: Float64 = column("values", values, np.float64, len(moments))
        missing = np.isnan(numbers)
        if missing.any():
            raise InputError("values", "must be numbers (got nan): leave such rows out", int(missing.argmax()))
        return moments, numbers + 0.0  # -0.0 is 0.0

    @staticmethod
    def _check_limits(name: str, times: Int64) -> None:
        """Check the limits of sorted times."""
        for row in (0, -1) if len(times) else ():
            if abs(int(times[row])) > 2 * LONGEST:
                raise InputError(name, f"must be from -2**62 to 2**62 (got {int(times[row])})", row % len(times))

    def _check_moments(self, moments: Int64) -> None:
        super()._check_moments(moments)
        if len(moments) and self._last is not None and moments[0] <= self._last:
            message = f"{int(moments[0])} is not after the last row, at {self._last}: answers are over the rows before"
            raise InputError("moments", message, 0)
        self._check_limits("moments", moments)

    def _questions(self, windows: npt.ArrayLike, at: Sequence[float], above: Sequence[float]) -> Questions:
        lengths: Int64 = column("windows", windows, np.int64)
        wrong = (lengths < 1) | (lengths > self.longest)
        if wrong.any():
            place = int(wrong.argmax())
            raise InputError("windows", f"must be from 1 to `longest`, {self.longest} (got {lengths[place]})", place)
        return lengths, shares_of("at", at), self._limits(above)

    def _limits(self, above: Sequence[float]) -> Float64:
        for place, limit in enumerate(above):
            fault = fault_of_limit(limit)
            if fault:
                raise InputError("above", fault, place)
        return np.array([float(limit) + 0.0 for limit in above], np.float64)

    def _begin(self, since: int) -> int | None:
        """The start of a question's window, None if there are no rows in it."""
        begin = moment("since", since)
        if self._now is None:
            return None
        if begin < self._now - self.longest:
            message = f"{begin} is before {self._now - self.longest}: rows older than `longest` are forgotten"
            raise InputError("since", message)
        return None if self._last is None or begin > self._last else max(begin, -2 * LONGEST)

    def _answers(
        self, times: Int64, values: Float64, moments: Int64, windows: Int64, parts: Int64, limits: Float64
    ) -> Answers:
        """Like `answers`, but `now` after the last rows is set by the caller. This default stops at every moment."""
        answers = Answers.room(len(moments), len(windows), len(parts), len(limits))
        start = 0
        stops = np.searchsorted(times, moments, side="left")
        for number, stop in enumerate([*stops.tolist(), len(times)]):
            if stop > start:
                self._update(times[start:stop], values[start:stop])
                self._pass(times[start:stop])
                start = stop
            if number == len(moments):
                break
            moment = int(moments[number])
            self.advance(moment)
            for place, window in enumerate(windows.tolist()):
                if self._last is None or moment - window > self._last:
                    continue
                to = answers.values[number, place], answers.shares[number, place]
                answers.rows[number, place] = self._answer(moment - window, parts, limits, *to)
        return answers

    @classmethod
    def _answers_together(
        cls,
        sketches: Sequence[Self],
        rows: tuple[Int64, Float64],
        spans: Int64,
        moments: Sequence[Int64],
        questions: Questions,
    ) -> Answers:
        """Like `_answers` for each sketch, which this default calls; a single pass is faster."""
        times, values = rows
        each = zip(sketches, spans.tolist(), moments, strict=True)
        return Answers.joined(
            [own._answers(times[start:stop], values[start:stop], at, *questions) for own, (start, stop), at in each]
        )

    def _answer(self, since: int, parts: Int64, limits: Float64, values: Float64, shares: Float64) -> int:
        """Like `_ask`; returns the likely number of rows."""
        rows = int(self._count(since)[0])
        if rows:
            self._ask(since, parts, limits, values, shares)
        return rows

    @abstractmethod
    def _update(self, times: Int64, values: Float64) -> None: ...

    @abstractmethod
    def _ask(self, since: int, parts: Int64, limits: Float64, values: Float64, shares: Float64) -> None:
        """Write the quantiles (float64[q, 3]) and shares (float64[a, 3]) of the rows since a moment; NaN if none.

        parts: int64[q], shares in billionths; limits: float64[a].
        """

    @abstractmethod
    def _count(self, since: int) -> tuple[float, float, float]: ...
