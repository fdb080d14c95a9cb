"""row-aggregate/min, max, first, last, since-last and quantile: one of the values, or its time."""

from abc import abstractmethod
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from attrs import define
from skyband.arrays import Array, Int64
from skyband.config.parameters import checked, integer

from skyband_totals.row_aggregates.kept_values import Values
from skyband_totals.row_aggregates.role import ROWS, RowAggregate

MOST_LAST = 1000
"""The most values of a list."""
_SECOND = 1_000_000


@define(eq=False)
class ValueAggregate(RowAggregate):
    """An aggregate that is one of the values."""

    def gives(self, kind: pa.DataType) -> pa.DataType:
        return kind

    def _over(self, items: Values, first: Int64, stop: Int64, times: Int64, at: Int64) -> Array | pa.Array:  # noqa: ARG002
        return items.at(self._places(items, first, stop, times).reshape(-1))

    @abstractmethod
    def _places(self, items: Values, first: Int64, stop: Int64, times: Int64) -> Int64:
        """int64[w, q]: the place of the value; -1 if there is none."""


@define(eq=False)
class Max(ValueAggregate):
    """The largest value: of text and bytes that with the largest bytes, of times the latest.

    Parameters
    ----------
    None.

    Complexity
    ----------
    O(1) a row, amortised, for all windows together, and O(log n) a window. Text is ordered first, O(n log n).

    References
    ----------
    The skyband with k = 1: a value is forgotten when a later one is at least as large. Papadias, Tao, Fu and Seeger,
    Progressive skyline computation in database systems, 2005.

    Examples
    --------
    >>> import skyband
    >>> largest = skyband.create("row-aggregate", "max")
    >>> largest.update(times=[0, 10, 20], values=["b", "c", "a"])
    >>> largest.over(since=[0, 11], until=[21, 21]).to_pylist()
    ['c', 'a']
    """

    name: ClassVar[str] = "max"

    def _places(self, items: Values, first: Int64, stop: Int64, times: Int64) -> Int64:  # noqa: ARG002
        from skyband_totals.row_aggregates.places_kernels import places_of_largest  # on use, because it loads numba

        places: Int64 = places_of_largest(items.keys, first, stop)
        return places

    def definition(self, values: Sequence[Any], times: Sequence[int], at: int) -> Any:  # noqa: ARG002
        return max(values, key=_order, default=None)


@define(eq=False)
class Min(ValueAggregate):
    """The smallest value: of text and bytes that with the smallest bytes, of times the earliest.

    Parameters
    ----------
    None.

    Complexity
    ----------
    As that of `max`.

    References
    ----------
    As those of `max`.

    Examples
    --------
    >>> import skyband
    >>> smallest = skyband.create("row-aggregate", "min")
    >>> smallest.update(times=[0, 10, 20], values=[5, 3, 4])
    >>> smallest.over(since=[0, 11], until=[21, 21]).to_pylist()
    [3, 4]
    """

    name: ClassVar[str] = "min"

    def _places(self, items: Values, first: Int64, stop: Int64, times: Int64) -> Int64:  # noqa: ARG002
        from skyband_totals.row_aggregates.places_kernels import places_of_largest  # on use, because it loads numba

        keys = items.keys
        places: Int64 = places_of_largest(-keys if keys.dtype.kind == "f" else ~keys, first, stop)
        return places

    def definition(self, values: Sequence[Any], times: Sequence[int], at: int) -> Any:  # noqa: ARG002
        return min(values, key=_order, default=None)


@define(eq=False)
class Last(ValueAggregate):
    """The value of the latest row, of several at that time the largest; with `k` a list of the last k values.

    A list has the newest first, of one time the largest first, and fewer than k values if the window has fewer.

    Parameters
    ----------
    k : int, default None
        the number of values in a list; none: the last one, as it is (at least 1 and at most 1000)

    Complexity
    ----------
    O(k) a window; rows of one time are ordered first.

    References
    ----------
    By definition.

    Examples
    --------
    >>> import skyband
    >>> last = skyband.create("row-aggregate", "last", k=2)
    >>> last.update(times=[0, 10, 10, 20], values=[5, 3, 7, 4])
    >>> last.over(since=[0, 0], until=[11, 21]).to_pylist()
    [[7, 3], [4, 7]]
    """

    name: ClassVar[str] = "last"

    k: int | None = integer(
        None, at_least=1, at_most=MOST_LAST, help="the number of values in a list; none: the last one, as it is"
    )

    def gives(self, kind: pa.DataType) -> pa.DataType:
        return kind if self.k is None else pa.list_(kind)

    def _places(self, items: Values, first: Int64, stop: Int64, times: Int64) -> Int64:
        order = _in_moments(items, first, stop, times)
        return _at(order, stop - 1, first < stop)

    def _over(self, items: Values, first: Int64, stop: Int64, times: Int64, at: Int64) -> Array | pa.Array:
        if self.k is None:
            return ValueAggregate._over(self, items, first, stop, times, at)
        order = _in_moments(items, first, stop, times)
        count = np.minimum(stop - first, self.k).reshape(-1)
        offsets = np.append(0, np.cumsum(count))
        back = np.arange(offsets[-1]) - np.repeat(offsets[:-1], count)
        places = np.repeat(np.tile(stop - 1, len(first)), count) - back
        picks = items.at(order[places] if len(order) else places)
        return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32), mask=np.append(count == 0, False)), picks)

    def definition(self, values: Sequence[Any], times: Sequence[int], at: int) -> Any:  # noqa: ARG002
        order = sorted(zip(times, values, strict=True), key=lambda row: (row[0], _order(row[1])), reverse=True)
        newest = [value for _, value in order]
        if self.k is None:
            return newest[0] if newest else None
        return newest[: self.k] or None


@define(eq=False)
class First(ValueAggregate):
    """The value of the earliest row, of several at that time the smallest.

    Parameters
    ----------
    None.

    Complexity
    ----------
    O(1) a window; rows of one time are ordered first.

    References
    ----------
    By definition.

    Examples
    --------
    >>> import skyband
    >>> first = skyband.create("row-aggregate", "first")
    >>> first.update(times=[0, 10, 20], values=["b", "c", "a"])
    >>> first.over(since=[0, 11], until=[21, 21]).to_pylist()
    ['b', 'a']
    """

    name: ClassVar[str] = "first"

    def _places(self, items: Values, first: Int64, stop: Int64, times: Int64) -> Int64:
        return _at(_in_moments(items, first, stop, times), first, first < stop)

    def definition(self, values: Sequence[Any], times: Sequence[int], at: int) -> Any:  # noqa: ARG002
        rows = zip(times, values, strict=True)
        return min(rows, key=lambda row: (row[0], _order(row[1])), default=(0, None))[1]


@define(eq=False)
class SinceLast(RowAggregate):
    """The seconds since the latest row before the question's own time; null if there is none in the window.

    Rows of the question's own time are left out, also where windows include them.

    Parameters
    ----------
    None.

    Complexity
    ----------
    O(log n) a window.

    References
    ----------
    By definition.

    Examples
    --------
    >>> import skyband
    >>> gap = skyband.create("row-aggregate", "since-last")
    >>> gap.update(times=[0, 1_500_000])
    >>> gap.over(since=[0, 0], until=[1_500_000, 3_000_000]).to_pylist()
    [1.5, 1.5]
    """

    name: ClassVar[str] = "since-last"
    keeps: ClassVar[str] = ROWS

    def _over(self, items: int, first: Int64, stop: Int64, times: Int64, at: Int64) -> Array:  # noqa: ARG002
        from skyband_totals.row_aggregates.places_kernels import places_before  # on use, because it loads numba

        places = places_before(times, first, stop, at)
        last = times[np.maximum(places, 0)] if len(times) else np.zeros(places.shape, np.int64)
        return np.where(places < 0, np.nan, (at - last) / _SECOND)

    def definition(self, values: Sequence[Any], times: Sequence[int], at: int) -> float | None:  # noqa: ARG002
        last = max((time for time in times if time < at), default=None)
        return None if last is None else (at - last) / _SECOND


def _rank_problem(value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return f"must be a number from 0 to 1, such as 0.5 for the median (got {value!r})"
    if Fraction(repr(value)).denominator > 10**9 or Decimal(repr(value)) != round(Decimal(repr(value)), 9):
        return f"must have at most 9 digits after the point (got {value!r})"
    return None


@define(eq=False)
class Quantile(ValueAggregate):
    """The value of rank max(1, ceil(q · n)) of the n in a window, in ascending order: 0.5 is the median.

    It is one of the values, as in the query quantiles: never between two of them.

    Parameters
    ----------
    q : number from 0 to 1
        the part of the values that are at most this one, such as 0.5 for the median

    Complexity
    ----------
    O(log n) a row and a window, after O(n log n) to order all values.

    References
    ----------
    A tree over ranks: Fenwick, A new data structure for cumulative frequency tables, 1994.

    Examples
    --------
    >>> import skyband
    >>> median = skyband.create("row-aggregate", "quantile", q=0.5)
    >>> median.update(times=[0, 10, 20, 30], values=[5, 3, 4, 9])
    >>> median.over(since=[0, 11], until=[31, 31]).to_pylist()
    [4, 4]
    """

    name: ClassVar[str] = "quantile"

    q: float = checked(
        type="number from 0 to 1", check=_rank_problem,
        help="the part of the values that are at most this one, such as 0.5 for the median",
    )  # fmt: skip

    def _places(self, items: Values, first: Int64, stop: Int64, times: Int64) -> Int64:  # noqa: ARG002
        from skyband_totals.row_aggregates.places_kernels import places_of_ranks  # on use, because it loads numba

        top, bottom = Fraction(repr(self.q)).as_integer_ratio()
        places: Int64 = places_of_ranks(items.ascending, top, bottom, first, stop)
        return places

    def definition(self, values: Sequence[Any], times: Sequence[int], at: int) -> Any:  # noqa: ARG002
        rank = max(1, ceil(Fraction(repr(self.q)) * len(values)))
        return sorted(values, key=_order)[rank - 1] if values else None


def _in_moments(items: Values, first: Int64, stop: Int64, times: Int64) -> Int64:
    """int64[n]: the places of values, those of one time in ascending order."""
    from skyband_totals.row_aggregates.places_kernels import moments_of  # on use, because it loads numba

    order = np.arange(len(times))
    if (times[1:] == times[:-1]).any():
        order = np.lexsort([items.keys, moments_of(times, first, stop)])
    return order


def _at(order: Int64, places: Int64, some: Array) -> Int64:
    """order[places] where `some`, else -1."""
    if not len(order):
        return np.full(some.shape, -1)
    return np.where(some, order[np.clip(places, 0, len(order) - 1)], -1)


def _order(value: Any) -> Any:
    """The value by which text is ordered: its bytes."""
    return value.encode() if isinstance(value, str) else value
