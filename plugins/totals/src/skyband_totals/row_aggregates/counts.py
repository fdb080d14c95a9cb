"""row-aggregate/count, distinct and share: numbers of rows."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from attrs import define
from skyband.arrays import Array, Int64

from skyband_totals.row_aggregates.kept_values import Hashes
from skyband_totals.row_aggregates.role import CONDITION, HASH, ROWS, RowAggregate


@define(eq=False)
class Count(RowAggregate):
    """The number of rows; 0 if there are none.

    Parameters
    ----------
    None.

    Complexity
    ----------
    O(1) a window.

    References
    ----------
    By definition.

    Examples
    --------
    >>> import skyband
    >>> count = skyband.create("row-aggregate", "count")
    >>> count.update(times=[0, 10, 20])
    >>> count.over(since=[0, 20], until=[20, 21]).to_pylist()
    [2, 1]
    """

    name: ClassVar[str] = "count"
    keeps: ClassVar[str] = ROWS

    def gives(self, kind: pa.DataType) -> pa.DataType:  # noqa: ARG002
        return pa.int64()

    def _over(self, items: int, first: Int64, stop: Int64, times: Int64, at: Int64) -> Array:  # noqa: ARG002
        return stop - first

    def definition(self, values: Sequence[Any], times: Sequence[int], at: int) -> int:  # noqa: ARG002
        return len(times)


@define(eq=False)
class Distinct(RowAggregate):
    """The number of different values; 0 if there are none.

    Parameters
    ----------
    None.

    Complexity
    ----------
    O(1) a row and a window. Values are distinguished by hashes of 64 bits.

    References
    ----------
    By definition.

    Examples
    --------
    >>> import skyband
    >>> distinct = skyband.create("row-aggregate", "distinct")
    >>> distinct.update(times=[0, 10, 20], values=["a", "b", "a"])
    >>> distinct.over(since=[0, 20], until=[21, 21]).to_pylist()
    [2, 1]
    """

    name: ClassVar[str] = "distinct"
    keeps: ClassVar[str] = HASH

    def gives(self, kind: pa.DataType) -> pa.DataType:  # noqa: ARG002
        return pa.int64()

    def _over(self, items: Hashes, first: Int64, stop: Int64, times: Int64, at: Int64) -> Array:  # noqa: ARG002
        from skyband_totals.row_aggregates.places_kernels import numbers_of_distinct  # on use, because it loads numba

        codes, different = items.codes
        answers: Array = numbers_of_distinct(codes, different, first, stop)
        return answers

    def definition(self, values: Sequence[Any], times: Sequence[int], at: int) -> int:  # noqa: ARG002
        return len({"NaN" if value != value else value for value in values})


@define(eq=False)
class Share(RowAggregate):
    """The share of rows for which the condition in `where` holds; null without rows.

    Parameters
    ----------
    None.

    Complexity
    ----------
    O(1) a row and a window.

    References
    ----------
    By definition.

    Examples
    --------
    >>> import skyband
    >>> share = skyband.create("row-aggregate", "share")
    >>> share.update(times=[0, 10, 20, 30], values=[True, False, False, True])
    >>> share.over(since=[0, 10], until=[20, 30]).to_pylist()
    [0.5, 0.0]
    """

    name: ClassVar[str] = "share"
    keeps: ClassVar[str] = CONDITION

    def _over(self, items: Array, first: Int64, stop: Int64, times: Int64, at: Int64) -> Array:  # noqa: ARG002
        meets = np.append(0, np.cumsum(items))
        answers: Array = np.full(first.shape, np.nan)
        np.divide(meets[stop] - meets[first], stop - first, out=answers, where=stop > first)
        return answers

    def definition(self, values: Sequence[Any], times: Sequence[int], at: int) -> float | None:  # noqa: ARG002
        return sum(values) / len(values) if values else None
