"""The questions to a sketch, and its answers as plain data, to compare and print."""

from typing import Any

import numpy as np
from skyband.arrays import Int64

from skyband_quantiles.conformance.oracle import QuantileOracle
from skyband_quantiles.conformance.streams import NumberStream

AT = (0.5, 0.0, 0.001, 0.07, 0.14, 0.28, 0.56, 0.95, 0.99, 1.0, 0.5)
"""Unsorted, one of them twice; the products of some with a number of rows are rounded up, which is wrong."""
ABOVE = (0.0, 0.3, -1e300, 50.0, 1e300)


def times_of(backend: Any, stream: NumberStream, start: int, stop: int) -> Int64:
    """The times of rows start..stop as this sketch expects them."""
    return np.arange(start, stop) if backend.by == "rows" else stream.times[start:stop]


def oracle_of(backend: Any, stream: NumberStream, stop: int) -> QuantileOracle:
    """The oracle of all rows that this sketch has."""
    return QuantileOracle(times_of(backend, stream, 0, stop), stream.values[:stop])


def plain(array: Any) -> list[Any]:
    """An array of answers as nested lists and tuples, with None instead of NaN."""
    return [tuple(None if number != number else number for number in row) for row in np.asarray(array).tolist()]


def asked_since(backend: Any, since: int) -> tuple[Any, ...]:
    """All answers of a sketch since a moment."""
    count = tuple(backend.count(since))
    return since, count, plain(backend.quantiles(since, AT)), plain(backend.shares(since, ABOVE))
