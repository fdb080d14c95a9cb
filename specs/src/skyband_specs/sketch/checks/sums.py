"""Sums of the keys' latest values, for sketches that keep them."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from skyband.arrays import Float64

from skyband_specs.batching import seeded
from skyband_specs.binomial import allowed_failures
from skyband_specs.check import Make, check, expect, expect_equal
from skyband_specs.counterexample import holds_for
from skyband_specs.driver import Case
from skyband_specs.sketch.driver import moments
from skyband_specs.sketch.streams import SketchStream, random_keys, spread

COUNT = 2
FLAKE = 1e-8
TRIALS, KEYS = 60, 4000
LEAST, MOST = -0.5, 1.0


@check("edges")
def check_sums_are_of_the_latest_values(make: Make, case: Case) -> None:
    """Each key that arrived since a moment is added once, with its latest value; for few keys exactly.

    The sum is the float64 closest to the exact sum, whatever the order of the rows.
    """
    backend = _adding(make)
    if backend is None:
        return

    def law(stream: SketchStream) -> None:
        few = stream if case.info.guarantee == "exact" else _few(stream, make().exact_up_to)
        backend, values = _adding(make), _values(few)
        for rows in np.array_split(np.arange(len(few)), 3):
            backend.update(few.times[rows], few.keys[rows], values[rows])
        for since in moments(few, backend.grain):
            expected = float(sum(Fraction(value) for value in _latest(few, values, since)))
            got = backend.estimate_sum(since, -9.0, 9.0)
            expect_equal(got, (expected,) * 3, f"the sum since {since}")

    holds_for(case, seeded(case), law)


@check("oracle", guarantees=("bounded",))
def check_sums_lie_within_their_bounds(make: Make, case: Case) -> None:
    """At most a share delta of a sum's bounds exclude it, for similar values and for few large ones."""
    if _adding(make) is None:
        return
    misses = []
    for seed in range(TRIALS):
        rng = np.random.default_rng([31, seed])
        backend, stream = _adding(make), random_keys(seed, KEYS)
        values = LEAST + (MOST - LEAST) * (rng.random(KEYS) if seed % 2 else 1.0 * (rng.random(KEYS) < 0.1))
        backend.update(stream.times * backend.grain, stream.keys, values)
        total, low, high = backend.estimate_sum(0, LEAST, MOST)
        expect(low <= total <= high, f"bounds ({low}, {high}) exclude the estimate {total}")
        misses.append(not low <= math.fsum(values.tolist()) <= high)
    allowed = allowed_failures(TRIALS, float(backend.delta), FLAKE)
    message = f"{sum(misses)} of {TRIALS} bounds exclude the sum"
    expect(sum(misses) <= allowed, f"{message}; with delta = {backend.delta:g} at most {allowed} may")


def _adding(make: Make) -> Any:
    """A backend that keeps the latest values; None if it does not add values."""
    if not make().adds_values:
        return None
    backend = make(values="latest")
    expect(backend.keeps_values, 'declares adds_values, but keeps none when created with values = "latest"')
    return backend


def _few(stream: SketchStream, most: int) -> SketchStream:
    """The rows of at most this many of its keys."""
    some = np.unique(stream.keys)[:most]
    return stream.take(np.flatnonzero(np.isin(stream.keys, some)))


def _values(stream: SketchStream) -> Float64:
    """A value for each row, also for equal keys and times, whose sum in floats depends on the order."""
    lots = spread(np.arange(len(stream))) % np.uint64(7)
    return np.array([0.1, 1e-17, 3.0, -0.3, 7.0, 1e-9, -5.0])[lots.astype(np.int64)]


def _latest(stream: SketchStream, values: Float64, since: int) -> list[float]:
    last: dict[int, tuple[int, float]] = {}
    for time, key, value in zip(stream.times.tolist(), stream.keys.tolist(), values.tolist(), strict=True):
        last[key] = max(last.get(key, (time, value)), (time, value))
    return [value for time, value in last.values() if time >= since]
