"""Ranks objects by the part of their total that meets a condition, from two rankers. Loads no compiled code."""

from typing import NamedTuple

import numpy as np
from skyband.arrays import Float64

from skyband_totals.heavy_hitters.object_places import answer_of, numbered, picked, places_of
from skyband_totals.heavy_hitters.rest_rows import in_units
from skyband_totals.top import Tops


class Parts(NamedTuple):
    """The objects of answers, by the part that meets the condition descending, then object ascending."""

    whole: Tops
    """Their totals."""
    part: Float64
    low: Float64
    high: Float64
    """The part and its bounds."""
    matching: Float64
    """The total of the rows that meet the condition."""


def parts_of(whole: Tops, met: Tops, k: int | None, unit: float) -> Parts:
    """The best k of each answer, out of all objects of `whole`.

    met: the totals of the rows that meet the condition, for all objects with any. Missing objects have at most the
    `rest`. A part is the least with the lowest matching and the highest whole total, and at most 1. O(n log n).
    """
    of = answer_of(whole)
    _, (numbers, of_met) = numbered(whole, met)
    places = places_of(numbers, of_met)
    missing = places < 0
    matching, least, most = (picked(column, places) for column in (met.totals, met.low, met.high))
    most[missing] = met.rest[of[missing]]
    total, total_low, total_high = (in_units(column, unit) for column in (whole.totals, whole.low, whole.high))
    low = np.minimum(in_units(least, unit) / total_high, 1.0)
    certain = total_low > 0
    high = np.minimum(in_units(most, unit) / np.where(certain, total_low, 1.0), 1.0)
    high[~certain] = 1.0
    high = np.maximum(high, low)
    part = np.clip(in_units(matching, unit) / total, low, high)
    order = np.lexsort((whole.objects, -part, of))
    rank = np.arange(len(order)) - whole.offsets[of[order]]
    best = order if k is None else order[rank < k]
    sizes = np.bincount(of[best], minlength=len(whole))
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    totals = whole.totals[best], whole.low[best], whole.high[best]
    grands = whole.grand, whole.grand_low, whole.grand_high, whole.rest
    tops = Tops(offsets, whole.objects[best], *totals, *grands, objects_in_all=whole.objects_in_all)
    return Parts(tops, part[best], low[best], high[best], matching[best])


def part_columns(parts: Parts) -> list[Float64]:
    """The columns of numbers after the object."""
    tops = parts.whole
    share = tops.totals / tops.grand[answer_of(tops)]
    return [parts.part, parts.low, parts.high, parts.matching, tops.totals, share]
