"""MinTopK: every query separately, the baseline of the shared backends."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from attrs import define, field
from skyband.arrays import Array, Int64
from skyband.state_validation import StateReader

from skyband_workload.analyser import MetaQuery
from skyband_workload.extractor import Found, interleaved
from skyband_workload.mtoplist import ListExecutor
from skyband_workload.ranker import MetaRanker
from skyband_workload.scheduler import Moments, Scheduler
from skyband_workload.table import Rows, read_rows
from skyband_workload.views import MOST_WINDOWS


@define(eq=False)
class MinTopK(MetaRanker):
    """One ranked list for each query, without sharing: the baseline of the others.

    Each query is answered as `workload-ranker/mtoplist` would answer it alone. Use it for one query, or to see what
    sharing saves.

    Parameters
    ----------
    by : str, default "time"
        whether windows are times or row counts (one of time, rows)
    queries : list of (window, slide, k[, phase])
        the queries, numbered from 0 (windows, slides and k at least 1, phases at least 0)

    Complexity
    ----------
    Each query costs as much as a workload of only that query with `mtoplist`. It retains what each query needs.

    References
    ----------
    Yang, Shastri, Rundensteiner and Ward, An optimal strategy for monitoring top-k queries in streaming windows, EDBT
    2011.

    Examples
    --------
    >>> import skyband
    >>> ranker = skyband.create("workload-ranker", "mintopk", queries=[(4, 2, 1), (8, 4, 2)])
    >>> answers = ranker.update(times=[0, 1, 3, 5, 8], objects=[10, 11, 12, 13, 14], scores=[5.0, 3.0, 1.0, 6.0, 8.0])
    >>> for answer in answers:
    ...     print(answer.at, answer.query, answer.objects.tolist(), answer.scores.tolist())
    2 0 [10] [5.0]
    4 0 [10] [5.0]
    4 1 [10, 11] [5.0, 3.0]
    6 0 [13] [6.0]
    8 0 [13] [6.0]
    8 1 [13, 10] [6.0, 5.0]
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
        sizes = np.array([len(own.time) for own in rows], np.int64)
        columns = {name: np.concatenate([getattr(own, name) for own in rows]) for name in Rows._fields}
        return {"sizes": sizes, **columns}

    def _read_held(self, state: StateReader) -> dict[str, Array]:
        sizes = state.sizes("sizes", len(self._executors), len(state.column("time", np.int64)))
        return {"sizes": sizes, **read_rows(state, self._seen, self._last, np.cumsum(sizes))}

    def _hold(self, arrays: Mapping[str, Array]) -> None:
        ends = np.cumsum(arrays["sizes"])
        for executor, size, end in zip(self._executors, arrays["sizes"], ends, strict=True):
            part = slice(end - size, end)
            executor.load(Rows(*(arrays[name][part] for name in Rows._fields)), self._passed, self._last)

    def _keep(self, arrays: Mapping[str, Array], origin: Int64) -> Mapping[str, Array]:
        ends = np.cumsum(arrays["sizes"])
        sizes = np.where(origin >= 0, arrays["sizes"][origin], 0)
        rows = [np.arange(ends[query] - size, ends[query]) for query, size in zip(origin, sizes, strict=True)]
        places = np.concatenate(rows)
        return {"sizes": sizes, **{name: arrays[name][places] for name in Rows._fields}}

    def __len__(self) -> int:
        return sum(map(len, self._executors))

    @property
    def nbytes(self) -> int:
        return sum(executor.nbytes for executor in self._executors)
