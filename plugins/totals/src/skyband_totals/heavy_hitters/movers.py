"""Objects by how far their total is from that of the window before: answers over one and two windows subtracted.

Loads no compiled code.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from attrs import frozen
from skyband.arrays import Array, Float64, Int64

from skyband_totals.fixed_point import worth
from skyband_totals.heavy_hitters.object_places import answer_of, either, numbered, picked, places_of
from skyband_totals.heavy_hitters.rest_rows import in_units
from skyband_totals.top import Tops

DIFFERENCE, RATIO = "difference", "ratio"
BOTH, UP, DOWN = "both", "up", "down"
STATUS = pa.array(["same", "up", "down", "new", "gone"])
"""What an object's total has done since the window before."""
_SAME, _UP, _DOWN, _NEW, _GONE = range(len(STATUS))


class Movers(NamedTuple):
    """The objects of answers, those that moved farthest first."""

    tops: Tops
    """Their totals of the window; `low` and `high` are bounds of what they rank by, NaN where there is none."""
    previous: Float64
    difference: Float64
    ratio: Float64
    """Of each, the total of the window before, and the total less that and divided by it, NaN where that is 0."""
    status: Int64
    """Of each, the place in STATUS."""


@frozen
class MoverRule:
    """Which objects of two windows are in an answer, and in what order."""

    rank_by: str
    direction: str
    k: int | None
    least: int
    """The units that an object has in one of the windows, at least."""
    unit: float

    def far(self, totals: Float64, previous: Float64) -> Float64:
        """float64[n]: how far objects have moved, in units or as the larger total by the smaller; -1 where the
        direction is another.
        """
        wrong = {BOTH: np.zeros(len(totals), bool), UP: totals <= previous, DOWN: totals >= previous}
        far = np.abs(totals - previous)
        if self.rank_by == RATIO:
            far = _divided(np.maximum(totals, previous), np.minimum(totals, previous), np.inf)
        return np.where(wrong[self.direction], -1.0, far)


def movers_of(answers: Tops, rule: MoverRule) -> Movers:
    """The movers of each window.

    answers: by twos, those over a window and over the two that it and the one before it are together, of all objects.
    One that is not among them has no more than their `rest`. The previous total is what the two have without the one:
    at least the least of the two without the most of the one, and never below 0. O(n log n).
    """
    one, two = _every_other(answers, 0), _every_other(answers, 1)
    objects, (of_one, of_two) = numbered(one, two)
    numbers = either(of_one, of_two)
    of = numbers // max(len(objects), 1)
    total, low, high = _totals(one, numbers, of_one, of, rule.unit)
    both, both_low, both_high = _totals(two, numbers, of_two, of, rule.unit)
    before_low, before_high = np.maximum(both_low - high, 0.0), np.maximum(both_high - low, 0.0)
    previous = np.clip(both - total, before_low, before_high)
    far = rule.far(total, previous)
    enough = (high >= rule.least) | (before_high >= rule.least)
    those = np.flatnonzero(enough & (far >= 0) & ((total > 0) | (previous > 0)))
    moved = [-np.abs(total - previous)[those]] if rule.rank_by == RATIO else []  # by difference that is how far
    order = those[np.lexsort((*moved, -far[those], of[those]))]  # they are by object in each answer
    first = np.searchsorted(of[order], np.arange(len(one)))
    best = order if rule.k is None else order[np.arange(len(order)) - first[of[order]] < rule.k]
    offsets = np.searchsorted(of[best], np.arange(len(one) + 1))
    total, low, high, previous, before_low, before_high = (
        column[best] for column in (total, low, high, previous, before_low, before_high)
    )
    if rule.rank_by == RATIO:
        bounds = _divided(low, before_high, np.nan), _divided(high, before_low, np.nan)
    else:
        bounds = worth(low - before_high, rule.unit), worth(high - before_low, rule.unit)
    grands = one.grand, one.grand_low, one.grand_high, one.rest
    tops = Tops(
        offsets, objects[numbers[best] - of[best] * max(len(objects), 1)], worth(total, rule.unit), *bounds, *grands
    )
    difference, ratio = total - previous, _divided(total, previous, np.nan)
    units = worth(previous, rule.unit), worth(difference, rule.unit)
    return Movers(tops, *units, ratio, _status(total, previous))


def mover_columns(movers: Movers) -> list[Array | pa.Array]:
    """The columns of numbers after the object, and the status: null for NaN."""
    tops = movers.tops
    numbers = [pa.array(column, mask=np.isnan(column)) for column in (movers.ratio, tops.low, tops.high)]
    return [tops.totals, movers.previous, movers.difference, *numbers, STATUS.take(pa.array(movers.status))]


def _every_other(answers: Tops, first: int) -> Tops:
    """Every second answer, from the one of this number on."""
    these = answer_of(answers) % 2 == first
    sizes = np.diff(answers.offsets)[first::2]
    columns = (column[these] for column in (answers.objects, answers.totals, answers.low, answers.high))
    numbers = (column[first::2] for column in (answers.grand, answers.grand_low, answers.grand_high, answers.rest))
    return Tops(np.concatenate([[0], np.cumsum(sizes)]), *columns, *numbers)


def _totals(answers: Tops, numbers: Int64, others: Int64, of: Int64, unit: float) -> tuple[Float64, Float64, Float64]:
    """Of each (answer, object) its total and bounds in units: 0, 0 and the `rest` where it is not there."""
    places = places_of(numbers, others)
    total, low, high = (
        in_units(picked(column, places), unit) for column in (answers.totals, answers.low, answers.high)
    )
    return total, low, np.where(places < 0, in_units(answers.rest, unit)[of], high)


def _divided(totals: Float64, others: Float64, by_zero: float) -> Float64:
    return np.where(others > 0, totals / np.where(others > 0, others, 1.0), by_zero)


def _status(totals: Float64, previous: Float64) -> Array:
    codes = np.where(totals > previous, _UP, np.where(totals < previous, _DOWN, _SAME))
    return np.where(previous == 0, _NEW, np.where(totals == 0, _GONE, codes))
