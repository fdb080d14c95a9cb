"""row-aggregate/sum, mean, variance and std: exact, then rounded."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from attrs import define
from skyband.arrays import Array, Int64
from skyband.config.parameters import number

from skyband_totals.fixed_point import worth
from skyband_totals.row_aggregates.kept_values import Numbers
from skyband_totals.row_aggregates.role import NUMBER, RowAggregate

_UNIT = "numbers are whole multiples of this, such as 0.01 for prices; none: floats are added as they are"


@define(eq=False)
class NumberAggregate(RowAggregate):
    """An aggregate of numbers that may have a unit."""

    keeps: ClassVar[str] = NUMBER

    unit: float | None = number(None, above=0, help=_UNIT)

    def _multiples(self, values: Sequence[Any]) -> tuple[list[Fraction], float | None]:
        """Numbers exactly, in whole units if there is one, and the unit: that given, of integers 1."""
        unit = self.unit
        if unit is None and not any(isinstance(value, float) for value in values):
            digits = [value.as_tuple().exponent for value in values if hasattr(value, "as_tuple")]
            unit = float(f"1e{min(digits)}") if digits else 1.0
        if unit is None:
            return [Fraction(value) for value in values], None
        return [Fraction(round(Fraction(str(value)) / Fraction(repr(unit)))) for value in values], unit


@define(eq=False)
class Sum(NumberAggregate):
    """The sum of the values; 0 if there are none. Exact, rounded once.

    With a unit it is that of whole multiples, divided by the multiples in 1: 39 tenths are 3.9. Without one it is the
    float64 nearest to the exact sum of floats, as `math.fsum` gives; beyond the largest float64 it is infinite.

    Parameters
    ----------
    unit : float, default None
        numbers are whole multiples of this, such as 0.01 for prices; none: floats are added as they are (above 0)

    Complexity
    ----------
    O(1) a row and a window with a unit: a difference of prefix sums modulo 2^64. For floats it is O(d), where d is the
    number of digits of 32 bits between the largest and the smallest value: 4 for prices.

    References
    ----------
    By definition; superaccumulators: Neal, Fast exact summation using small and large superaccumulators, 2015.

    Examples
    --------
    >>> import skyband
    >>> total = skyband.create("row-aggregate", "sum")
    >>> total.update(times=[0, 10, 20], values=[0.1, 0.2, 0.3])
    >>> total.over(since=[0, 10], until=[21, 21]).to_pylist()
    [0.6, 0.5]
    """

    name: ClassVar[str] = "sum"

    def _over(self, items: Numbers, first: Int64, stop: Int64, times: Int64, at: Int64) -> Array:  # noqa: ARG002
        from skyband_totals.row_aggregates.exact_sums import sums  # on use, because it loads numba

        answers: Array = sums(items, first, stop)
        return answers if items.unit is None else worth(answers, items.unit)

    def definition(self, values: Sequence[Any], times: Sequence[int], at: int) -> float:  # noqa: ARG002
        numbers, unit = self._multiples(values)
        return _nearest(sum(numbers)) if unit is None else float(worth(float(sum(numbers)), unit))


@define(eq=False)
class Mean(NumberAggregate):
    """The sum of the values divided by their number.

    Parameters
    ----------
    unit : float, default None
        numbers are whole multiples of this, such as 0.01 for prices; none: floats are added as they are (above 0)

    Complexity
    ----------
    As that of `sum`.

    References
    ----------
    By definition, from the exact sum.

    Examples
    --------
    >>> import skyband
    >>> mean = skyband.create("row-aggregate", "mean")
    >>> mean.update(times=[0, 10, 20], values=[1, 2, 6])
    >>> mean.over(since=[0, 10], until=[21, 21]).to_pylist()
    [3.0, 4.0]
    """

    name: ClassVar[str] = "mean"

    def _over(self, items: Numbers, first: Int64, stop: Int64, times: Int64, at: Int64) -> Array:  # noqa: ARG002
        from skyband_totals.row_aggregates.exact_sums import sums  # on use, because it loads numba

        top, bottom = items.ratio
        count = (stop - first).astype(np.float64)
        answers: Array = np.full(first.shape, np.nan)
        np.divide(sums(items, first, stop) * top, count * bottom, out=answers, where=count > 0)
        return answers

    def definition(self, values: Sequence[Any], times: Sequence[int], at: int) -> float | None:  # noqa: ARG002
        if not values:
            return None
        numbers, unit = self._multiples(values)
        total, (top, bottom) = _nearest(sum(numbers)), Numbers(np.empty(0), unit).ratio
        return total * top / (len(values) * bottom)


@define(eq=False)
class Variance(NumberAggregate):
    """The sample variance of the values; null for fewer than two.

    It is n · Σv² - (Σv)², which is a whole number of squared units, rounded once and divided by n(n - 1): never
    negative, and 0 if and only if all values are equal, except for variances below the smallest float64.

    Parameters
    ----------
    unit : float, default None
        numbers are whole multiples of this, such as 0.01 for prices; none: floats are added as they are (above 0)

    Complexity
    ----------
    O(1) a row and a window for whole multiples whose sum is below 2^31, else and for floats O(d²), with d as for `sum`.

    References
    ----------
    By definition, in whole numbers: no cancellation, as in one pass over floats.

    Examples
    --------
    >>> import skyband
    >>> variance = skyband.create("row-aggregate", "variance")
    >>> variance.update(times=[0, 10, 20], values=[1e9, 1e9 + 1, 1e9 + 2])
    >>> variance.over(since=[0, 20], until=[21, 21]).to_pylist()
    [1.0, None]
    """

    name: ClassVar[str] = "variance"

    def _over(self, items: Numbers, first: Int64, stop: Int64, times: Int64, at: Int64) -> Array:  # noqa: ARG002
        from skyband_totals.row_aggregates.exact_sums import spreads  # on use, because it loads numba

        top, bottom = items.ratio
        pairs = ((stop - first) * (stop - first - 1)).astype(np.float64)
        answers: Array = np.full(first.shape, np.nan)
        np.divide(spreads(items, first, stop), pairs, out=answers, where=pairs > 0)
        return answers * (top * top) / (bottom * bottom)

    def definition(self, values: Sequence[Any], times: Sequence[int], at: int) -> float | None:  # noqa: ARG002
        count = len(values)
        if count < 2:
            return None
        numbers, unit = self._multiples(values)
        spread = count * sum(value * value for value in numbers) - sum(numbers) ** 2
        top, bottom = Numbers(np.empty(0), unit).ratio
        return _nearest(spread) / float(count * (count - 1)) * (top * top) / (bottom * bottom)


@define(eq=False)
class Std(Variance):
    """The sample standard deviation: the square root of `variance`.

    Parameters
    ----------
    unit : float, default None
        numbers are whole multiples of this, such as 0.01 for prices; none: floats are added as they are (above 0)

    Complexity
    ----------
    As that of `variance`.

    References
    ----------
    By definition.

    Examples
    --------
    >>> import skyband
    >>> deviation = skyband.create("row-aggregate", "std")
    >>> deviation.update(times=[0, 10, 20], values=[2, 2, 2])
    >>> deviation.over(since=[0], until=[21]).to_pylist()
    [0.0]
    """

    name: ClassVar[str] = "std"

    def _over(self, items: Numbers, first: Int64, stop: Int64, times: Int64, at: Int64) -> Array:
        return np.sqrt(Variance._over(self, items, first, stop, times, at))

    def definition(self, values: Sequence[Any], times: Sequence[int], at: int) -> float | None:
        variance = Variance.definition(self, values, times, at)
        return None if variance is None else math.sqrt(variance)


def _nearest(exact: Fraction | int) -> float:
    """The float64 nearest to a number; infinite beyond the largest."""
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
