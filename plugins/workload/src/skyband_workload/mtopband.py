"""MTopBand: a separate ranked list for every view."""

from typing import ClassVar

from attrs import define
from skyband.arrays import Int64

from skyband_workload import topband_kernel as kernel
from skyband_workload.executor import ViewExecutor
from skyband_workload.extractor import Found
from skyband_workload.scheduler import Moments, Scheduler
from skyband_workload.table import Rows, empty_table, table_of
from skyband_workload.view_ranker import ViewRanker

_FIRST_LISTS, _FIRST_LENGTH = 16, 16


class BandExecutor(ViewExecutor):
    """The lists of the views, and the table of the objects in them."""

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__(scheduler, empty_table(64))
        self._largest_k = scheduler.meta.largest_k
        self._bands = kernel.empty_bands(_FIRST_LISTS, min(_FIRST_LENGTH, self._largest_k))

    def _run(self, rows: Rows, moments: Moments, view: Int64, cursor: Int64) -> Found:
        result = kernel.run(
            self.table, self._bands, self.views, rows, moments.at, view, moments.k, cursor, self._largest_k
        )
        return Found(*result)

    def _grow(self, cursor: Int64) -> None:
        lists, length = self._bands.lists.shape
        lacks = cursor[kernel.LACKS]
        if lacks == kernel.SLOTS:
            super()._grow(cursor)
        elif lacks == kernel.LENGTH:
            self._bands = kernel.grown_bands(self._bands, lists, min(2 * length, self._largest_k))
        else:
            self._bands = kernel.grown_bands(self._bands, 2 * lists, length)

    def load(self, rows: Rows, passed: int, last: int) -> None:
        self._load_plan(passed, last)
        self.table = table_of(rows)
        length = max(1, min(len(rows.time), self._largest_k))
        self._bands = kernel.empty_bands(max(_FIRST_LISTS, 2 * len(self.views.start)), length)
        kernel.fill(self.table, self._bands, self.views, self._created, passed)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays, including spare room."""
        return super().nbytes + sum(column.nbytes for column in self._bands)


@define(eq=False)
class MTopBand(ViewRanker):
    """A separate ranked list for every view; an object that several views need is kept once.

    A view is a window of a query, [T − window, T) for a moment T at which the query answers. Each view keeps the
    objects that may be in its answer, as references to a common table of all kept objects.

    Parameters
    ----------
    by : str, default "time"
        whether windows are times or row counts (one of time, rows)
    queries : list of (window, slide, k[, phase])
        the queries, numbered from 0 (windows, slides and k at least 1, phases at least 0)

    Complexity
    ----------
    A row costs one comparison for each open view, O(v), and O(k) memory moves for each view that it enters. An answer
    of r objects costs O(r). The objects of all lists are retained, with a reference for each view that holds them.

    References
    ----------
    Shastri, MTopS: multi-query optimization for continuous top-k query workloads, WPI 2011, chapter 5. The number of
    objects that a view needs falls as its outputs pass, which theorem 5.1.1 assumes.

    Examples
    --------
    >>> import skyband
    >>> ranker = skyband.create("workload-ranker", "mtopband", queries=[(4, 2, 1), (8, 4, 2)])
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

    name: ClassVar[str] = "mtopband"

    def _executor_for(self, scheduler: Scheduler) -> BandExecutor:
        return BandExecutor(scheduler)
