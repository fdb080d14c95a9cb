"""Ranks objects by the change of their total since an earlier window. Loads no compiled code."""

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
"""How an object's total has changed since the earlier window."""
_SAME, _UP, _DOWN, _NEW, _GONE = range(len(STATUS))


class Movers(NamedTuple):
    """The objects of answers, the largest changes first."""

    tops: Tops
    """Their totals in the window; `low` and `high` are bounds of what they are ranked by, NaN if there are none."""
    previous: Float64
    difference: Float64
    ratio: Float64
    """The total of the earlier window, the total minus that, and divided by that, NaN if it is 0."""
    status: Int64
    """The place in STATUS."""


@frozen
class MoverRule:
    """Selects and orders the objects of an answer over two windows."""

    rank_by: str
    direction: str
    k: int | None
    least: int
    """The least units that an object has in one of the windows."""
    unit: float

    def far(self, totals: Float64, previous: Float64) -> Float64:
        """float64[n]: the change of each object, in units or as the larger total divided by the smaller; -1 in the
        wrong direction.
        """
        wrong = {BOTH: np.zeros(len(totals), bool), UP: totals <= previous, DOWN: totals >= previous}
        far = np.abs(totals - previous)
        if self.rank_by == RATIO:
            far = _divided(np.maximum(totals, previous), np.minimum(totals, previous), np.inf)
        return np.where(wrong[self.direction], -1.0, far)


def movers_of(single: Tops, other: Tops, rule: MoverRule, *, together: bool) -> Movers:
    """The movers of each window.

    single, other: the answers over each window, and over the earlier one; or, with `together`, over both. They are of
    all objects: those that are missing have at most the `rest`. A previous total from both windows is theirs minus that
    of the window: at least the low of both minus the high of the window, and never below 0. O(n log n).
    """
    objects, (of_single, of_other) = numbered(single, other)
    numbers = either(of_single, of_other)
    of = numbers // max(len(objects), 1)
    total, low, high = totals_of(single, numbers, of_single, of, rule.unit)
    previous, before_low, before_high = totals_of(other, numbers, of_other, of, rule.unit)
    if together:
        before_low, before_high = np.maximum(before_low - high, 0.0), np.maximum(before_high - low, 0.0)
        previous = np.clip(previous - total, before_low, before_high)
    far = rule.far(total, previous)
    enough = (high >= rule.least) | (before_high >= rule.least)
    places = np.flatnonzero(enough & (far >= 0) & ((total > 0) | (previous > 0)))
    changes = [-np.abs(total - previous)[places]] if rule.rank_by == RATIO else []  # equal to `far` by difference
    order = places[np.lexsort((*changes, -far[places], of[places]))]  # objects ascend within each answer
    first = np.searchsorted(of[order], np.arange(len(single)))
    best = order if rule.k is None else order[np.arange(len(order)) - first[of[order]] < rule.k]
    offsets = np.searchsorted(of[best], np.arange(len(single) + 1))
    total, low, high, previous, before_low, before_high = (
        column[best] for column in (total, low, high, previous, before_low, before_high)
    )
    if rule.rank_by == RATIO:
        bounds = _divided(low, before_high, np.nan), _divided(high, before_low, np.nan)
    else:
        bounds = worth(low - before_high, rule.unit), worth(high - before_low, rule.unit)
    grands = single.grand, single.grand_low, single.grand_high, single.rest
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


def every_other(answers: Tops, first: int) -> Tops:
    """Every second answer, from this number on."""
    is_in = answer_of(answers) % 2 == first
    sizes = np.diff(answers.offsets)[first::2]
    columns = (column[is_in] for column in (answers.objects, answers.totals, answers.low, answers.high))
    numbers = (column[first::2] for column in (answers.grand, answers.grand_low, answers.grand_high, answers.rest))
    return Tops(np.concatenate([[0], np.cumsum(sizes)]), *columns, *numbers)


def totals_of(answers: Tops, numbers: Int64, others: Int64, of: Int64, unit: float) -> tuple[Float64, Float64, Float64]:
    """The total and bounds of each (answer, object), in units: 0, 0 and the `rest` if it is missing."""
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
