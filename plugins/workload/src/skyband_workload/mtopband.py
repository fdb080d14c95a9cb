"""MTopBand: a ranked list of its own for every view."""

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
    """The views' lists, and the table of the objects in them."""

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__(scheduler, empty_table(64))
        self._largest_k = scheduler.meta.largest_k
        self._bands = kernel.empty_bands(_FIRST_LISTS, min(_FIRST_LENGTH, self._largest_k))

    def _run(self, rows: Rows, moments: Moments, view: Int64, cursor: Int64) -> Found:
        found = kernel.run(
            self.table, self._bands, self.views, rows, moments.at, view, moments.k, cursor, self._largest_k
        )
        return Found(*found)

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
        """Bytes of all arrays, slack included."""
        return super().nbytes + sum(column.nbytes for column in self._bands)


@define(eq=False)
class MTopBand(ViewRanker):
    """Retains the union of the views' tops, with one reference a view that holds an object.

    A row costs one comparison per view, O(v), and O(k) moves of memory for each view it enters; an answer of r
    objects costs O(r).

    Source: Shastri, MTopS (WPI, 2011), chapter 5, with K(s) falling as a view's outputs pass, which its theorem
    5.1.1 takes for granted.
    """

    name: ClassVar[str] = "mtopband"

    def _executor_for(self, scheduler: Scheduler) -> BandExecutor:
        return BandExecutor(scheduler)
