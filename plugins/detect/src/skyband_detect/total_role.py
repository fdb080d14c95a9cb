"""KeyTotal: which times bring the sum, mean or quantile of a key's values in a window to a bound."""

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from attrs import define
from skyband.arrays import Array, Int64, UInt64, column
from skyband.config.parameters import choice, integer, number
from skyband.errors import InputError

from skyband_detect.keyed_clock import KeyedClock
from skyband_detect.role import LONGEST

SUM, MEAN, QUANTILE = "sum", "mean", "quantile"
BILLION = 1_000_000_000
FULL = 2**62
"""The most units that the values of all keys in the longest window may add up to, without their signs."""

_NO_NUMBERS = np.empty(0, np.int64)


class TotalBounds(NamedTuple):
    """What is asked of each key: int64[a] each, and bool[a], whether each time at the bound counts."""

    windows: Int64
    at_least: Int64
    billionths: Int64
    least: Int64
    each: Array


class Reached(NamedTuple):
    """The rows that stand for times at which a key reaches a bound, in order of row, then bound."""

    rows: Int64
    """int64[c]: places in the batch, each the last row of its key and time."""
    asks: Int64
    """int64[c]: places in the list of windows."""
    sizes: Int64
    """int64[c]: the number of values in the window."""
    value: Array
    """Of sums and means int64[c], the sum in units; of quantiles float64[c], the quantile."""


NO_TIMES = Reached(_NO_NUMBERS, _NO_NUMBERS, _NO_NUMBERS, _NO_NUMBERS)


@define(eq=False)
class KeyTotal(KeyedClock):
    """Finds the times at which the values of a key in a window reach a bound, for several windows and bounds at once.

    The values of a key at a time t are those of its rows at times in (t - window, t], all rows of t among them. A bound
    is reached at t by

    - the sum of the values, if it is at least `at_least` units;
    - their mean, if there are at least `least` values and their mean is at least `at_least` units and `billionths`;
    - a quantile of them, if there are at least `least` values and it is at least `limit`. The q-quantile of N values is
      the max(1, ceil(q N))-th smallest; q is `billionths`. So it is at least `limit` iff fewer values than this number
      are below `limit`.

    A time t is an answer if a bound is reached at t and was not over (t - window, t), without the rows at t; with
    `each` also if it was. Sums rise and fall within a time, so a time is judged when all its rows are there, and the
    last of them stands for it.
    """

    role: ClassVar[str] = "key-total"

    longest: int = integer(at_least=1, at_most=LONGEST, help="the longest window, in units of time")
    measure: str = choice(SUM, MEAN, QUANTILE, default=SUM, help="what is computed from the values of each key")
    limit: float = number(0.0, help="for quantiles: the value that a quantile must reach")

    def update(
        self,
        times: npt.ArrayLike,
        keys: npt.ArrayLike,
        values: npt.ArrayLike,
        *,
        windows: npt.ArrayLike = (),
        at_least: npt.ArrayLike = (),
        billionths: npt.ArrayLike = (),
        least: npt.ArrayLike = (),
        each: npt.ArrayLike = (),
    ) -> Reached:
        """Add rows of keys (uint64[n]) at times (int64[n], ascending), and return where bounds are reached.

        values: int64[n] units of sums and means, float64[n] without NaN of quantiles. windows: int64[a], from 1 to
        `longest`. For each window: at_least, int64[a], of sums and means; billionths, int64[a], of means from 0, by
        default, to 10^9 - 1, and of quantiles from 1 to 10^9; least, int64[a] from 1, the default, of means and
        quantiles; each, bool[a], by default all false. Asking changes nothing. All rows of one time must come in one
        call. Raises InputError, leaving the backend unchanged, if anything does not fit, or the values of the longest
        window, without their signs, add up to more than 2^62 units.
        """
        moments: Int64 = column("times", times, np.int64)
        of: UInt64 = column("keys", keys, np.uint64, len(moments))
        kind = np.float64 if self.measure == QUANTILE else np.int64
        numbers: Array = column("values", values, kind, len(moments))
        if self.measure == QUANTILE and np.isnan(numbers).any():
            raise InputError("values", "must not be NaN: leave out such rows", int(np.isnan(numbers).argmax()))
        bounds = self._bounds(windows, at_least, billionths, least, each)
        self._check_times(moments)
        if not len(moments):
            return NO_TIMES
        if self.measure != QUANTILE:
            self._check_full(numbers)
        reached = self._update(moments, of, numbers, bounds)
        self._now = self._last = int(moments[-1])
        return reached

    def merge(self, other: Self) -> None:
        """Become the backend of both streams; `other` is unchanged, and `now` is the later of the two.

        Raises InputError unless it has the same class and equal parameters.
        """
        self._check_alike(other)
        if self.measure != QUANTILE and self._magnitude() + other._magnitude() > FULL:
            raise InputError("other", "the values of both longest windows add up to more than 2**62 units")
        if other._now is not None:
            self._reach(other)
            self._merge(other)

    @abstractmethod
    def _update(self, times: Int64, keys: UInt64, values: Array, bounds: TotalBounds) -> Reached: ...

    @abstractmethod
    def _merge(self, other: Self) -> None:
        """Add the rows of `other`; `now` is already that of both."""

    @abstractmethod
    def _magnitude(self) -> int:
        """The units of all values that the longest window may still reach, without their signs."""

    def _check_full(self, units: Int64) -> None:
        """Raise unless all sums stay within FULL."""
        added = int(np.abs(units.astype(np.float64)).sum()) if len(units) else 0
        if added > FULL // 2 or added + self._magnitude() > FULL - len(units):
            message = "the values of the longest window must add up to at most 2**62 units, without their signs"
            raise InputError("values", f"{message}: use a larger unit")

    def _bounds(self, windows: Any, at_least: Any, billionths: Any, least: Any, each: Any) -> TotalBounds:
        lengths: Int64 = column("windows", windows, np.int64)
        _check_range("windows", lengths, 1, self.longest)
        count = len(lengths)
        if self.measure == QUANTILE:
            if np.size(at_least):
                raise InputError("at_least", "is not for quantiles: they must reach `limit`, a parameter")
            bounds = np.zeros(count, np.int64)
        else:
            bounds = _for_each("at_least", at_least, count, None)
        if self.measure == SUM and (np.size(billionths) or np.size(least)):
            raise InputError("billionths", "and `least` are for means and quantiles, and this is a sum")
        parts = _for_each("billionths", billionths, count, None if self.measure == QUANTILE else 0)
        _check_range("billionths", parts, *((1, BILLION) if self.measure == QUANTILE else (0, BILLION - 1)))
        fewest = _for_each("least", least, count, 1)
        _check_range("least", fewest, 1, 2**32)
        flags = np.asarray(each) if np.size(each) else np.zeros(count, np.bool_)
        if flags.dtype != np.bool_ or flags.shape != lengths.shape:
            raise InputError("each", f"must be {count} truth values, one for each window")
        return TotalBounds(lengths, bounds, parts, fewest, np.ascontiguousarray(flags))


def _for_each(name: str, numbers: Any, count: int, default: int | None) -> Int64:
    """int64[count]: one for each window, or the default for all if none are given and there is one."""
    values: Int64 = column(name, numbers, np.int64)
    if default is not None and not len(values):
        return np.full(count, default, np.int64)
    if len(values) != count:
        raise InputError(name, f"must have {count} values, one for each window (got {len(values)})")
    return values


def _check_range(name: str, numbers: Int64, least: int, most: int) -> None:
    wrong = (numbers < least) | (numbers > most)
    if wrong.any():
        place = int(wrong.argmax())
        raise InputError(name, f"must be from {least} to {most} (got {int(numbers[place])})", place)
