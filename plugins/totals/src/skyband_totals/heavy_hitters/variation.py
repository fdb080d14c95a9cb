"""How far apart the shares of objects are in two windows. Loads no compiled code."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from skyband.arrays import Float64, Int64

from skyband_totals.heavy_hitters.movers import totals_of
from skyband_totals.heavy_hitters.object_places import either, numbered
from skyband_totals.heavy_hitters.rest_rows import in_units
from skyband_totals.top import Tops

TOTAL_VARIATION = "total-variation"
_WHOLE = 2.0**62
"""Up to here products of grand totals are exact in 64 bits."""
_ROUNDING = 2.0**-52
"""What a sum of shares may be off by, for each of its objects and for some more."""


class Variation(NamedTuple):
    """float64[a] each: the distance of each pair of windows and its bounds, NaN where a window has no total."""

    value: Float64
    low: Float64
    high: Float64


def variation_of(now: Tops, before: Tops, unit: float) -> Variation:
    """Half the sum of |p - q| over all objects, with p and q their shares of each window's grand total.

    now, before: the answers over each window and over the earlier one. An object that only one of them names has at
    most the `rest` of the other, and those that neither names have what is left of the shares: by the triangle
    inequality their part is between the difference of what is left and its sum. Exact totals have equal bounds,
    rounded once while the product of the grand totals is below 2**62. O(n log n).
    """
    objects, (of_now, of_before) = numbered(now, before)
    numbers = either(of_now, of_before)
    of = numbers // max(len(objects), 1)
    ours = totals_of(now, numbers, of_now, of, unit)
    theirs = totals_of(before, numbers, of_before, of, unit)
    grands = [in_units(column, unit) for column in (now.grand, now.grand_low, now.grand_high)]
    against = [in_units(column, unit) for column in (before.grand, before.grand_low, before.grand_high)]
    with np.errstate(divide="ignore", invalid="ignore"):
        p = _shares(ours, grands, of)
        q = _shares(theirs, against, of)
        value = _half_of(np.abs(p[0] - q[0]), np.abs(_rest(p[0], of, len(now)) - _rest(q[0], of, len(now))), of)
        least = np.maximum(np.maximum(p[1] - q[2], q[1] - p[2]), 0.0)
        most = np.maximum(p[2] - q[1], q[2] - p[1])
        rests = [_rest(share, of, len(now)) for share in (p[2], p[1], q[2], q[1])]
        apart = np.maximum(np.maximum(rests[0] - rests[3], rests[2] - rests[1]), 0.0)
        rounding = _ROUNDING * (16 + np.bincount(of, minlength=len(now)))
        low = np.clip(_half_of(least, apart, of) - rounding, 0.0, 1.0)
        high = np.clip(_half_of(most, rests[1] + rests[3], of) + rounding, 0.0, 1.0)
    bounds = np.stack([np.clip(value, low, high), low, high])
    empty = (now.grand == 0) | (before.grand == 0)
    exact = ~empty & _are_exact(ours, grands, now, of) & _are_exact(theirs, against, before, of)
    whole = exact & (grands[0] * against[0] < _WHOLE)
    bounds[:, exact] = value[exact]
    bounds[:, whole] = _in_whole_numbers(ours[0], theirs[0], grands[0], against[0], of, whole)[whole]
    bounds[:, empty] = np.nan
    return Variation(*bounds)


def distance_columns(now: Tops, before: Tops, unit: float) -> tuple[Int64, list[pa.Array]]:
    """The places of the windows with a total, now or earlier, and the columns of numbers of their distances."""
    places = np.flatnonzero((now.grand > 0) | (before.grand > 0))
    apart = [column[places] for column in variation_of(now, before, unit)]
    numbers = [pa.array(column, mask=np.isnan(column)) for column in apart]
    return places, [*numbers, pa.array(now.grand[places]), pa.array(before.grand[places])]


def _shares(totals: tuple[Float64, ...], grands: list[Float64], of: Int64) -> list[Float64]:
    """The likely, least and greatest share of each object; totals and grands: likely, low, high."""
    (total, low, high), (grand, grand_low, grand_high) = totals, grands
    return [total / grand[of], low / grand_high[of], np.minimum(high / grand_low[of], 1.0)]


def _rest(shares: Float64, of: Int64, answers: int) -> Float64:
    """float64[a]: what these shares leave of 1."""
    return np.maximum(1.0 - np.bincount(of, shares, answers), 0.0)


def _half_of(parts: Float64, more: Float64, of: Int64) -> Float64:
    return (np.bincount(of, parts, len(more)) + more) / 2


def _are_exact(totals: tuple[Float64, ...], grands: list[Float64], answers: Tops, of: Int64) -> Float64:
    """bool[a]: the answers that name all objects, with their totals."""
    unsure = np.bincount(of[(totals[1] < totals[0]) | (totals[0] < totals[2])], minlength=len(answers))
    named = np.bincount(of, totals[0], len(answers))
    return (unsure == 0) & (grands[1] == grands[2]) & (named == grands[0])


def _in_whole_numbers(
    ours: Float64, theirs: Float64, grand: Float64, against: Float64, of: Int64, whole: Float64
) -> Float64:
    """float64[a]: the exact distances of whole totals, for those answers."""
    a, b = (np.where(whole, column, 1.0).astype(np.int64) for column in (grand, against))
    inside = whole[of]
    apart = np.abs(ours.astype(np.int64) * b[of] - theirs.astype(np.int64) * a[of]) * inside
    sums = np.zeros(len(a), np.int64)
    np.add.at(sums, of, apart)
    pairs = zip(sums.tolist(), (2 * a * b).tolist(), strict=True)
    return np.array([total / double for total, double in pairs])
