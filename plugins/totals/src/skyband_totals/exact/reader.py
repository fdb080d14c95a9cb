"""Reads states of total-ranker/exact in place: what each pane adds to each object, by pane."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from skyband.arrays import Array, Int64
from skyband.errors import InputError
from skyband.state_validation import StateReader

from skyband_totals.fixed_point import fit_together, worth
from skyband_totals.ranker_parameters import RankerParameters, pane_of
from skyband_totals.shares import least_units
from skyband_totals.state_readers import ClockedReader, RankerClock, by_object, first_of_each, limits_of, parameters_of
from skyband_totals.top_reader import Ranking


class ExactReader(ClockedReader):
    """O(entries) a state, O(n log n) an answer over n entries."""

    finer: ClassVar[str] = "total-ranker/k-skb"

    def __init__(self, parameters: Mapping[str, Any], state: Mapping[str, Array]) -> None:
        self._parameters = ranker = parameters_of(RankerParameters, parameters)
        self._pane = pane_of(ranker.windows, ranker.every)
        reader = StateReader(state)
        self._clock = RankerClock(reader, max(ranker.windows), ranker.by == "rows")
        self._distinct = ranker.total == "distinct"
        self._panes = reader.ascending("panes")
        self._objects = reader.column("objects", np.int64, len(self._panes))
        if self._distinct:
            self._amounts = reader.column("hashes", np.int64, len(self._panes))
        else:
            self._amounts = reader.column("units", np.int64, len(self._panes), at_least=1)
            reader.require(fit_together(self._amounts), "units", "must be units whose sum fits 64 bits")
        if len(self._panes):
            latest = self._clock.latest
            reader.require(latest is not None, "panes", "must be empty before the first row")
            first, last = -(-self._clock.floor // self._pane), (latest or 0) // self._pane
            within = first <= int(self._panes[0]) and int(self._panes[-1]) <= last
            reader.require(within, "panes", f"must be from {first} to {last}")

    @property
    def retained(self) -> int:
        return len(self._panes)

    @property
    def grain(self) -> int:
        return self._pane

    @classmethod
    def top(
        cls,
        readers: Sequence[Self],
        since: Sequence[int],
        k: int | None,
        share: float | None,
        at_least: float | None = None,
    ) -> Ranking:
        first = readers[0]
        parts = [reader._since(moment) for reader, moment in zip(readers, since, strict=True)]
        objects, amounts = (np.concatenate(column) for column in zip(*parts, strict=True))
        if first._distinct:
            if len(readers) > 1:
                objects = objects[first_of_each(amounts)]
            amounts = np.ones(len(objects), np.int64)
        elif not fit_together(amounts):
            raise InputError(
                "states", "have a total that exceeds 64 bits together: query fewer, or use a larger `unit`"
            )
        keys, totals = by_object(objects, amounts)
        most, least = limits_of(first._parameters, k, share, at_least)
        grand = int(totals.sum())
        order = np.lexsort((keys, -totals))[:most]
        order = order[totals[order] >= least_units(least, grand)]
        unit = first._parameters.unit if first._parameters.total == "sum" else 1.0
        ranked = worth(totals[order], unit)
        return Ranking(keys[order], ranked, ranked / worth(grand, unit) if grand else ranked, ranked, ranked)

    def _since(self, since: int) -> tuple[Int64, Int64]:
        start = int(np.searchsorted(self._panes, since // self._pane))
        return self._objects[start:], self._amounts[start:]
