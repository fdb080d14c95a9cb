"""Half-open ranges of values, [low, high), by which a distinct count is split."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import frozen

from skyband.arrays import Array
from skyband.config.literals import literal
from skyband.config.parameters import checked

_LIKE = "such as [0, 10], or [100, inf] for 100 or more"


@frozen(repr=False)
class ValueRange:
    """The values v with low <= v < high. An infinite end means no limit: infinite values are inside."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"[{_plain(self.low)}, {_plain(self.high)})"

    __repr__ = __str__

    def holds(self, values: Array) -> Array:
        """bool[n]: which of float64[n] are in it."""
        return (values >= self.low) & ((values < self.high) | (self.high == math.inf))


def read_range(ends: Any) -> ValueRange:
    """A range from its two ends, None for no limit. Raises ValueError that says what is wrong."""
    if isinstance(ends, ValueRange):
        return ends
    if isinstance(ends, str) or not isinstance(ends, Sequence) or len(ends) != 2:
        raise ValueError(
            f"must be two numbers, the least value and the first one above the range, {_LIKE} (got {literal(ends)})"
        )
    low, high = (given if end is None else end for end, given in zip(ends, (-math.inf, math.inf), strict=True))
    for end in (low, high):
        if isinstance(end, bool) or not isinstance(end, int | float | np.integer | np.floating) or end != end:
            raise ValueError(f"must be two numbers, {_LIKE} (got {literal(ends)})")
    if not low < high:
        raise ValueError(f"must have its first end below its second, {_LIKE} (got {literal(ends)})")
    return ValueRange(float(low), float(high))


def range_parameter(*, help: str, **options: Any) -> Any:
    """A field that holds one range or None."""
    return checked(None, type="range", check=_check_one, converter=_read_one, help=help, **options)


def ranges_parameter(*, help: str, **options: Any) -> Any:
    """A field of a query that holds one or more ranges, or None."""
    return checked(None, type="list", check=_check, converter=_read, help=help, **options)


def _read(value: Any) -> Any:
    if value is None or isinstance(value, str) or not isinstance(value, Sequence):
        return value
    try:
        return tuple(map(read_range, value))
    except ValueError:
        return value


def _read_one(value: Any) -> Any:
    try:
        return None if value is None else read_range(value)
    except ValueError:
        return value


def _check_one(value: Any) -> str | None:
    try:
        read_range(value)
    except ValueError as error:
        return str(error)
    return None


def _check(value: Any) -> str | None:
    if isinstance(value, str) or not isinstance(value, Sequence) or not value:
        return f"must be a list of ranges, [[0, 10], [10, 100]] (got {literal(value)})"
    try:
        ranges = [read_range(ends) for ends in value]
    except ValueError as error:
        return f"each {error}"
    twice = [str(entry) for place, entry in enumerate(ranges) if entry in ranges[:place]]
    return f"has {twice[0]} twice" if twice else None


def _plain(end: float) -> str:
    return str(int(end)) if end.is_integer() and abs(end) < 2**53 else repr(end)
