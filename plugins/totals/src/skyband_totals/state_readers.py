"""Shared code of the state readers: parameters, the clock, and totals by object."""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from skyband import snapshot
from skyband.arrays import TIME_MIN, Array, Int64
from skyband.config.parameters import build
from skyband.state_validation import StateReader

from skyband_totals.ranker_parameters import RankerParameters
from skyband_totals.shares import Least, least_of
from skyband_totals.top import Top
from skyband_totals.top_reader import Ranking, TopReader

P = TypeVar("P", bound=RankerParameters)
MOST = 2**62
"""The limit of objects in an answer without `k`."""


def parameters_of(cls: type[P], header: Mapping[str, Any]) -> P:
    """The parameters in a state's header, cached. Raises ConfigError if they are invalid."""
    cached: Any = _built
    parameters: P = cached(cls, snapshot.text(dict(header)))
    return parameters


@lru_cache(maxsize=64)
def _built(cls: Any, text: str) -> Any:
    return build(cls, json.loads(text))


class RankerClock:
    """The time of the ranker, and what it has forgotten."""

    def __init__(self, reader: StateReader, longest: int, rows: bool) -> None:
        clock = reader.column("clock", np.int64).tolist()
        late = len(clock) == 2 and clock[1] > clock[0] - rows
        reader.require(len(clock) <= 2 and not late, "clock", f"is {clock}, which is impossible")
        self.latest = clock[1] if len(clock) > 1 else None
        self.floor = max(clock[0] - longest, TIME_MIN) if clock else TIME_MIN


class ClockedReader(TopReader):
    """A reader that takes its times from the ranker's clock."""

    _clock: RankerClock

    @property
    def latest(self) -> int | None:
        return self._clock.latest

    @property
    def floor(self) -> int:
        return self._clock.floor


def limits_of(own: RankerParameters, k: int | None, share: float | None, at_least: float | None) -> tuple[int, Least]:
    """The most objects of an answer, and their least total: as requested, or as in the ranker's parameters."""
    if k is None and share is None and at_least is None:
        k, share, at_least = own.k, own.share, own.at_least
    least = least_of(share, at_least, own.unit if own.total == "sum" else 1.0)
    return (MOST if k is None else k), least


def by_object(objects: Int64, units: Int64) -> tuple[Int64, Int64]:
    """(int64[m] objects, ascending, int64[m] sums of their units). O(n log n)."""
    order = np.argsort(objects, kind="stable")
    ordered = objects[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])
    return ordered[first], np.add.reduceat(units[order], first) if len(first) else units[:0]


def first_of_each(values: Array) -> Int64:
    """int64[m]: the place of the first of each distinct value, by value, so that pairs in several states count once."""
    return np.unique(values, return_index=True)[1]


def ranking(top: Top) -> Ranking:
    """An answer of a backend as a Ranking."""
    return Ranking(top.objects, top.totals, top.shares, top.low, top.high)
