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
    """A list of objects ordered by score, with the number of views that hold each; and each view's last object."""

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
    """One ranked list for all views, in which each view marks its last object: retains the fewest objects.

    A view is a window of a query, [T − window, T) for a moment T at which the query answers. An object is retained
    while some view has it in its answer so far. Figures 6.3 and 6.4 of the source are wrong if windows or k differ.
    Here every view has its own number of objects and its own last object, which moves up past objects outside of the
    view.

    Parameters
    ----------
    by : str, default "time"
        whether windows are times or row counts (one of time, rows)
    queries : list of (window, slide, k[, phase])
        the queries, numbered from 0 (windows, slides and k at least 1, phases at least 0)

    Complexity
    ----------
    A row costs one comparison for each open view, O(v), and if it enters any, O(n) memory moves in the list of n
    retained objects. An answer of r objects costs O(r + objects of other views that are skipped).

    References
    ----------
    Shastri, MTopS: multi-query optimization for continuous top-k query workloads, WPI 2011, chapter 6.

    Examples
    --------
    >>> import skyband
    >>> ranker = skyband.create("workload-ranker", "mtoplist", queries=[(4, 2, 1), (8, 4, 2)])
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

    name: ClassVar[str] = "mtoplist"

    def _executor_for(self, scheduler: Scheduler) -> ListExecutor:
        return ListExecutor(scheduler)
