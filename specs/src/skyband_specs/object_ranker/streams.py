"""Streams of reports for object rankers: few objects and many ties for correctness, the paper's for speed."""

from collections import deque
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from attrs import frozen
from skyband.arrays import Float64, Int32, Int64

from skyband_specs.stream import Stream

ROWS = 300
TINY_ROWS = 3
TINY_STEPS = (0, 2, 3)
LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0)


@frozen(eq=False)
class ObjectStream(Stream):
    """times int64[n], streams int32[n], objects int64[n], values float64[n].

    A ranker that counts rows is fed row numbers instead of the times.
    """

    times: Int64
    streams: Int32
    objects: Int64
    values: Float64


def tiny(streams: int, upper: float) -> Iterator[ObjectStream]:
    """Every stream of at most TINY_ROWS of five reports, by two objects in two streams, at tiny times."""
    other = min(1, streams - 1)
    half = upper / 2
    rows = [(0, 7, upper), (other, 7, half), (0, 3, upper), (other, 3, half), (0, 3, half)]
    for length in range(TINY_ROWS + 1):
        for reports in product(rows, repeat=length):
            for steps in product(TINY_STEPS, repeat=max(0, length - 1)):
                columns = ([row[part] for row in reports] for part in range(3))
                yield _stream(np.cumsum([0, *steps])[:length], *columns)


def bursts(seed: int, streams: int, upper: float, rows: int = ROWS) -> ObjectStream:
    """Ties everywhere: equal scores and times, repeated reports, bursts at one moment, silences that empty the window,
    both ends of the object range.
    """
    rng = np.random.default_rng([8, seed])
    times = np.cumsum(rng.choice([0, 1, 2, 9, 60], rows, p=[0.45, 0.3, 0.15, 0.08, 0.02])) - 30
    burst = int(rng.integers(0, rows - rows // 8))
    times[burst : burst + rows // 8] = times[burst]
    times = np.maximum.accumulate(times)
    moving = np.arange(rows) // 6 + rng.integers(0, 12, rows)
    objects = np.where(rng.random(rows) < 0.85, moving, rng.choice([-(2**63), 2**63 - 1, -5, 0], rows))
    values = upper * np.where(rng.random(rows) < 0.8, rng.choice(LEVELS, rows), rng.random(rows))
    return _stream(times, rng.integers(0, streams, rows), objects, values)


def steady(streams: int, upper: float, rows: int) -> ObjectStream:
    """Objects that appear, report every stream within a few rows, and never return: one row at each time."""
    rng = np.random.default_rng(9)
    order = np.argsort(np.arange(rows) + rng.random(rows) * 20, kind="stable")
    return _stream(np.arange(rows), order % streams, order // streams, upper * rng.random(rows))


def paper(seed: int, rows: int, streams: int, *, xi: float = 0.5, recent: int = 50, upper: float = 1.0) -> ObjectStream:
    """The generator of Haghani et al. (CIKM 2009), section 6.1.1: `streams` streams in rotation, one report at a time.

    With probability `xi` a report is about an object among the last `recent` of one of the other streams, otherwise, or
    if its own stream has already seen the object, about a new one. Values are uniform. What the paper leaves open is
    chosen to fit its tables best: `recent` = 50, one attempt to pick.
    """
    rng = np.random.default_rng([10, seed])
    picks, others, places = rng.random(rows), rng.integers(1, max(2, streams), rows), rng.integers(0, recent, rows)
    last: list[deque[int]] = [deque(maxlen=recent) for _ in range(streams)]
    names: list[set[int]] = [set() for _ in range(streams)]
    objects, unused = [], 0
    for row in range(rows):
        own = row % streams
        other = last[(own + others[row]) % streams] if streams > 1 else ()
        picked = other[-1 - places[row] % len(other)] if other and picks[row] < xi else -1
        if picked < 0 or picked in names[own]:
            picked, unused = unused, unused + 1
        names[own].add(picked)
        last[own].append(picked)
        objects.append(picked)
    return _stream(np.arange(rows), np.arange(rows) % streams, objects, upper * rng.random(rows))


def _stream(times: Any, streams: Any, objects: Any, values: Any) -> ObjectStream:
    return ObjectStream(
        np.array(times, np.int64),
        np.array(streams, np.int32),
        np.array(objects, np.int64),
        np.array(values, np.float64),
    )
