"""row-aggregate/mine: the entropy of the values in each window, counted for each window separately."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
from attrs import define
from skyband.arrays import Array, Int64
from skyband_totals.row_aggregates.kept_values import Hashes
from skyband_totals.row_aggregates.role import RowAggregate


@define(eq=False)
class MineRowAggregate(RowAggregate):
    """The entropy of the values in bits: 0 if all are equal, 3 for eight values that are as frequent as each other.

    Null for a window without values.

    Parameters
    ----------
    None.

    Complexity
    ----------
    O(values inside) for each question and window.

    References
    ----------
    Shannon, A mathematical theory of communication, 1948.

    Examples
    --------
    >>> import skyband
    >>> entropy = skyband.create("row-aggregate", "mine")
    >>> entropy.update(times=[0, 10, 20, 30], values=["books", "shoes", "books", "shoes"])
    >>> entropy.over(since=[0, 20, 40], until=[40, 30, 50]).to_pylist()
    [1.0, 0.0, None]
    """

    name: ClassVar[str] = "mine"
    keeps: ClassVar[str] = "hash"

    def _over(self, items: Hashes, first: Int64, stop: Int64, times: Int64, at: Int64) -> Array:
        codes, _ = items.codes  # each different value has a number from 0
        answers = np.full(first.shape, np.nan)  # NaN becomes null
        for window, question in np.ndindex(*first.shape):
            inside = codes[first[window, question] : stop[question]]
            if len(inside):
                answers[window, question] = bits(np.bincount(inside).tolist())
        return answers

    def definition(self, values: Sequence[Any], times: Sequence[int], at: int) -> float | None:
        counts = Counter("NaN" if value != value else value for value in values)
        return bits(counts.values()) if counts else None


def bits(counts: Iterable[int]) -> float:
    """The entropy of values with these counts; math.fsum gives the same in whatever order they are."""
    some = [count for count in counts if count]
    total = sum(some)
    return math.fsum(count / total * math.log2(total / count) for count in some)
