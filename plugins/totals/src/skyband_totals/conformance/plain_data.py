"""Converts streams for total-rankers and the oracle, and answers to plain data for comparison and messages."""

from typing import Any

import numpy as np

from skyband_totals.conformance.oracle import Answer
from skyband_totals.conformance.streams import TotalStream
from skyband_totals.top import Top


def columns(backend: Any, stream: TotalStream, start: int, stop: int) -> tuple[Any, Any, Any, Any]:
    """Rows start..stop as arguments of this ranker: times, objects, weights or None, values or None."""
    part = slice(start, stop)
    times = np.arange(start, stop) if backend.by == "rows" else stream.times[part]
    weights = stream.weights[part] if backend.total == "sum" else None
    return times, stream.objects[part], weights, stream.values[part] if backend.total == "distinct" else None


def rows_of(backend: Any, stream: TotalStream, stop: int) -> list[tuple[int, int, int]]:
    """The first rows for the oracle."""
    times, objects, weights, values = columns(backend, stream, 0, stop)
    amounts = np.ones(stop) if weights is None else np.rint(weights / backend.unit)
    amounts = amounts if values is None else values
    return [(int(time), int(key), int(amount)) for time, key, amount in zip(times, objects, amounts, strict=True)]


def plain(top: Top) -> tuple[Any, ...]:
    """An answer as plain data."""
    columns = (column.tolist() for column in (top.objects, top.totals, top.low, top.high))
    return (*columns, top.grand, top.grand_low, top.grand_high, top.rest)


def exactly(answer: Answer) -> tuple[Any, ...]:
    """An exact answer as plain data."""
    return (answer.objects, *[answer.totals] * 3, *[answer.grand] * 3, answer.rest)
