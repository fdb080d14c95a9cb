"""MTopList: one ranked list for all views."""

from typing import ClassVar

from attrs import define
from skyband.arrays import Int64

from skyband_workload import toplist_kernel as kernel
from skyband_workload.executor import ViewExecutor
from skyband_workload.extractor import Found
from skyband_workload.scheduler import Moments, Scheduler
from skyband_workload.table import Rows, empty_table, table_of
from skyband_workload.view_ranker import ViewRanker


class ListExecutor(ViewExecutor):
    """One score-ordered list of objects with the number of views that hold each; per view its last object."""

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__(scheduler, empty_table(64))

    def _run(self, rows: Rows, moments: Moments, view: Int64, cursor: Int64) -> Found:
        return Found(*kernel.run(self.table, self.views, rows, moments.at, view, moments.k, cursor))

    def load(self, rows: Rows, passed: int, last: int) -> None:
        self._load_plan(passed, last)
        self.table = table_of(rows)
        kernel.fill(self.table, self.views, self._created, passed)


@define(eq=False)
class MTopList(ViewRanker):
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

    def _executor_for(self, scheduler: Scheduler) -> ListExecutor:
        return ListExecutor(scheduler)
