"""Streams of numbers for quantile sketches: many ties to test answers, and drifting values to test sizes."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from attrs import frozen
from skyband.arrays import Float64, Int64
from skyband_specs.stream import Stream

ROWS = 1300
TINY_ROWS = 4
TINY_STEPS = (0, 1, 3)
ODD_VALUES = (
    -np.inf, np.inf, -0.0, 0.0, 5e-324, -5e-324, 2.0**-1022, -(2.0**-1022), 1.7976931348623157e308,
    -1.7976931348623157e308, 7.0, 7.0 + 2.0**-40, 7.0 - 2.0**-40,
)  # fmt: skip


@frozen(eq=False)
class NumberStream(Stream):
    """times int64[n], values float64[n], ascending within a time; a sketch by rows gets row numbers as times."""

    times: Int64
    values: Float64


def tiny() -> Iterator[NumberStream]:
    """Every stream of at most TINY_ROWS rows: three values at tiny times."""
    for length in range(TINY_ROWS + 1):
        for values in product((-1.0, 0.0, 2.0), repeat=length):
            for steps in product(TINY_STEPS, repeat=max(0, length - 1)):
                times = np.cumsum([0, *steps])[:length]
                if all(times[row] < times[row + 1] or values[row] <= values[row + 1] for row in range(length - 1)):
                    yield stream(times, values)


def bursts(seed: int, rows: int = ROWS) -> NumberStream:
    """Many rows at a time, a burst, gaps in which all expire; ties, both signs, infinities, tiny and huge values."""
    rng = np.random.default_rng([31, seed])
    steps = rng.choice([0, 1, 2, 9, 70], rows, p=[0.9, 0.075, 0.02, 0.004, 0.001])
    times = np.cumsum(steps) - 30
    burst = int(rng.integers(0, rows - rows // 8))
    times[burst : burst + rows // 8] = times[burst]
    times = np.maximum.accumulate(times)
    wide = np.exp(rng.normal(3, 2, rows)) * rng.choice([1, -1], rows, p=[0.9, 0.1])
    odd: Any = rng.choice(ODD_VALUES, rows)
    few = rng.integers(0, 12, rows) * 0.1
    return stream(times, np.choose(rng.choice(3, rows, p=[0.6, 0.1, 0.3]), [wide, odd, few]))


def steady(rows: int, per_time: int = 8) -> NumberStream:
    """Values that drift upwards without end, several at each time."""
    rng = np.random.default_rng(32)
    return stream(np.arange(rows) // per_time, np.arange(rows) * 0.37 + rng.normal(0, 5, rows))


def decades(rows: int, per_time: int) -> NumberStream:
    """Values that rise by two per cent with each row: no bucket is used again."""
    values = np.exp(np.arange(rows) * 0.02 - 300)
    return stream(np.arange(rows) // per_time, values * np.random.default_rng(36).uniform(0.5, 2, rows))


def lognormal(seed: int, rows: int, per_time: int) -> NumberStream:
    """Latencies: half of them up to 40, one in a hundred above 400."""
    rng = np.random.default_rng([33, seed])
    return stream(np.arange(rows) // per_time, np.exp(rng.normal(np.log(40), 1, rows)))


def different(rows: int, values: int, per_time: int) -> NumberStream:
    """More different values than buckets of one in a hundred can distinguish, then one alone."""
    rng = np.random.default_rng(34)
    numbers = 1000 + rng.permutation(rows) % values * 2.0**-20
    numbers[rows * 3 // 4 :] = 1000.5
    return stream(np.arange(rows) // per_time, numbers)


def of_uneven_paces(end: int) -> list[NumberStream]:
    """Four at one pace, and six of a row each fourth moment and thousands shortly before the end.

    Of the latter a hundred old rows are few of all, so that one node may hold them, and it reaches far back.
    """
    even = [end - 600 - 37 * part + np.arange(15 * (600 + 37 * part)) // 15 for part in range(4)]
    slow = [end - 900 - 30 * part + 4 * np.arange(225) for part in range(6)]
    at_once = end - 50 + np.arange(2500) // 60
    times = [*even, *(np.append(some[some < end - 60], at_once) for some in slow)]
    return [stream(some, np.arange(len(some)) % 777) for some in times]


def silence_then_burst() -> NumberStream:
    """Rows of one kind, the last of which remain after a gap, and then many rows of another kind at once."""
    times = np.append(np.arange(2100) // 7, 890 + np.arange(2000) // 100)
    return stream(times, np.append(1e6 + np.arange(2100), np.arange(2000) % 97))


def ends_of_buckets() -> NumberStream:
    """The first and the last number of the first quarter of 600 octaves: no value lies farther from both than these."""
    rng = np.random.default_rng(38)
    ends = np.array([1.0, np.nextafter(1.25, 0)])
    return stream(np.arange(6000) // 10, np.ldexp(rng.choice(ends, 6000), rng.integers(-300, 300, 6000)))


def any_bits(seed: int, rows: int, per_time: int) -> NumberStream:
    """Random bit patterns, except NaN."""
    rng = np.random.default_rng([35, seed])
    values = rng.integers(-(2**63), 2**63 - 1, rows).view(np.float64)
    return stream(np.arange(rows) // per_time, np.where(np.isnan(values), 1.0, values))


def stream(times: Any, values: Any) -> NumberStream:
    """The stream of these columns, with the rows of one time sorted by value."""
    when, what = np.array(times, np.int64), np.array(values, np.float64)
    order = np.lexsort((what, when))
    return NumberStream(when, what[order])
