"""Sketch: counts the distinct objects since any moment."""

import math
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt
from attrs import define, field

from skyband.arrays import TIME_MIN, Float64, Int64, UInt64, ascending_in_spans, column, moment, never_back
from skyband.config.half_open_ranges import ValueRange
from skyband.errors import InputError
from skyband.roles.backend import Backend
from skyband.roles.clock import checked_moments, checked_spans, first_of
from skyband.roles.thread_guard import inside, inside_all

_KEEPING = 'make it with values = "latest", as k-skb and exact allow'

_Count = TypeVar("_Count", float, Float64)


class KeyBitmap(ABC):
    """The table of a sketch in which each key fills one cell, and estimates depend only on the filled cells.

    A group of a few thousand keys then needs no sketch: it keeps its keys and their last times, and the cells that the
    keys since a moment fill give the estimate of a sketch.
    """

    rows: int
    """Rows of the table."""
    width: int
    """Cells per row, a multiple of 64."""

    @abstractmethod
    def cells(self, keys: UInt64) -> npt.NDArray[np.int32]:
        """int32[n]: the number of each key's cell, counted row by row. O(n)."""

    @abstractmethod
    def estimates(self, filled: Int64) -> Float64:
        """float64[q, 3]: what `Sketch.estimate_with_bounds` returns if this many cells of each row are filled.

        filled: int64[q, rows]. Used if more than `exact_up_to` keys have arrived since the moment.
        """


@define(eq=False)
class Sketch(Backend):
    """Counts the distinct keys seen since any moment, so that one sketch serves every window length."""

    role: ClassVar[str] = "sketch"
    ordered: ClassVar[bool] = False
    """Whether times must not go back: the backend then lacks `out-of-order`."""

    _now: int | None = field(default=None, init=False)

    @property
    def now(self) -> int | None:
        """The latest time seen; None before the first row."""
        return self._now

    @property
    def grain(self) -> int:
        """Estimates count from multiples of this. Above 1 the sketch lacks `any-since` and rejects other moments."""
        return 1

    @property
    def exact_up_to(self) -> int:
        """The number of distinct keys up to which estimates are exact and the state holds only each key's last time.

        Such a sketch can be built later from its keys, each with its last time. So with many groups, a group gets a
        sketch only when it has more keys than this, and is counted exactly until then. 0: every group has a sketch from
        the start.
        """
        return 0

    @property
    def keeps_values(self) -> bool:
        """Whether it keeps the latest value of each key, so that `estimate_between` works."""
        return False

    @property
    def adds_values(self) -> bool:
        """Whether `estimate_sum` works, if it `keeps_values`."""
        return False

    @property
    def needs_limits(self) -> bool:
        """Whether `estimate_sum` needs limits of all values, because the sketch sees only some of them."""
        return False

    def update(self, times: npt.ArrayLike, keys: npt.ArrayLike, values: npt.ArrayLike | None = None) -> None:
        """Take in keys (uint64[n], spread evenly, as `skyband.columns.hashing` makes them) seen at times (int64[n]).

        values: float64[n], required if it `keeps_values`, else forbidden.

        Raises InputError, the sketch unchanged, for unequal lengths, wrong dtypes, the time −2^63 (reserved for
        "never"), a value that is NaN, or times that go back in an `ordered` sketch.
        """
        moments: Int64 = column("times", times, np.int64)
        hashes: UInt64 = column("keys", keys, np.uint64, len(moments))
        numbers = self._checked_values(values, len(moments)) if values is not None or self.keeps_values else None
        if not len(moments):
            return
        from skyband.kernels.minmax import minmax  # imported on use: it loads numba

        first, last = minmax(moments)
        if first == TIME_MIN:
            raise InputError("times", f"{TIME_MIN} is reserved for never", int(moments.argmin()))
        if self.ordered:
            never_back("times", moments, self._now)
        if numbers is None:
            self._update(moments, hashes)
        else:
            self._update_with_values(moments, hashes, numbers)
        self._now = last if self._now is None else max(self._now, last)

    def _checked_values(self, values: npt.ArrayLike | None, rows: int) -> Float64:
        if not self.keeps_values:
            raise InputError("values", f"{self.name} keeps no values: {_KEEPING}, or leave them out")
        if values is None:
            raise InputError("values", f"are missing: {self.name} was made to keep each key's latest value")
        numbers: Float64 = column("values", values, np.float64, rows)
        if np.isnan(numbers).any():
            raise InputError("values", "must be a number (got nan)", int(np.isnan(numbers).argmax()))
        return numbers + 0.0  # -0.0 becomes 0.0

    @classmethod
    def counts_together(
        cls,
        sketches: Sequence[Self],
        times: npt.ArrayLike,
        keys: npt.ArrayLike,
        *,
        spans: npt.ArrayLike,
        moments: Sequence[npt.ArrayLike],
        since: Mapping[int, Sequence[int]],
    ) -> Float64:
        """The counts of several sketches at moments while each takes in its own rows: float64[n, 3], concatenated.

        At a moment a sketch has taken in its rows before it, returns `estimate_with_bounds` since each `since[moment]`,
        and forgets what is before the earliest of these. In the end it has taken in all its rows.

        sketches: at least one, of this class, with equal parameters, without duplicates, none that keeps values. times,
        keys: as in `update`. spans: int64[g, 2] that do not overlap: rows spans[i, 0] to spans[i, 1], exclusive, go to
        sketch i, ascending in time. moments: int64[q] for each sketch, ascending. since: one or more for each moment.
        Raises InputError as separate calls would, or if a sketch keeps values, all sketches unchanged.
        """
        first = first_of(sketches)
        rows: Int64 = column("times", times, np.int64)
        hashes: UInt64 = column("keys", keys, np.uint64, len(rows))
        bounds = checked_spans(sketches, spans, len(rows))
        marks = checked_moments(sketches, moments)
        with inside_all(sketches):
            first._check_rows_of_several(sketches, rows, bounds)
            begins = first._checked_begins(marks, since)
            counts = list[tuple[float, float, float]]()
            for sketch, (start, stop), own in zip(sketches, bounds.tolist(), marks, strict=True):
                for at in own.tolist():
                    end = bisect_left(rows, at, start, stop)  # most have few rows, and numpy's search is slow for them
                    if end > start:
                        sketch._take_in(rows[start:end], hashes[start:end])
                        start = end
                    counts += [sketch.estimate_with_bounds(begin) for begin in begins[at]]
                    sketch.forget(min(begins[at]))
                if stop > start:
                    sketch._take_in(rows[start:stop], hashes[start:stop])
        return np.array(counts, np.float64).reshape(-1, 3)

    # As `update`, for one or more checked rows in order of time.
    def _take_in(self, times: Int64, keys: UInt64) -> None:
        self._update(times, keys)
        last = int(times[-1])
        self._now = last if self._now is None else max(self._now, last)

    # Raises InputError unless each of several sketches with these parameters can take in its rows.
    def _check_rows_of_several(self, sketches: Sequence["Sketch"], times: Int64, spans: Int64) -> None:
        if any(sketch.keeps_values for sketch in sketches):
            raise InputError("sketches", f"{self.name} keeps values, and none were given")
        some = spans[spans[:, 1] > spans[:, 0]]
        if not ascending_in_spans(times, some):
            for start, stop in some.tolist():
                never_back("times", times[start:stop], None)
        firsts = times[some[:, 0]]
        if (firsts == TIME_MIN).any():
            raise InputError("times", f"{TIME_MIN} is reserved for never", int(some[(firsts == TIME_MIN).argmax(), 0]))
        if self.ordered:
            for sketch, (start, stop) in zip(sketches, spans.tolist(), strict=True):
                never_back("times", times[start : min(stop, start + 1)], sketch._now)

    # The starts to count from at each moment. InputError if one is missing or a sketch cannot count from it.
    def _checked_begins(self, moments: Sequence[Int64], since: Mapping[int, Sequence[int]]) -> dict[int, list[int]]:
        begins = dict[int, list[int]]()
        for own in {id(own): own for own in moments}.values():
            never_back("moments", own, None)
            for at in own.tolist():
                if at not in begins:
                    begins[at] = [moment("since", begin) for begin in since.get(at, ())]
                    if not begins[at]:
                        raise InputError("since", f"must have at least one entry for each moment (none for {at})")
                    wrong = [begin for begin in begins[at] if begin % self.grain]
                    if wrong:
                        raise InputError("since", f"must be a multiple of {self.grain} (got {wrong[0]})")
        return begins

    @abstractmethod
    def _update(self, times: Int64, keys: UInt64) -> None: ...

    def _update_with_values(self, times: Int64, keys: UInt64, values: Float64) -> None:
        """As `_update` for a sketch that `keeps_values`: values are never NaN or -0.0."""
        raise NotImplementedError(f"{type(self).__name__} sets keeps_values, so it must define _update_with_values")

    @abstractmethod
    def estimate(self, since: int) -> float:
        """The number of distinct keys with time >= `since`, an integer of any size.

        Raises InputError if `since` is not an integer (`skyband.arrays.moment` checks) or not a multiple of `grain`.
        """

    def bounds(self, since: int) -> tuple[float, float]:
        """The interval (low, high) that the declared guarantee gives around `estimate(since)`.

        This default returns all n that the backend's `epsilon` allows: |estimate − n| <= epsilon·n. Without
        `epsilon` the estimate is taken as exact.
        """
        return self._around(self.estimate(since))

    def estimate_with_bounds(self, since: int) -> tuple[float, float, float]:
        """`estimate(since)` and `bounds(since)` together: (count, low, high). A backend may compute both at once."""
        if type(self).bounds is not Sketch.bounds:
            return self.estimate(since), *self.bounds(since)
        count = self.estimate(since)
        return count, *self._around(count)

    def bitmap(self) -> KeyBitmap | None:
        """The cells by which a fresh sketch counts more than `exact_up_to` keys; None if it counts in another way."""
        return None

    def estimate_between(self, since: int, low: float, high: float) -> tuple[float, float, float]:
        """(count, low, high) of the distinct keys with time >= `since` whose latest value v has low <= v < high.

        The latest value of a key is that of its last row; of several rows at that time, the largest. An infinite `high`
        sets no limit. Raises InputError if it keeps no values.
        """
        bounds = ValueRange(low, high)
        if not self.keeps_values:
            raise InputError("values", f"{self.name} keeps no values: {_KEEPING}")
        return self._estimate_between(moment("since", since), bounds)

    def _estimate_between(self, since: int, between: ValueRange) -> tuple[float, float, float]:
        """As `estimate_between` for a sketch that `keeps_values`."""
        raise NotImplementedError(f"{type(self).__name__} sets keeps_values, so it must define _estimate_between")

    def estimate_sum(self, since: int, least: float = -math.inf, most: float = math.inf) -> tuple[float, float, float]:
        """(sum, low, high): the sum of the latest values of the distinct keys with time >= `since`.

        The latest value of a key is as in `estimate_between`. least, most: limits of all values. An exact sum is the
        float64 nearest to the true sum, for any order of the values. Raises InputError if it does not add up values, or
        `needs_limits` and a limit is infinite.
        """
        terms, low, high = self.sum_terms(since, least, most)
        return math.fsum(terms.tolist()), low, high

    def sum_terms(self, since: int, least: float = -math.inf, most: float = math.inf) -> tuple[Float64, float, float]:
        """As `estimate_sum`, with the sum as numbers, float64[n], that add up to it before rounding.

        So sums of separate streams add up to the sum of all of them, to the last bit.
        """
        if not self.adds_values:
            raise InputError("sum", f"{self.name} counts keys only; k-skb and exact can add up values")
        if not self.keeps_values:
            raise InputError("values", f"{self.name} keeps no values: {_KEEPING}")
        if self.needs_limits and not (math.isfinite(least) and math.isfinite(most)):
            message = f"{self.name} sees only some of the values: give the least and the most that any value can be"
            raise InputError("most" if math.isfinite(least) else "least", message)
        if not least <= most:
            raise InputError("most", f"must be at least least = {least:g} (got {most:g})")
        return self._sum_terms(moment("since", since), float(least), float(most))

    def _sum_terms(self, since: int, least: float, most: float) -> tuple[Float64, float, float]:
        """As `sum_terms` for a sketch that `adds_values`."""
        raise NotImplementedError(f"{type(self).__name__} sets adds_values, so it must define _sum_terms")

    def _around(self, count: _Count) -> tuple[_Count, _Count]:
        """The interval of `epsilon` around an estimate, or around each of many."""
        epsilon = float(getattr(self, "epsilon", 0.0))
        return count / (1 + epsilon), count / (1 - epsilon)

    def forget(self, before: int) -> None:
        """Drop what only affects estimates since moments earlier than `before`.

        Estimates since `before` or later are unchanged; earlier ones become meaningless. An operator uses this to bound
        the memory of growing sketches, with `before` the start of its longest window. A sketch of fixed size does
        nothing. Raises InputError if `before` is not an integer.
        """
        moment("before", before)

    def merge(self, other: Self) -> None:
        """Become the sketch of both streams. Raises InputError unless `other` has the same class and parameters."""
        self._check_alike(other)
        with inside(other):
            self._merge(other)
            if other._now is not None:
                self._now = other._now if self._now is None else max(self._now, other._now)

    @abstractmethod
    def _merge(self, other: Self) -> None: ...
