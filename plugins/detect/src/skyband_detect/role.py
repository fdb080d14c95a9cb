"""KeyCounter: which rows bring a key to a bound of rows or distinct values in a window."""

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from attrs import define
from skyband.arrays import Array, Int64, UInt64, column, whole
from skyband.config.parameters import choice, integer
from skyband.errors import InputError

from skyband_detect.keyed_clock import KeyedClock

ROWS, DISTINCT, UNSEEN = "rows", "distinct", "unseen"
LONGEST = 2**61
"""The longest window; times are at most twice as far from 0."""
MOST = 2**24
"""The largest bound."""
NO_LIMIT = 2**63 - 1
"""`high` of a count if only its lower end is known."""

_NO_NUMBERS = np.empty(0, np.int64)


class Bounds(NamedTuple):
    """What is asked of each key: int64[a] windows and bounds, and bool[a], whether each time at the bound counts."""

    windows: Int64
    at_least: Int64
    each: Array


class Falls(NamedTuple):
    """The keys whose rows fall below a bound, in order of time, then bound, then key."""

    keys: UInt64
    """uint64[f]: the keys."""
    asks: Int64
    """int64[f]: places in the list of windows that keys fall in."""
    times: Int64
    """int64[f]: the moments at which the rows of the key become fewer than the bound, as one is a window old."""
    value: Int64
    """int64[f]: the number of rows that remain then."""


NO_FALLS = Falls(np.empty(0, np.uint64), _NO_NUMBERS, _NO_NUMBERS, _NO_NUMBERS)


class Below(NamedTuple):
    """What keys may fall below: int64[f] windows and bounds."""

    windows: Int64
    bounds: Int64


class Crossings(NamedTuple):
    """The rows that bring their key to a bound, in order of row, then bound; and the keys that fall below one."""

    rows: Int64
    """int64[c]: places in the batch."""
    asks: Int64
    """int64[c]: places in the list of windows."""
    value: Int64
    low: Int64
    high: Int64
    """int64[c]: the measure at the end of the row's time, and its bounds; `high` may be NO_LIMIT."""
    falls: Falls = NO_FALLS
    """Those after the time reached before, up to the last row's."""


NO_CROSSINGS = Crossings(_NO_NUMBERS, _NO_NUMBERS, _NO_NUMBERS, _NO_NUMBERS, _NO_NUMBERS)


@define(eq=False)
class KeyCounter(KeyedClock):
    """Finds the rows that bring a key to a bound, for several windows and bounds at once.

    The measure of a key at a time t is over the rows of the key at times in (t - window, t]: the number of "rows", or
    of "distinct" values. Rows of one time see each other, so all of them come in one call.

    A key crosses a bound at t if its measure at t is at least the bound, and less over (t - window, t), without the
    rows at t. The row that stands for it is the one at which the measure, row by row, reaches the bound. With `each`,
    every t at which a row comes and the measure is at least the bound counts: the first row at t, if the bound was
    reached before. A key is "unseen" at its first row at t if it has none in [t - window, t); the value is then 0.

    The value is that at the end of t. It is exact for a crossing. With `each`, of a key that had reached the bound
    before, only the lower end is known, and `high` is NO_LIMIT.

    Rows of a key also fall below a bound: at the moment e at which it has fewer rows in (e - window, e], and had enough
    just before, because a row became a window old. A row at e itself counts. A key without rows in the window that
    never had enough does not fall. A backend that cannot tell lacks "below".
    """

    role: ClassVar[str] = "key-counter"

    longest: int = integer(at_least=1, at_most=LONGEST, help="the longest window, in units of time")
    measure: str = choice(ROWS, DISTINCT, UNSEEN, default=ROWS, help="what is counted for each key")
    most: int = integer(1, at_least=1, at_most=MOST, help="the largest bound")

    def update(
        self,
        times: npt.ArrayLike,
        keys: npt.ArrayLike,
        values: npt.ArrayLike | None = None,
        *,
        windows: npt.ArrayLike = (),
        at_least: npt.ArrayLike = (),
        each: npt.ArrayLike = (),
        fall_windows: npt.ArrayLike = (),
        below: npt.ArrayLike = (),
    ) -> Crossings:
        """Add rows of keys (uint64[n]) at times (int64[n], ascending), and return which of them cross a bound.

        values: uint64[n], for distinct values only. windows: int64[a], from 1 to `longest`; at_least: int64[a], from 1
        to `most`, one for each window, none for "unseen"; each: bool[a], for each window, by default all false. Asking
        changes nothing: bounds may differ from call to call. All rows of one time must come in one call.

        fall_windows, below: int64[f] windows and bounds, of rows only: the keys that fall below them, at moments after
        `now` and up to the last row, are returned too. Raises InputError, leaving the counter unchanged, if anything
        does not fit.
        """
        moments: Int64 = column("times", times, np.int64)
        of: UInt64 = column("keys", keys, np.uint64, len(moments))
        items = self._values(values, len(moments))
        bounds = self._bounds(windows, at_least, each)
        falling = self._below(fall_windows, below)
        self._check_times(moments)
        if not len(moments):
            return NO_CROSSINGS
        crossings = self._update(moments, of, items, bounds, falling)
        self._now = self._last = int(moments[-1])
        return crossings

    def falls(self, until: int, windows: npt.ArrayLike, below: npt.ArrayLike) -> Falls:
        """The keys that fall below bounds at moments after `now` and up to `until`, if no row comes until then.

        windows, below: int64[f]. Asking changes nothing; `advance` leaves these moments behind. O(m log keys) for m
        keys that fall or had a row since they were last asked about, if windows and bounds are those of the call
        before.
        """
        limit = whole("until", until)
        falling = self._below(windows, below)
        if self._now is None or limit <= self._now or not len(falling.windows):
            return NO_FALLS
        return self._falls(limit, falling)

    def next_fall(self, windows: npt.ArrayLike, below: npt.ArrayLike) -> int | None:
        """The next moment at which a key falls below one of these bounds, if no row comes; None if there is none."""
        falling = self._below(windows, below)
        return None if self._now is None or not len(falling.windows) else self._next_fall(falling)

    def merge(self, other: Self) -> None:
        """Become the counter of both streams; `other` is unchanged, and `now` is the later of the two.

        Raises InputError unless it has the same class and equal parameters.
        """
        self._check_alike(other)
        if other._now is not None:
            self._reach(other)
            self._merge(other)

    @abstractmethod
    def _update(self, times: Int64, keys: UInt64, values: UInt64 | None, bounds: Bounds, below: Below) -> Crossings:
        """Add rows, all later than `now`, which is still the time before them."""

    def _falls(self, until: int, below: Below) -> Falls:
        """`falls` for at least one bound and a later moment. Not called on a backend that lacks "below"."""
        raise NotImplementedError(f"{self.role}/{self.name} does not say that it lacks below")

    def _next_fall(self, below: Below) -> int | None:
        """`next_fall` for at least one bound. Not called on a backend that lacks "below"."""
        raise NotImplementedError(f"{self.role}/{self.name} does not say that it lacks below")

    @abstractmethod
    def _merge(self, other: Self) -> None:
        """Add the rows of `other`; `now` is already that of both."""

    def _values(self, values: Any, rows: int) -> UInt64 | None:
        if self.measure == DISTINCT:
            if values is None:
                raise InputError("values", "are required to count distinct values")
            items: UInt64 = column("values", values, np.uint64, rows)
            return items
        if values is not None:
            raise InputError("values", f"are for distinct values, and this counter has measure = {self.measure!r}")
        return None

    def _bounds(self, windows: Any, at_least: Any, each: Any) -> Bounds:
        lengths: Int64 = column("windows", windows, np.int64)
        _check_range("windows", lengths, self.longest, "longest")
        bounds: Int64 = column("at_least", at_least, np.int64)
        if self.measure == UNSEEN:
            if len(bounds):
                raise InputError("at_least", "is not for unseen keys, which have no rows to count")
            bounds = np.ones(len(lengths), np.int64)
        elif len(bounds) != len(lengths):
            raise InputError("at_least", f"must have {len(lengths)} values, one for each window (got {len(bounds)})")
        _check_range("at_least", bounds, self.most, "most")
        flags = np.asarray(each) if np.size(each) else np.zeros(len(lengths), np.bool_)
        if flags.dtype != np.bool_ or flags.shape != lengths.shape:
            raise InputError("each", f"must be {len(lengths)} truth values, one for each window")
        return Bounds(lengths, bounds, np.ascontiguousarray(flags))

    def _below(self, windows: Any, below: Any) -> Below:
        lengths: Int64 = column("fall_windows", windows, np.int64)
        bounds: Int64 = column("below", below, np.int64)
        if len(lengths) and self.measure != ROWS:
            raise InputError("below", f"is for rows, and this counter has measure = {self.measure!r}")
        if len(bounds) != len(lengths):
            raise InputError("below", f"must have {len(lengths)} values, one for each window (got {len(bounds)})")
        _check_range("fall_windows", lengths, self.longest, "longest")
        _check_range("below", bounds, self.most, "most")
        return Below(lengths, bounds)


def _check_range(name: str, numbers: Int64, most: int, limit: str) -> None:
    """Raise InputError unless each number is from 1 to the most that the parameter `limit` allows."""
    wrong = (numbers < 1) | (numbers > most)
    if wrong.any():
        place = int(wrong.argmax())
        raise InputError(name, f"must be from 1 to `{limit}`, {most} (got {int(numbers[place])})", place)
