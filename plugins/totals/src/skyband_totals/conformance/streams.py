"""Streams of rows for total-rankers: few objects with many ties for correctness, drifting objects for memory."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from attrs import frozen
from skyband.arrays import Float64, Int64, UInt64
from skyband_specs.stream import Stream

ROWS = 300
TINY_ROWS = 3
TINY_STEPS = (0, 1, 3)
ENDS = (-(2**63), 2**63 - 1, 0, -1)


@frozen(eq=False)
class TotalStream(Stream):
    """times int64[n], objects int64[n], weights float64[n] (whole units), values uint64[n].

    A ranker takes the weights or the values or neither; one with windows in rows gets row numbers as times.
    """

    times: Int64
    objects: Int64
    weights: Float64
    values: UInt64


def tiny(unit: float) -> Iterator[TotalStream]:
    """Every stream of at most TINY_ROWS rows: two objects, weights of 0 and 1 (two values), at tiny times."""
    rows = [(7, 0), (7, 1), (3, 0), (3, 1)]
    for length in range(TINY_ROWS + 1):
        for pairs in product(rows, repeat=length):
            for steps in product(TINY_STEPS, repeat=max(0, length - 1)):
                objects, amounts = [key for key, _ in pairs], [amount for _, amount in pairs]
                yield stream(np.cumsum([0, *steps])[:length], objects, unit * np.array(amounts), amounts)


def bursts(seed: int, unit: float, rows: int = ROWS) -> TotalStream:
    """Ties at every rank, drifting objects, bursts at one moment, and gaps in which everything expires.

    Weights of 0 and weights a million times the others, both ends of the range of objects, 0 and −1.
    """
    rng = np.random.default_rng([11, seed])
    times = np.cumsum(rng.choice([0, 1, 2, 9, 70], rows, p=[0.45, 0.3, 0.15, 0.08, 0.02])) - 30
    burst = int(rng.integers(0, rows - rows // 8))
    times[burst : burst + rows // 8] = times[burst]
    times = np.maximum.accumulate(times)
    moving = np.arange(rows) // 20 + rng.integers(0, 5, rows)
    objects = np.where(rng.random(rows) < 0.85, moving, rng.choice(ENDS, rows))
    units = rng.choice([0, 1, 2, 5, 1_000_000], rows, p=[0.2, 0.4, 0.2, 0.15, 0.05])
    return stream(times, objects, unit * units, rng.integers(0, 6, rows))


def steady(unit: float, rows: int) -> TotalStream:
    """Objects that occur a few times and never again, one row at each time."""
    rng = np.random.default_rng(12)
    objects = np.arange(rows) // 3 + rng.integers(0, 10, rows)
    return stream(np.arange(rows), objects, unit * rng.integers(1, 9, rows), rng.integers(0, 4, rows))


def many(unit: float) -> TotalStream:
    """150 objects, each twice within a few moments, with many ties."""
    objects = np.arange(300) * 7 % 150
    return stream(np.arange(300) // 100, objects, unit * (1 + objects % 7), objects % 5)


def fallen(window: int, k: int = 10) -> TotalStream:
    """3k objects that are heavy for one pane, then a gap in which they all fall at once, then light objects."""
    heavy = np.repeat(np.arange(3 * k), np.arange(3 * k) + 2)
    light = np.arange(1000, 1000 + 2 * k)
    times = np.concatenate([np.zeros(len(heavy), np.int64), np.full(len(light), window)])
    objects = np.concatenate([heavy, light])
    return stream(times, objects, np.ones(len(objects)), np.arange(len(objects)))


def overtaken(window: int, k: int = 10) -> TotalStream:
    """Like `fallen`, but the heavy objects keep a row each, and the light ones occur twice."""
    before = fallen(window, k)
    heavy, light = np.unique(before.objects[before.times == 0]), np.unique(before.objects[before.times > 0])
    objects = np.concatenate([before.objects, heavy, light])
    times = np.concatenate([before.times, np.full(len(heavy) + len(light), window)])
    return stream(times, objects, np.ones(len(objects)), np.arange(len(objects)))


def ties(window: int, count: int = 10_000) -> TotalStream:
    """`count` objects with the same total: two rows each, and one object with three."""
    objects = np.concatenate([np.arange(count), np.arange(count), [5]])
    times = np.repeat(np.array([0, window // 2]), [count, count + 1])
    return stream(times, objects, np.ones(len(objects)), np.arange(len(objects)))


def zipf(seed: int, rows: int, keys: int, exponent: float, per_time: int = 10) -> TotalStream:
    """Objects by Zipf's law, with random numbers, each row with a new value."""
    rng = np.random.default_rng([13, seed])
    ranks = np.searchsorted(np.cumsum(1 / np.arange(1, keys + 1) ** exponent), rng.random(rows) * _mass(keys, exponent))
    names = rng.permutation(keys)
    return stream(np.arange(rows) // per_time, names[ranks], np.ones(rows), np.arange(rows) * 7 + seed)


def _mass(keys: int, exponent: float) -> float:
    return float((1 / np.arange(1, keys + 1) ** exponent).sum())


def stream(times: Any, objects: Any, weights: Any, values: Any) -> TotalStream:
    """A stream of these columns."""
    return TotalStream(
        np.array(times, np.int64),
        np.array(objects, np.int64),
        np.array(weights, np.float64),
        np.array(values, np.uint64),
    )


def turnover(seed: int, unit: float, window: int) -> TotalStream:
    """A pool of objects whose largest are the next to leave, partly or wholly, and later return.

    Over four windows, each object has less than those before it, in rows, weight and values, except for some noise: few
    rise to the largest.
    """
    rng = np.random.default_rng([19, seed])
    pool, each = ((12, 1), (90, 2), (500, 3))[seed % 3]  # objects, and their number at each time
    step = max(1, window // 48)
    times = np.cumsum(rng.choice([step, 2 * step, window], 260, p=[0.9, 0.095, 0.005]))
    when = np.repeat(times, each)
    height = 1 - (when % (4 * window)) / (4 * window) + rng.normal(0, 0.02, len(when))
    height = np.where(rng.random(len(when)) < 0.03, rng.random(len(when)), np.clip(height, 0, 1))
    copies = 1 + (7 * height).astype(np.int64)
    first = np.cumsum(copies) - copies
    objects = np.repeat(rng.integers(0, pool, len(when)) - pool // 2, copies)
    values = rng.integers(0, 5, len(when)).repeat(copies) + np.arange(len(objects)) - np.repeat(first, copies)
    units = np.zeros(len(objects))
    units[first] = (400 * height).astype(np.int64)
    return stream(np.repeat(when, copies) - window, objects, unit * units, values)


def binding(seed: int, objects: int) -> TotalStream:
    """Rows that exhaust bounds with this many counters: rounds of one more object, with blocks of a single object.

    In every second stream, some rows weigh as much as all later ones.
    """
    rng = np.random.default_rng([20, seed])
    rows = 9000
    names = np.arange(rows) % (objects + 1) + 100
    if seed % 2:
        names = np.arange(rows) // 37 % (objects + 1) + 100
    start, length = 0, 2600
    while length > 60:
        names[start + length // 3 : start + length] = start
        start += length
        length = length * 2 // 3
    names[rng.random(rows) < 0.05] = -1
    weights = np.ones(rows)
    if seed >= 2:
        weights = rng.choice([1, 1, 1, 3], rows)
        heavy = rng.choice(rows, 40, replace=False)
        weights[heavy] = (rows - heavy) // rng.integers(1, 30, 40) + 1
    return stream(np.arange(rows), names, weights, np.arange(rows))
