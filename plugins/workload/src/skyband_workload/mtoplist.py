"""MTopList: one ranked list for all views."""

from collections.abc import Mapping
from typing import ClassVar

from attrs import define, field
from skyband.arrays import Array, Int64

from skyband_workload import toplist_kernel as kernel
from skyband_workload.analyser import MetaQuery
from skyband_workload.executor import ViewExecutor
from skyband_workload.extractor import Found
from skyband_workload.ranker import MetaRanker
from skyband_workload.scheduler import Moments, Scheduler
from skyband_workload.table import Rows, empty_table, table_of


class ListExecutor(ViewExecutor):
    """One score-ordered list of objects with the number of views that hold each; per view its last object."""

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__(scheduler, empty_table(64))

    def _run(self, rows: Rows, moments: Moments, view: Int64, cursor: Int64) -> Found:
        return Found(*kernel.run(self.table, self.views, rows, moments.at, view, moments.k, cursor))

    def load(self, rows: Rows, passed: int, last: int) -> None:
        """Hold those of `rows`, best first, that some view needs."""
        self._load_plan(passed, last)
        self.table = table_of(rows)
        kernel.fill(self.table, self.views, self._created, passed)


@define(eq=False)
class MTopList(MetaRanker):
    """Retains exactly the union of the views' tops, each object once.

    A row costs one comparison per view, O(v), and where it enters some, O(n) moves of memory in the list of n
    retained objects. An answer of r objects costs O(r + objects of other views passed over).

    Source: Shastri, MTopS (WPI, 2011), chapter 6. Its figures 6.3 and 6.4 are wrong where windows or k differ;
    here every view has its own K(s) and last object, which moves up past objects outside the view, and an object
    goes when no view holds it.

    >>> import numpy as np
    >>> ranker = MTopList(queries=[(4, 2, 1), (8, 4, 2)])
    >>> answers = ranker.update(np.arange(9), np.arange(9), np.array([5.0, 3, 4, 1, 2, 6, 0, 7, 8]))
    >>> [(a.at, a.query, a.objects.tolist()) for a in answers]
    [(2, 0, [0]), (4, 0, [0]), (4, 1, [0, 2]), (6, 0, [5]), (8, 0, [7]), (8, 1, [7, 5])]
    """

    name: ClassVar[str] = "mtoplist"
    minimal: ClassVar[bool] = True

    _executor: ListExecutor = field(init=False)

    def _begin(self, meta: MetaQuery) -> None:
        super()._begin(meta)
        self._executor = ListExecutor(self._scheduler)

    def _execute(self, rows: Rows, moments: Moments) -> Found:
        return self._executor.execute(rows, moments, self._passed)

    def _held(self) -> dict[str, Array]:
        return self._executor.rows()._asdict()

    def _hold(self, held: Mapping[str, Array]) -> None:
        self._executor.load(Rows(*(held[name] for name in Rows._fields)), self._passed, self._last)

    def _keep(self, held: Mapping[str, Array], origin: Int64) -> Mapping[str, Array]:  # noqa: ARG002
        return held

    def __len__(self) -> int:
        return len(self._executor)

    @property
    def nbytes(self) -> int:
        return self._executor.nbytes
