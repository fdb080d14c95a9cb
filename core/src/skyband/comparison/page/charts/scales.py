"""Scales of a picture: from values to places, and where the ticks go."""

import math
from collections.abc import Callable, Sequence

from attrs import frozen

from skyband.instants import instant

Format = Callable[[float], str]

_SECOND = 1_000_000
_YEAR = 365 * 86_400 * _SECOND
_STEPS = [
    _SECOND * seconds
    for seconds in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200)
] + [86_400 * _SECOND * days for days in (1, 2, 4, 7, 14, 28, 56, 112, 365, 730, 1825, 3650)]


@frozen
class Scale:
    """From values in low..high to places in start..stop, linear or logarithmic, with ticks."""

    low: float
    high: float
    start: float
    stop: float
    ticks: tuple[float, ...]
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high, given = self.low, self.high, value
        if self.log:
            low, high, given = math.log10(low), math.log10(high), math.log10(max(value, self.low))
        share = (given - low) / (high - low) if high > low else 0.5
        return self.start + share * (self.stop - self.start)


def from_zero(values: Sequence[float], start: float, stop: float) -> Scale:
    """From 0 to a round number above all values."""
    top = max(values, default=0.0) or 1.0
    step = nice(top / 4)
    high = math.ceil(top / step - 1e-9) * step
    return Scale(0.0, high, start, stop, tuple(step * number for number in range(round(high / step) + 1)))


def logarithmic(values: Sequence[float], start: float, stop: float) -> Scale:
    """Round numbers around all values, each above 0."""
    low, high = min(values), max(values)
    first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
    if last - first <= 2:
        marks = [mantissa * 10.0**power for power in range(first, last + 1) for mantissa in (1, 2, 5)]
        below = [mark for mark in marks if mark <= low * (1 + 1e-9)] or [10.0**first]
        above = [mark for mark in marks if mark >= high * (1 - 1e-9)] or [10.0**last]
        edges = below[-1], above[0] if above[0] > below[-1] else below[-1] * 10
        ticks = [mark for mark in marks if edges[0] <= mark <= edges[1]]
    else:
        edges = 10.0**first, 10.0**last
        ticks = [10.0**power for power in range(first, last + 1, -(-(last - first) // 5))]
    return Scale(*edges, start, stop, tuple(ticks), log=True)


def fitting(values: Sequence[float], start: float, stop: float) -> Scale:
    """From zero, or logarithmic where the values are so far apart that the small ones could not be told."""
    positive = [value for value in values if value > 0]
    if positive and len(positive) == len(values) and max(positive) > 25 * min(positive):
        return logarithmic(positive, start, stop)
    return from_zero(values, start, stop)


def of_rows(low: float, high: float, start: float, stop: float) -> Scale:
    """From low to high, ticks at round numbers."""
    step = nice((high - low) / 4) if high > low else 1.0
    first = math.ceil(low / step - 1e-9)
    ticks = (step * number for number in range(first, first + 8))
    return Scale(low, high, start, stop, tuple(tick for tick in ticks if tick <= high * (1 + 1e-9)))


def of_times(low: float, high: float, start: float, stop: float) -> tuple[Scale, Format]:
    """From low to high in microseconds since the epoch, ticks at round times, and how to write them."""
    years = _YEAR * nice((high - low) / 4.5 / _YEAR)
    step = next((step for step in _STEPS if (high - low) / step <= 4.5), years)
    first = math.ceil(low / step)
    ticks = tuple(float(step * (first + number)) for number in range(8) if step * (first + number) <= high)
    pattern = "%H:%M:%S" if step < 60 * _SECOND else "%H:%M" if step < 86_400 * _SECOND else "%d %b"
    if step >= 360 * 86_400 * _SECOND:
        pattern = "%Y"

    def written(value: float) -> str:
        return instant(value).strftime(pattern)

    return Scale(low, high, start, stop, ticks), written


def nice(step: float) -> float:
    """The next of 1, 2, 5, 10, 20, … at or above `step`."""
    power = 10.0 ** math.floor(math.log10(step)) if step > 0 else 1.0
    return next(mantissa * power for mantissa in (1, 2, 5, 10) if mantissa * power >= step * (1 - 1e-9))


def apart(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places moved so that no two are nearer than `gap`, each as near to its own as that allows, within low..high."""
    order = sorted(range(len(places)), key=lambda number: places[number])
    moved = [min(max(places[number], low), high) for number in order]
    for number in range(1, len(moved)):
        moved[number] = max(moved[number], moved[number - 1] + gap)
    over = moved[-1] - high if moved else 0.0
    for number in range(len(moved) - 1, -1, -1):
        limit = high if number == len(moved) - 1 else moved[number + 1] - gap
        moved[number] = min(moved[number], limit) if over > 0 else moved[number]
    found = [0.0] * len(places)
    for number, place in zip(order, moved, strict=True):
        found[number] = place
    return found
