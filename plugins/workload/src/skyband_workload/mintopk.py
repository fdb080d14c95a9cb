"""MinTopK: every query alone, the baseline the shared backends are measured against."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from attrs import define, field
from skyband.arrays import Array, Int64
from skyband.state_reader import StateReader

from skyband_workload.analyser import MetaQuery
from skyband_workload.extractor import Found, interleaved
from skyband_workload.mtoplist import ListExecutor
from skyband_workload.ranker import MetaRanker
from skyband_workload.scheduler import Moments, Scheduler
from skyband_workload.table import Rows, read_rows
from skyband_workload.views import MOST_WINDOWS


@define(eq=False)
class MinTopK(MetaRanker):
    """One list per query, sharing nothing: retains the sum of what each query needs.

    Complexity: each query costs what a workload of that query alone costs `mtoplist`.

    Source: Yang, Shastri, Rundensteiner, Ward, An Optimal Strategy for Monitoring Top-k Queries in Streaming
    Windows (EDBT, 2011).
    """

    name: ClassVar[str] = "mintopk"
    most_windows: ClassVar[int | None] = MOST_WINDOWS

    _executors: list[ListExecutor] = field(init=False)

    def _begin(self, meta: MetaQuery) -> None:
        super()._begin(meta)
        self._executors = [ListExecutor(Scheduler(meta.alone(query))) for query in range(len(meta))]

    def _execute(self, rows: Rows, moments: Moments) -> Found:
        order = np.argsort(moments.query, kind="stable")
        cuts = np.searchsorted(moments.query[order], np.arange(len(self._executors) + 1))
        places = [order[cuts[query] : cuts[query + 1]] for query in range(len(self._executors))]
        parts = [
            executor.execute(rows, Moments(*(column[place] for column in moments)), self._passed)
            for executor, place in zip(self._executors, places, strict=True)
        ]
        return interleaved(parts, places)

    def _held(self) -> dict[str, Array]:
        rows = [executor.rows() for executor in self._executors]
        sizes = np.array([len(one.time) for one in rows], np.int64)
        columns = {name: np.concatenate([getattr(one, name) for one in rows]) for name in Rows._fields}
        return {"sizes": sizes, **columns}

    def _read_held(self, state: StateReader) -> dict[str, Array]:
        sizes = state.sizes("sizes", len(self._executors), len(state.column("time", np.int64)))
        return {"sizes": sizes, **read_rows(state, self._seen, self._last, np.cumsum(sizes))}

    def _hold(self, held: Mapping[str, Array]) -> None:
        ends = np.cumsum(held["sizes"])
        for executor, size, end in zip(self._executors, held["sizes"], ends, strict=True):
            mine = slice(end - size, end)
            executor.load(Rows(*(held[name][mine] for name in Rows._fields)), self._passed, self._last)

    def _keep(self, held: Mapping[str, Array], origin: Int64) -> Mapping[str, Array]:
        ends = np.cumsum(held["sizes"])
        sizes = np.where(origin >= 0, held["sizes"][origin], 0)
        rows = [np.arange(ends[query] - size, ends[query]) for query, size in zip(origin, sizes, strict=True)]
        chosen = np.concatenate(rows)
        return {"sizes": sizes, **{name: held[name][chosen] for name in Rows._fields}}

    def __len__(self) -> int:
        return sum(map(len, self._executors))

    @property
    def nbytes(self) -> int:
        return sum(executor.nbytes for executor in self._executors)
