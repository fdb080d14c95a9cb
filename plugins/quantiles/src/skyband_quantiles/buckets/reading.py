"""Quantiles, shares and counts from the contents of one or several histories, using numpy only.

Like `answering` for one history in compiled code: for each bucket, the rows that are surely since the moment, and
those that may be; low and high are the values in the worst cases. Histories with buckets of different widths are
combined at the widest.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from skyband.arrays import Array, Float64, Int64

from skyband_quantiles.buckets.contents import Contents, keys_of
from skyband_quantiles.ranks import BILLION, rank


class Sums(NamedTuple):
    """For each bucket with rows, by value: its ends, and the rows below it."""

    least: Float64
    largest: Float64
    sure: Int64
    maybe: Int64
    likely: Float64
    """The last three: [b + 1], the sums below each bucket, and of all."""


class Reading(NamedTuple):
    """The rows of several histories, each since its own moment."""

    raw: Float64
    """The values of raw rows, ascending if there are no others."""
    sums: Sums | None
    """None if all rows are raw."""
    rows: int
    sure: int
    maybe: int
    known_above: Sequence[tuple[int, int, float] | None]
    """For each cut the rows above it: sure, maybe and likely ones; None if unknown for a node."""


def of_rows(values: Float64) -> Reading:
    """What is known of rows if all their values, float64[n], are. O(n log n)."""
    return Reading(np.sort(values), None, len(values), len(values), 0, [])


def read(parts: Sequence[Contents], since: Sequence[int], cuts: Sequence[float]) -> Reading:
    """Read the rows since the moments. O(n log n) for n entries."""
    raw = [part.values[np.searchsorted(part.times, moment) :] for part, moment in zip(parts, since, strict=True)]
    values = np.sort(np.concatenate(raw))
    weights = [_weights(part, moment) for part, moment in zip(parts, since, strict=True)]
    if not any(weight.any() for weight in weights):
        return Reading(values, None, len(values), len(values), 0, [])
    rows = len(values) + sum(int(part.rows[weight == 1].sum()) for part, weight in zip(parts, weights, strict=True))
    across = [(part, weight, (weight > 0) & (weight < 1)) for part, weight in zip(parts, weights, strict=True)]
    maybe = sum(int(part.rows[some].sum()) for part, _, some in across)
    likely = sum(float((part.rows[some] * weight[some]).sum()) for part, weight, some in across)
    above = [_above(parts, weights, number, values, cut) for number, cut in enumerate(cuts)]
    return Reading(values, _sums(parts, weights, raw), rows + int(likely), rows, maybe, above)


def _weights(part: Contents, since: int) -> Float64:
    """float64[nodes]: the share of a node's time span since the moment, 1 for a node after it, 0 before it."""
    span = part.last.astype(np.float64) - part.first + 1.0
    inside = (part.last.astype(np.float64) - float(since) + 1.0) / span
    across = (part.first < since) & (part.last >= since)
    # A share close to 0 or 1 must still show that the node spans the moment.
    return np.where(across, np.clip(inside, 5e-324, np.nextafter(1.0, 0.0)), (part.first >= since).astype(np.float64))


def _sums(parts: Sequence[Contents], weights: Sequence[Float64], raw: Sequence[Float64]) -> Sums:
    shift = max(part.shift for part in parts if len(part.ids))
    columns: list[tuple[Array, ...]] = []
    for part, weight, values in zip(parts, weights, raw, strict=True):
        if len(part.ids):
            of_entry = weight[part.owner]
            sure = np.bincount(part.place, np.where(of_entry == 1, part.count, 0), len(part.ids))
            some = np.where((of_entry > 0) & (of_entry < 1), part.count, 0)
            maybe = np.bincount(part.place, some, len(part.ids))
            likely = np.bincount(part.place, some * of_entry, len(part.ids))
            young = part.of_raw[len(part.values) - len(values) :]
            sure = sure + np.bincount(young, minlength=len(part.ids))
            columns.append((part.ids >> (shift - part.shift), part.least, part.largest, sure, maybe, likely))
        else:
            none = np.zeros(len(values))
            columns.append((keys_of(values) >> shift, values, values, np.ones(len(values)), none, none))
    ids, *others = (np.concatenate(column) for column in zip(*columns, strict=True))
    held = others[2] + others[3] > 0
    least, largest, *numbers = (column[held] for column in others)
    if len(parts) > 1:
        different, place = np.unique(ids[held], return_inverse=True)
        ends, least, largest = (least, largest), np.full(len(different), np.inf), np.full(len(different), -np.inf)
        np.minimum.at(least, place, ends[0])
        np.maximum.at(largest, place, ends[1])
        numbers = [np.bincount(place, column, len(different)) for column in numbers]
    below = [_below(column) for column in numbers]
    return Sums(least, largest, below[0].astype(np.int64), below[1].astype(np.int64), below[2])


def _below(rows: Array) -> Float64:
    """The sums below each bucket, and of all."""
    sums: Float64 = np.append(0.0, np.cumsum(rows))
    return sums


def _above(
    parts: Sequence[Contents], weights: Sequence[Float64], cut: int, raw: Float64, limit: float
) -> tuple[int, int, float] | None:
    sure, maybe, likely = int(np.count_nonzero(raw > limit)), 0, 0.0
    for part, weight in zip(parts, weights, strict=True):
        known = part.above[:, cut]
        if (known[weight > 0] < 0).any():
            return None
        across = (weight > 0) & (weight < 1)
        sure += int(known[weight == 1].sum())
        maybe += int(known[across].sum())
        likely += float((known[across] * weight[across]).sum())
    return sure, maybe, likely


def quantiles(held: Reading, parts: Int64) -> Float64:
    """float64[q, 3]: value, low and high of each quantile; NaN if there are no rows."""
    bounds = np.full((len(parts), 3), np.nan)
    if held.sums is None:
        if len(held.raw):
            ranks = [rank(part, len(held.raw)) - 1 for part in parts.tolist()]
            bounds[:] = held.raw[ranks][:, None]
        return bounds
    sums = held.sums
    for place, part in enumerate(parts.tolist()):
        below = sums.sure[:-1] + sums.maybe[:-1] < _ranks(part, held.sure + sums.maybe[:-1])
        reached = sums.sure[1:] >= _ranks(part, held.sure + held.maybe - sums.maybe[1:])
        low, high = int(np.flatnonzero(below)[-1]), int(np.argmax(reached))
        likely = low
        if low != high:
            so_far = sums.sure[1:-1] + np.floor(sums.likely[1:-1]).astype(np.int64)
            likely = int(np.searchsorted(so_far, rank(part, held.rows)))
        least, largest = sums.least[low], sums.largest[high]
        value = _middle(float(sums.least[likely]), float(sums.largest[likely]))
        bounds[place] = min(max(value, least), largest), least, largest
    return bounds


def shares(held: Reading, limits: Float64, cuts: Sequence[float]) -> Float64:
    """float64[a, 3]: the share of rows above each limit, with bounds; NaN if there are no rows."""
    bounds = np.full((len(limits), 3), np.nan)
    for place, limit in enumerate(limits.tolist() if held.sure + held.maybe else ()):
        if held.sums is None:
            bounds[place] = np.count_nonzero(held.raw > limit) / held.rows
            continue
        known = held.known_above[cuts.index(limit)] if limit in cuts else None
        if known is None:
            bounds[place] = _share(held, held.sums, limit)
        else:
            above, may, likely = known
            low, high = _part(above, held.sure + held.maybe - may), _part(above + may, held.sure + may)
            value = (above + likely) / (held.sure + float(held.sums.likely[-1])) if held.maybe else low
            bounds[place] = min(max(value, low), high), low, high
    return bounds


def _share(held: Reading, sums: Sums, limit: float) -> tuple[float, float, float]:
    begin = int(np.searchsorted(sums.largest, limit, side="right"))
    whole, part = begin, 0.0
    if begin < len(sums.least) and sums.least[begin] <= limit:
        least, largest = float(sums.least[begin]), float(sums.largest[begin])
        whole, part = begin + 1, min(max((largest - limit) / (largest - least), 0.0), 1.0)
    above, may = held.sure - int(sums.sure[whole]), held.maybe - int(sums.maybe[whole])
    here, perhaps = int(sums.sure[whole] - sums.sure[begin]), int(sums.maybe[whole] - sums.maybe[begin])
    low = _part(above, held.sure + held.maybe - may)
    high = _part(above + here + may + perhaps, held.sure + may + perhaps)
    likely, likely_here = sums.likely[-1] - sums.likely[whole], sums.likely[whole] - sums.likely[begin]
    value = float((above + likely + (here + likely_here) * part) / (held.sure + sums.likely[-1]))
    return min(max(value, low), high), low, high


def _part(some: int, of: int) -> float:
    return some / of if some else 0.0


def _ranks(part: int, rows: Int64) -> Int64:
    return np.maximum(1, part * (rows // BILLION) + (part * (rows % BILLION) + BILLION - 1) // BILLION)


def _middle(least: float, largest: float) -> float:
    if least == largest:
        return least
    return 0.0 if 0.0 in (least, largest) else least * (2 / (1 + least / largest))
