"""Tens of thousands of rows, beyond all sizes at which a key-total may change its method."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from functools import cache
from typing import Any

import numpy as np
from attrs import frozen
from skyband_specs.driver import Trial

from skyband_detect.conformance.plain_data import at
from skyband_detect.conformance.trials import FlatRows, zipf_rows
from skyband_detect.totals.conformance.oracle import KeyTotalOracle
from skyband_detect.totals.conformance.plain_data import asks_of, push, values_for

PROBES = 6


@frozen(eq=False)
class KeyTotalTrial(Trial):
    """What some keys reach at the next moment."""

    def feed(self, backend: Any, start: int, stop: int) -> None:
        """A single update, with bounds."""
        rows = self.stream
        push(backend, rows.times[start:stop], rows.keys[start:stop], rows.values[start:stop])

    def answers(self, backend: Any, stop: int) -> Any:
        """The answers of the backend."""
        time, rows = self._probe(stop)
        return push(deepcopy(backend), *at(time, rows))

    def by_definition(self, stop: int) -> Any:
        """The expected answers by definition, from the rows of these keys in the longest window."""
        time, rows = self._probe(stop)
        of: FlatRows = self.stream
        measure = self.parameters["measure"]
        recent = of.times[:stop] >= time - self.parameters["longest"]
        inside = np.flatnonzero(recent & np.isin(of.keys[:stop], [key for key, _ in rows]))
        oracle = KeyTotalOracle(measure, self.parameters.get("limit", 0.0))
        columns = (of.times[inside], of.keys[inside], values_for(measure, of.values[inside]))
        oracle.rows = list(zip(*(column.tolist() for column in columns), strict=True))
        _, keys, values = at(time, rows)
        new = [(time, *row) for row in zip(keys.tolist(), values_for(measure, values).tolist(), strict=True)]
        return oracle.update(new, asks_of(self.parameters))

    def _probe(self, stop: int) -> tuple[int, list[tuple[int, int]]]:
        """The next moment, with the keys of some of the last rows, which may be new to it, and a new key."""
        rows = self.stream
        some = range(max(stop - 40 * PROBES, 0), stop, 40)
        return int(rows.times[stop - 1]) + 1, [(int(rows.keys[row]), 7) for row in some] + [(1 << 63, 7)]


@cache
def trials(long: bool) -> Sequence[KeyTotalTrial]:
    """Many values of a key, and many keys."""
    return list(_trials(4 if long else 1))


def _trials(more: int) -> Iterator[KeyTotalTrial]:
    yield KeyTotalTrial("many values", {"measure": "sum", "longest": 20_000}, zipf_rows(1, 30_000 * more, 60, 4_000))
    yield KeyTotalTrial("many keys", {"measure": "mean", "longest": 9_000}, zipf_rows(2, 40_000 * more, 20_000, 90))
    quantile = {"measure": "quantile", "longest": 15_000, "limit": 2.5}
    yield KeyTotalTrial("many values of a quantile", quantile, zipf_rows(3, 20_000 * more, 20, 4_000))
