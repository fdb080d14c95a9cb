"""Estimates totals, with bounds, from a sample by k-skb, and ranks the largest. Loads no compiled code."""

import math
from functools import cache
from typing import Any

import numpy as np
from skyband.arrays import Array, Float64, Int64

from skyband_totals.fixed_point import worth
from skyband_totals.shares import Least, least_estimate, least_units
from skyband_totals.top import UNKNOWN, Top

_STEPS = 60
_FEWEST = 1e-12


def bounds_of(counts: Float64, sample: float, delta: float) -> tuple[Float64, Float64]:
    """(low, high) of the mean of each count, float64[n], in a sample of this size; wrong with probability delta.

    At most sample / mean objects have this mean or more. So a mean is excluded if that number times the probability of
    a count so far from it is below delta / 4. Chernoff's bound for Poisson counts gives this probability,
    exp(−(mean − count + count ln(count / mean))).
    """
    goal = np.log(4 * max(sample, 1.0) / delta)
    low = _bisect(counts, goal, np.full(len(counts), _FEWEST), np.maximum(counts, _FEWEST), rising=True)
    top = counts + 2 * goal + np.sqrt(2 * goal * counts) + 4 * goal
    high = _bisect(counts, goal, np.maximum(counts, _FEWEST), top, rising=False)
    return np.where(low <= 2 * _FEWEST, 0.0, low), high


def _bisect(counts: Float64, goal: float, low: Float64, high: Float64, rising: bool) -> Float64:
    """The mean between `low` and `high` beyond which means are excluded, away from the count."""
    for _ in range(_STEPS):
        middle = np.sqrt(low * high)
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = middle - counts + np.where(counts > 0, counts * np.log(counts / middle), 0.0)
        excluded = distance + np.log(middle) > goal
        move = excluded if rising else ~excluded
        low, high = np.where(move, middle, low), np.where(move, high, middle)
    return low if rising else high


@cache
def sample_size(epsilon: float, delta: float) -> int:
    """The least k with which no share is off by more than epsilon, except for a share delta of the answers.

    At most 1 / p objects have the share p. By Bernstein's inequality each is off by more with a probability of at most
    2 exp(−(k − 1) epsilon² / (2 (p (1 − p) + epsilon / 3))). Objects with shares below epsilon form at most 2 / epsilon
    groups.
    """
    needed = 0.0
    for objects in range(2, math.ceil(2 / epsilon) + 1):
        spread = (1 - 1 / objects) / objects + epsilon / 3
        needed = max(needed, 2 * spread * math.log(4 * objects / delta) / epsilon**2)
    return 2 + math.ceil(needed)


def scale_of(limit: Any) -> float:
    """The number of rows or pairs that each entry with a score below the limit stands for."""
    return 2.0**64 / (float(limit) + 1)


def exact(keys: Int64, sums: Int64, limit: int, least: Least, unit: float) -> Top:
    """The answer if the sample is complete."""
    totals = sums.astype(np.float64)
    likely = sums >= least_units(least, int(sums.sum()))
    return _answer(keys, likely, totals, totals, totals, (float(sums.sum()),) * 3, 0.0, limit, unit, len(keys))


def estimated(
    keys: Int64, lights: Int64, sums: Int64, scale: float, delta: float, limit: int, least: Least, unit: float
) -> Top:
    """The answer from a sample: the number of light entries of each object, and the units of the others."""
    lows, highs, grand, missing = _bounds(lights, sums, scale, delta)
    likely = highs >= least_estimate(least, grand[1])
    return _answer(keys, likely, sums + lights * scale, lows, highs, grand, missing, limit, unit, UNKNOWN)


def _bounds(lights: Int64, sums: Int64, scale: float, delta: float) -> Any:
    """Bounds of each object, of the grand total, and the most that an object outside of the sample may have."""
    sample = float(lights.sum())
    counts = np.concatenate([lights, [sample, 0.0]]).astype(np.float64)
    distinct, places = np.unique(counts, return_inverse=True)
    low, high = (column[places] for column in bounds_of(distinct, max(sample, 1.0), delta))
    total = float(sums.sum())
    grand = (total + sample * scale, total + low[-2] * scale, total + high[-2] * scale)
    lows = sums + np.maximum(low[:-2] * scale, lights)
    return lows, sums + high[:-2] * scale, grand, float(high[-1] * scale)


def _answer(
    keys: Int64, likely: Array, totals: Float64, lows: Float64, highs: Float64, grand: Any, missing: float, limit: int,
    unit: float, objects_in_all: int,
) -> Top:  # fmt: skip
    order = np.lexsort((keys[likely], -totals[likely]))[:limit]
    places = np.flatnonzero(likely)[order]
    others = np.delete(highs, places)
    rest = max(missing, float(others.max(initial=0.0)))
    numbers = (float(worth(number, unit)) for number in (*grand, rest))
    columns = (worth(column[places], unit) for column in (totals, lows, highs))
    return Top(keys[places], *columns, *numbers, objects_in_all=objects_in_all)
