"""Sketch: how many distinct objects since any moment."""

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

_KEEPING = 'make it with values = "latest", which k-skb and exact take'

_Count = TypeVar("_Count", float, Float64)


class KeyBitmap(ABC):
    """What a sketch would count by, if each key fills one cell of a table, and it reads no more than filled cells.

    A group of a few thousand keys then needs no sketch of its own: it is its keys and their last times, and the cells
    that the keys since a moment fill tell what its sketch would.
    """

    rows: int
    """Of the table."""
    width: int
    """Cells of a row, a multiple of 64."""

    @abstractmethod
    def cells(self, keys: UInt64) -> npt.NDArray[np.int32]:
        """int32[n]: the number of each key's cell, counted row by row. O(n)."""

    @abstractmethod
    def estimates(self, filled: Int64) -> Float64:
        """float64[q, 3]: what `Sketch.estimate_with_bounds` gives where so many cells of each row are filled.

        filled: int64[q, rows]. Asked where more keys than `exact_up_to` have come since the moment.
        """


@define(eq=False)
class Sketch(Backend):
    """Counts the distinct keys seen since any moment, so that one sketch serves every window length."""

    role: ClassVar[str] = "sketch"
    ordered: ClassVar[bool] = False
    """Times must not go back: the backend lacks `out-of-order`."""

    _now: int | None = field(default=None, init=False)

    @property
    def now(self) -> int | None:
        """The latest time seen, None before the first."""
        return self._now

    @property
    def grain(self) -> int:
        """Estimates are since multiples of this. Above 1 the sketch lacks `any-since`, and refuses other moments."""
        return 1

    @property
    def exact_up_to(self) -> int:
        """Distinct keys up to which estimates and bounds are exact and the state tells only each key's last time.

        Such a sketch can be made later from its keys, each given once with its last time. So with many groups, a group
        has no sketch until it has more keys than this, and is counted exactly. 0: every group has a sketch at once.
        """
        return 0

    @property
    def keeps_values(self) -> bool:
        """Whether it keeps the value that each key had last, so that `estimate_between` answers."""
        return False

    @property
    def adds_values(self) -> bool:
        """Whether `estimate_sum` answers, where it `keeps_values`."""
        return False

    @property
    def needs_limits(self) -> bool:
        """Whether `estimate_sum` has to know what all values lie within, as it sees only some of them."""
        return False

    def update(self, times: npt.ArrayLike, keys: npt.ArrayLike, values: npt.ArrayLike | None = None) -> None:
        """Take in keys (uint64[n], spread evenly, as `skyband.columns.hashing` makes them) seen at times (int64[n]).

        values: float64[n], given where it `keeps_values`, and only there.

        Raises InputError, the sketch unchanged, on unequal lengths, wrong dtypes, the time −2^63 (it stands for
        "never"), a value that is NaN, or times that go back in an `ordered` sketch.
        """
        moments: Int64 = column("times", times, np.int64)
        hashes: UInt64 = column("keys", keys, np.uint64, len(moments))
        numbers = self._checked_values(values, len(moments)) if values is not None or self.keeps_values else None
        if not len(moments):
            return
        from skyband.kernels.minmax import minmax  # on use, because it loads numba

        first, last = minmax(moments)
        if first == TIME_MIN:
            raise InputError("times", f"{TIME_MIN} is kept for never", int(moments.argmin()))
        if self.ordered:
            never_back("times", moments, self._now)
        if numbers is None:
            self._update(moments, hashes)
        else:
            self._update_with_values(moments, hashes, numbers)
        self._now = last if self._now is None else max(self._now, last)

    def _checked_values(self, values: npt.ArrayLike | None, rows: int) -> Float64:
        if not self.keeps_values:
            raise InputError("values", f"{self.name} keeps none: {_KEEPING}, or drop them")
        if values is None:
            raise InputError("values", f"are missing: {self.name} was made to keep the latest of each key")
        numbers: Float64 = column("values", values, np.float64, rows)
        if np.isnan(numbers).any():
            raise InputError("values", "must be a number (got nan)", int(np.isnan(numbers).argmax()))
        return numbers + 0.0  # one zero

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
        """What several sketches count at moments while each takes in rows of its own: float64[n, 3], one's after
        another's.

        At a moment a sketch has taken in its rows before it, gives `estimate_with_bounds` since each of `since[moment]`
        and forgets what is before the earliest of these. In the end it has taken in all its rows.

        sketches: at least one, of this class and with equal parameters, none of them twice and none that keeps values.
        times, keys: as of `update`. spans: int64[g, 2] that do not overlap: the rows from spans[i, 0] up to spans[i, 1]
        are of sketch i, ascending in time. moments: of each int64[q], ascending. since: of each of these moments one or
        more. Raises InputError as the calls one by one do, or where one of them keeps values, all sketches unchanged.
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
                    end = bisect_left(rows, at, start, stop)  # most have few rows, for which numpy's search is slow
                    if end > start:
                        sketch._take_in(rows[start:end], hashes[start:end])
                        start = end
                    counts += [sketch.estimate_with_bounds(begin) for begin in begins[at]]
                    sketch.forget(min(begins[at]))
                if stop > start:
                    sketch._take_in(rows[start:stop], hashes[start:stop])
        return np.array(counts, np.float64).reshape(-1, 3)

    # As `update`, of checked rows, one at least, that ascend in time.
    def _take_in(self, times: Int64, keys: UInt64) -> None:
        self._update(times, keys)
        last = int(times[-1])
        self._now = last if self._now is None else max(self._now, last)

    # Raises InputError unless each of several sketches with these parameters can take in its rows.
    def _check_rows_of_several(self, sketches: Sequence["Sketch"], times: Int64, spans: Int64) -> None:
        if any(sketch.keeps_values for sketch in sketches):
            raise InputError("sketches", f"{self.name} keeps values here, which are not given")
        some = spans[spans[:, 1] > spans[:, 0]]
        if not ascending_in_spans(times, some):
            for start, stop in some.tolist():
                never_back("times", times[start:stop], None)
        firsts = times[some[:, 0]]
        if (firsts == TIME_MIN).any():
            raise InputError("times", f"{TIME_MIN} is kept for never", int(some[(firsts == TIME_MIN).argmax(), 0]))
        if self.ordered:
            for sketch, (start, stop) in zip(sketches, spans.tolist(), strict=True):
                never_back("times", times[start : min(stop, start + 1)], sketch._now)

    # Since when to count at each moment. InputError where this is not said, or a sketch with these parameters can't.
    def _checked_begins(self, moments: Sequence[Int64], since: Mapping[int, Sequence[int]]) -> dict[int, list[int]]:
        begins = dict[int, list[int]]()
        for own in {id(own): own for own in moments}.values():
            never_back("moments", own, None)
            for at in own.tolist():
                if at not in begins:
                    begins[at] = [moment("since", begin) for begin in since.get(at, ())]
                    if not begins[at]:
                        raise InputError("since", f"must say at least one for each moment (none for {at})")
                    wrong = [begin for begin in begins[at] if begin % self.grain]
                    if wrong:
                        raise InputError("since", f"must be a multiple of {self.grain} (got {wrong[0]})")
        return begins

    @abstractmethod
    def _update(self, times: Int64, keys: UInt64) -> None: ...

    def _update_with_values(self, times: Int64, keys: UInt64, values: Float64) -> None:
        """As `_update`, of a sketch that `keeps_values`: no NaN is among them, and one zero."""
        raise NotImplementedError(f"{type(self).__name__} says keeps_values: it has to write _update_with_values")

    @abstractmethod
    def estimate(self, since: int) -> float:
        """Distinct keys with time >= `since`, a whole number of any size.

        Raises InputError where `since` is no whole number (`skyband.arrays.moment` checks), or no multiple of `grain`.
        """

    def bounds(self, since: int) -> tuple[float, float]:
        """The interval (low, high) that the declared guarantee puts around `estimate(since)`.

        This default gives all n that are possible by the backend's `epsilon`: |estimate − n| <= epsilon·n. Without an
        `epsilon` the estimate is taken as exact.
        """
        return self._around(self.estimate(since))

    def estimate_with_bounds(self, since: int) -> tuple[float, float, float]:
        """`estimate(since)` and `bounds(since)` at once: (count, low, high). A backend may compute them together."""
        if type(self).bounds is not Sketch.bounds:
            return self.estimate(since), *self.bounds(since)
        count = self.estimate(since)
        return count, *self._around(count)

    def bitmap(self) -> KeyBitmap | None:
        """How keys fill the cells by which a fresh sketch counts more than `exact_up_to`; None: it does not so."""
        return None

    def estimate_between(self, since: int, low: float, high: float) -> tuple[float, float, float]:
        """(count, low, high) of the distinct keys with time >= `since` whose latest value v has low <= v < high.

        The latest value of a key is that of its last row, of several rows at that time the largest. `high` infinite:
        no end. Raises InputError where it keeps no values.
        """
        bounds = ValueRange(low, high)
        if not self.keeps_values:
            raise InputError("values", f"{self.name} keeps none: {_KEEPING}")
        return self._estimate_between(moment("since", since), bounds)

    def _estimate_between(self, since: int, between: ValueRange) -> tuple[float, float, float]:
        """As `estimate_between`, of a sketch that `keeps_values`."""
        raise NotImplementedError(f"{type(self).__name__} says keeps_values: it has to write _estimate_between")

    def estimate_sum(self, since: int, least: float = -math.inf, most: float = math.inf) -> tuple[float, float, float]:
        """(sum, low, high): what the latest values of the distinct keys with time >= `since` add up to.

        The latest value of a key is as in `estimate_between`. least, most: no value is below or above. An exact sum is
        the float64 nearest to what the values add up to, in whatever order they are. Raises InputError where it does
        not add up values, or `needs_limits` and one of them is infinite.
        """
        terms, low, high = self.sum_terms(since, least, most)
        return math.fsum(terms.tolist()), low, high

    def sum_terms(self, since: int, least: float = -math.inf, most: float = math.inf) -> tuple[Float64, float, float]:
        """As `estimate_sum`, the sum as numbers, float64[n], that add up to it before it is rounded.

        So that sums of apart streams add up to what the sum of all of them is, to the last bit.
        """
        if not self.adds_values:
            raise InputError("sum", f"{self.name} adds up no values, it counts keys only: k-skb and exact do")
        if not self.keeps_values:
            raise InputError("values", f"{self.name} keeps none: {_KEEPING}")
        if self.needs_limits and not (math.isfinite(least) and math.isfinite(most)):
            message = f"{self.name} sees some of the values: say which number none is below, and none above"
            raise InputError("most" if math.isfinite(least) else "least", message)
        if not least <= most:
            raise InputError("most", f"must be at least least = {least:g} (got {most:g})")
        return self._sum_terms(moment("since", since), float(least), float(most))

    def _sum_terms(self, since: int, least: float, most: float) -> tuple[Float64, float, float]:
        """As `sum_terms`, of a sketch that `adds_values`."""
        raise NotImplementedError(f"{type(self).__name__} says adds_values: it has to write _sum_terms")

    def _around(self, count: _Count) -> tuple[_Count, _Count]:
        """The interval of `epsilon` around an estimate, or around each of many."""
        epsilon = float(getattr(self, "epsilon", 0.0))
        return count / (1 + epsilon), count / (1 - epsilon)

    def forget(self, before: int) -> None:
        """Drop what only matters to estimates since a moment earlier than `before`.

        Estimates since `before` or later stay as they are; earlier ones are no longer meaningful. This is how an
        operator bounds the memory of sketches that grow, with `before` the start of its longest window. A sketch
        of fixed size does nothing. Raises InputError where `before` is no whole number.
        """
        moment("before", before)

    def merge(self, other: Self) -> None:
        """Become the sketch of both streams. Raises InputError unless `other` has the same class and parameters."""
        if type(self) is not type(other):
            raise InputError("other", f"must be a {type(self).__name__} (got {type(other).__name__})")
        mine, theirs = self.parameters(), other.parameters()
        for name, value in mine.items():
            if theirs[name] != value:
                raise InputError("other", f"has {name} = {theirs[name]!r}, this sketch {value!r}; they must be equal")
        with inside(other):
            self._merge(other)
            if other._now is not None:
                self._now = other._now if self._now is None else max(self._now, other._now)

    @abstractmethod
    def _merge(self, other: Self) -> None: ...
