"""The sum of a value over the distinct items of a window: which values are added up, and how shards' sums add."""

import math
from typing import Protocol

import numpy as np
import pyarrow as pa
from skyband.arrays import Array, Float64, read_only
from skyband.errors import Problem
from skyband.roles import Sketch

from skyband_distinct.latest_values import LARGEST

SUMS = ("sum", "sum_low", "sum_high")
"""The columns of an answer."""
TERMS = "sum's terms"
"""A column of shards' answers, called as no column of a source is: numbers that add up to the sum, before rounding."""
TOO_LARGE, BELOW, ABOVE = "value too large to add up", "value below lower", "value above upper"
"""Why a row is left out."""
PLACE = "row's place"
PLACES = f"{PLACE}_list"
"""The number of a shard's row, and those of an answer of all."""


class SumKeys(Protocol):
    """The keys of a query that are looked at here."""

    value: str | None
    lower: float | None
    upper: float | None
    against: str | None

    @property
    def adds(self) -> bool:
        """Whether it adds up values."""
        ...


def sum_problems(query: SumKeys) -> list[Problem]:
    """What is wrong with the limits of values, and what goes with no sum."""
    if not query.adds:
        message = "goes with the sum of a `value`: add that, without `ranges` and `emit`, or drop this"
        limits = {"lower": query.lower, "upper": query.upper}
        return [Problem(key, f"{message} (got {limit:g})") for key, limit in limits.items() if limit is not None]
    least, most = limits_of(query)
    problems = []
    if not least < most:
        problems.append(Problem("upper", f"must be above lower = {least:g} (got {most:g})"))
    if query.against is not None:
        message = "compares counts, and not what values add up to: drop it, drop `value`, or count `ranges` of it"
        problems.append(Problem("against", message))
    return problems


def limits_of(query: SumKeys) -> tuple[float, float]:
    """The least and the largest value; with `upper` alone none is below 0."""
    least = query.lower if query.lower is not None else (-math.inf if query.upper is None else 0.0)
    return least, math.inf if query.upper is None else query.upper


def bounds_of(query: SumKeys) -> tuple[float, float]:
    """What all values of a frame lie within."""
    least, most = limits_of(query)
    return (max(least, -LARGEST), min(most, LARGEST)) if query.adds else (-math.inf, math.inf)


def left_out(query: SumKeys, values: Float64) -> dict[str, Array]:
    """Which values are not added up, NaN none of them, by the reason."""
    least, most = limits_of(query)
    large = np.abs(values) > LARGEST
    masks = {TOO_LARGE: large, BELOW: (values < least) & ~large, ABOVE: (values > most) & ~large}
    return {reason: mask for reason, mask in masks.items() if mask.any()}


def unlike(query: SumKeys, sketch: Sketch) -> list[Problem]:
    """Why a backend does not give the sum of a query."""
    name = sketch.name
    if not sketch.adds_values:
        message = f"is added up over the items, and {name} only counts them: choose exact, or k-skb with `upper`"
        return [Problem("value", f"{message}, or count `ranges` of it (got {query.value!r})")]
    if sketch.needs_limits and not math.isfinite(sum(limits_of(query))):
        message = f"is required with {name}, whose bounds of a sum need to know what the largest value may be"
        return [Problem("upper", f"{message}: rows above it are left out and counted; or choose exact")]
    return []


def with_sums(answers: pa.Table, groups: pa.Table) -> pa.Table:
    """The answers of all shards together (`groups`, with the list PLACES of their rows in `answers`) and their sums.

    Shards share no item. A sum is to the last bit what one shard of all rows has, where that is exact; the ends of
    bounds are as far off as those of all together.
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
    """Where each list begins in the flat values, and where the last ends: int64[n + 1]."""
    lengths: Array = lists.value_lengths().to_numpy(zero_copy_only=False)
    return np.append(0, np.cumsum(lengths, dtype=np.int64))
