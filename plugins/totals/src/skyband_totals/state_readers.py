"""What the readers of this distribution's states share: parameters, the clock, and how rows are tallied by object."""

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
"""Objects of an answer that nothing limits."""


def parameters_of(cls: type[P], held: Mapping[str, Any]) -> P:
    """The parameters in a state's header. Raises ConfigError where they are no ones; the same ones are looked up."""
    known: Any = _built
    found: P = known(cls, snapshot.text(dict(held)))
    return found


@lru_cache(maxsize=64)
def _built(cls: Any, text: str) -> Any:
    return build(cls, json.loads(text))


class RankerClock:
    """When the ranker was, and what it has forgotten."""

    def __init__(self, read: StateReader, longest: int, rows: bool) -> None:
        clock = read.column("clock", np.int64).tolist()
        late = len(clock) == 2 and clock[1] > clock[0] - rows
        read.require(len(clock) <= 2 and not late, "clock", f"is {clock}, which no ranker stands at")
        self.latest = clock[1] if len(clock) > 1 else None
        self.floor = max(clock[0] - longest, TIME_MIN) if clock else TIME_MIN


class ClockedReader(TopReader):
    """A reader that finds its times in the ranker's clock."""

    _clock: RankerClock

    @property
    def latest(self) -> int | None:
        return self._clock.latest

    @property
    def floor(self) -> int:
        return self._clock.floor


def limits_of(given: RankerParameters, k: int | None, share: float | None, at_least: float | None) -> tuple[int, Least]:
    """How many objects an answer has, and how large: as asked, or as the ranker's parameters say."""
    if k is None and share is None and at_least is None:
        k, share, at_least = given.k, given.share, given.at_least
    least = least_of(share, at_least, given.unit if given.total == "sum" else 1.0)
    return (MOST if k is None else k), least


def by_object(objects: Int64, units: Int64) -> tuple[Int64, Int64]:
    """(int64[m] objects, ascending, int64[m] sum of their units). O(n log n)."""
    order = np.argsort(objects, kind="stable")
    ordered = objects[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])
    return ordered[first], np.add.reduceat(units[order], first) if len(first) else units[:0]


def first_of_each(values: Array) -> Int64:
    """int64[m], the place of the first of each different value, by value: pairs of several states count once."""
    return np.unique(values, return_index=True)[1]


def ranking(top: Top) -> Ranking:
    """An answer as core knows it."""
    return Ranking(top.objects, top.totals, top.shares, top.low, top.high)
