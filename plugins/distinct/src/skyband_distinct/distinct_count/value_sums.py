"""Sums a value over the distinct items of a window: the limits of values, and the merging of shards."""

import math
from typing import Protocol

import numpy as np
import pyarrow as pa
from skyband.arrays import Array, Float64, read_only
from skyband.errors import Problem
from skyband.roles import Sketch

from skyband_distinct.sketch_parameters import LARGEST

SUMS = ("sum", "sum_low", "sum_high")
"""The columns of an answer."""
TERMS = "sum's terms"
"""A column of shards' answers with the terms of a sum before rounding; no source has a column of this name."""
TOO_LARGE, BELOW, ABOVE = "value too large to add up", "value below lower", "value above upper"
"""The reasons to leave out a row."""
PLACE = "row's place"
PLACES = f"{PLACE}_list"
"""The number of a shard's row, and the list of these for a merged answer."""


class SumKeys(Protocol):
    """The keys of a query that are used here."""

    value: str | None
    lower: float | None
    upper: float | None
    against: object

    @property
    def adds(self) -> bool:
        """Whether values are added up."""
        ...


def sum_problems(query: SumKeys) -> list[Problem]:
    """Problems with the limits of values, and with keys that cannot be combined with a sum."""
    if not query.adds:
        message = "limits the sum of a `value`: set that, without `ranges` and `emit`, or remove this"
        limits = {"lower": query.lower, "upper": query.upper}
        return [Problem(key, f"{message} (got {limit:g})") for key, limit in limits.items() if limit is not None]
    least, most = limits_of(query)
    problems = []
    if not least < most:
        problems.append(Problem("upper", f"must be above lower = {least:g} (got {most:g})"))
    if query.against is not None:
        message = "compares counts, not sums of values: remove it or `value`, or count `ranges` of it"
        problems.append(Problem("against", message))
    return problems


def limits_of(query: SumKeys) -> tuple[float, float]:
    """The least and the largest value; the least is 0 with `upper` alone."""
    least = query.lower if query.lower is not None else (-math.inf if query.upper is None else 0.0)
    return least, math.inf if query.upper is None else query.upper


def bounds_of(query: SumKeys) -> tuple[float, float]:
    """The limits of all values in a frame."""
    least, most = limits_of(query)
    return (max(least, -LARGEST), min(most, LARGEST)) if query.adds else (-math.inf, math.inf)


def left_out(query: SumKeys, values: Float64) -> dict[str, Array]:
    """Masks of the values that are not added up, by reason; NaN is not among them."""
    least, most = limits_of(query)
    large = np.abs(values) > LARGEST
    masks = {TOO_LARGE: large, BELOW: (values < least) & ~large, ABOVE: (values > most) & ~large}
    return {reason: mask for reason, mask in masks.items() if mask.any()}


def unlike(query: SumKeys, sketch: Sketch) -> list[Problem]:
    """The reason why a backend cannot compute the sum of a query."""
    name = sketch.name
    if not sketch.adds_values:
        message = f"is added up over the items, and {name} only counts them: choose exact, or k-skb with `upper`"
        return [Problem("value", f"{message}, or count `ranges` of it (got {query.value!r})")]
    if sketch.needs_limits and not math.isfinite(sum(limits_of(query))):
        message = f"is required with {name}, whose bounds of a sum depend on the largest possible value"
        return [Problem("upper", f"{message}: rows above it are left out and reported; or choose exact")]
    return []


def with_sums(answers: pa.Table, groups: pa.Table) -> pa.Table:
    """Adds sums to the merged answers `groups`, whose lists PLACES name their rows in `answers`.

    Shards share no item. An exact sum is the same, to the last bit, as that of a single shard; the distances of the
    bounds add up.
    """
    from skyband_distinct.exact_sums import exact_sums  # on use, because it loads numba

    members = groups.column(PLACES).combine_chunks()
    rows, ends = answers.take(members.flatten()).combine_chunks(), _offsets(members)
    terms = rows.column(TERMS).combine_chunks()
    sums = exact_sums(read_only(terms.flatten().to_numpy()), read_only(_offsets(terms)[ends]))
    own, low, high = (rows.column(name).to_numpy() for name in SUMS)
    below, above = (exact_sums(read_only(part), read_only(ends)) for part in (own - low, high - own))
    for name, column in zip(SUMS, (sums, sums - below, sums + above), strict=True):
        groups = groups.append_column(name, pa.array(column))
    return groups


def _offsets(lists: pa.ListArray) -> Array:
    """int64[n + 1]: the start of each list in the flat values, and the end of the last."""
    lengths: Array = lists.value_lengths().to_numpy(zero_copy_only=False)
    return np.append(0, np.cumsum(lengths, dtype=np.int64))
