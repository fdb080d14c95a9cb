"""Trials with thousands of objects and large answers, over streams of tens of thousands of rows."""

from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
from attrs import evolve, frozen
from skyband_specs.driver import Case, Trial

from skyband_totals.conformance.oracle import TotalOracle
from skyband_totals.conformance.plain_data import columns, exactly, plain, rows_of
from skyband_totals.conformance.streams import TotalStream, zipf
from skyband_totals.ranker_parameters import TOTALS


@frozen(eq=False)
class TotalTrial(Trial):
    """The top of every window, and since a moment inside the longest."""

    def feed(self, backend: Any, start: int, stop: int) -> None:
        """One update."""
        times, objects, weights, values = columns(backend, self.stream, start, stop)
        backend.update(times, objects, weights=weights, values=values)

    def answers(self, backend: Any, stop: int) -> Any:
        """The answers of a copy."""
        later, moment = deepcopy(backend), self._moment(stop)
        later.advance(moment)
        tops = [later.top(place) for place in range(len(later.windows))]
        return [plain(top) for top in (*tops, later.since(self._since(moment)))]

    def by_definition(self, stop: int) -> Any:
        """The same, by definition."""
        oracle = TotalOracle(self.parameters, rows_of(SimpleNamespace(**self.parameters), self.stream, stop))
        moment = self._moment(stop)
        starts = [*(moment - window for window in self.parameters["windows"]), self._since(moment)]
        return [exactly(oracle.answer(start, moment)) for start in starts]

    def _moment(self, stop: int) -> int:
        """The next multiple of `every` after all rows so far."""
        every = int(self.parameters["every"])
        last = stop - 1 if self.parameters["by"] == "rows" else int(self.stream.times[stop - 1])
        return (last // every + 1) * every

    def _since(self, moment: int) -> int:
        every = int(self.parameters["every"])
        return moment - max(self.parameters["windows"]) // 2 // every * every


def trials(case: Case) -> Iterator[TotalTrial]:
    """Trials of all kinds of total of the backend."""
    totals = getattr(case.factory, "totals", TOTALS)
    return (trial for trial in _trials(4 if case.long else 1) if trial.parameters["total"] in totals)


@cache
def _trials(more: int) -> list[TotalTrial]:
    def trial(label: str, stream: TotalStream, **parameters: Any) -> TotalTrial:
        return TotalTrial(
            label, {"by": "time", "unit": 1.0, "share": None, "k": None, "at_least": None, **parameters}, stream
        )

    rng = np.random.default_rng([51])
    many, long = zipf(51, 40_000 * more, 20_000, 1.0), zipf(52, 90_000 * more, 300, 0.7)
    heavy = _renamed(zipf(53, 20_000 * more, 4000, 0.5))
    heavy = evolve(heavy, weights=rng.integers(0, 2**40, len(heavy)).astype(np.float64) / 4)
    pairs = zipf(54, 25_000 * more, 3000, 1.0)
    pairs = evolve(_renamed(pairs), values=rng.integers(0, 60, len(pairs)).astype(np.uint64) << np.uint64(33))
    return [
        trial("many objects", many, windows=(3000, 1000), every=100, k=400, total="rows"),
        trial("large weights", heavy, windows=(1500,), every=500, k=2000, total="sum", unit=0.25),
        trial("many pairs", pairs, windows=(2000, 500), every=250, k=1000, total="distinct"),
        trial("many objects of enough", many, windows=(3000, 1000), every=100, at_least=4, total="rows"),
        trial("enough and most", heavy, windows=(1500,), every=500, at_least=2.5e11, k=50, total="sum", unit=0.25),
        trial("many pairs of enough", pairs, windows=(2000, 500), every=250, at_least=3, total="distinct"),
        trial("for long", long, windows=(5000,), every=1000, share=0.004, total="rows", by="rows"),
    ]


def _renamed(stream: TotalStream) -> TotalStream:
    """Objects with equal low halves, equal high halves, or negative."""
    numbers = stream.objects
    return evolve(stream, objects=np.choose(numbers % 3, [numbers << 32, -numbers, numbers + (5 << 33)]))
