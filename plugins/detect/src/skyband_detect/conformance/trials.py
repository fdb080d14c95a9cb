"""Tens of thousands of rows, beyond all sizes at which a counter may change its method."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from functools import cache
from typing import Any

import numpy as np
from attrs import frozen
from skyband.arrays import Int64, UInt64
from skyband_specs.driver import Trial

from skyband_detect.conformance.oracle import KeyCounterOracle
from skyband_detect.conformance.plain_data import asks_of, at, push

PROBES = 6


@frozen
class FlatRows:
    """Rows at different times, ascending."""

    times: Int64
    keys: UInt64
    values: UInt64

    def __len__(self) -> int:
        return len(self.times)


@frozen(eq=False)
class KeyCounterTrial(Trial):
    """Crossings of some keys at the next moment."""

    def feed(self, backend: Any, start: int, stop: int) -> None:
        """A single update, with bounds."""
        rows = self.stream
        push(backend, rows.times[start:stop], rows.keys[start:stop], rows.values[start:stop])

    def answers(self, backend: Any, stop: int) -> Any:
        """The answers of the counter."""
        time, rows = self._probe(stop)
        return push(deepcopy(backend), *at(time, rows))

    def by_definition(self, stop: int) -> Any:
        """The expected answers by definition, from the rows of these keys in the longest window."""
        time, rows = self._probe(stop)
        of = self.stream
        recent = of.times[:stop] >= time - self.parameters["longest"]
        inside = np.flatnonzero(recent & np.isin(of.keys[:stop], [key for key, _ in rows]))
        oracle = KeyCounterOracle(self.parameters["measure"])
        oracle.rows = list(zip(*(column[inside].tolist() for column in (of.times, of.keys, of.values)), strict=True))
        return oracle.update([(time, *row) for row in rows], asks_of(self.parameters))

    def _probe(self, stop: int) -> tuple[int, list[tuple[int, int]]]:
        """The next moment, with the keys of some of the last rows, which may be new to it, and a new key."""
        rows = self.stream
        some = range(max(stop - 40 * PROBES, 0), stop, 40)
        return int(rows.times[stop - 1]) + 1, [(int(rows.keys[row]), 7) for row in some] + [(1 << 63, 7)]


@cache
def trials(long: bool) -> Sequence[KeyCounterTrial]:
    """Large bounds and small ones, few keys and many."""
    return list(_trials(4 if long else 1))


def _trials(more: int) -> Iterator[KeyCounterTrial]:
    rows = {"measure": "rows", "longest": 20_000}
    yield KeyCounterTrial("large bounds", {**rows, "most": 700}, zipf_rows(1, 30_000 * more, 60, 10))
    yield KeyCounterTrial("many keys", {**rows, "most": 4}, zipf_rows(2, 40_000 * more, 20_000, 10))
    distinct = {"measure": "distinct", "longest": 15_000}
    yield KeyCounterTrial("many values", {**distinct, "most": 300}, zipf_rows(3, 20_000 * more, 20, 4_000))
    yield KeyCounterTrial(
        "keys that are seen", {"measure": "unseen", "longest": 9_000}, zipf_rows(4, 30_000 * more, 9_000, 2)
    )


def zipf_rows(seed: int, rows: int, keys: int, values: int) -> FlatRows:
    """Rows of keys of uneven sizes, at times one or two apart."""
    rng = np.random.default_rng([43, seed])
    of = (rng.zipf(1.2, rows) % keys).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return FlatRows(np.cumsum(rng.integers(1, 3, rows)), of, rng.integers(0, values, rows).astype(np.uint64))
