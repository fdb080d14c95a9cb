"""Executes a meta query by views: plans them and runs a kernel over rows and moments (thesis, chapter 3)."""

from abc import ABC, abstractmethod

import numpy as np
from skyband.arrays import Int64

from skyband_workload.extractor import Found, joined
from skyband_workload.scheduler import NEVER, Moments, Plan, Scheduler
from skyband_workload.table import Rows, Table, grown, rows_of
from skyband_workload.toplist_kernel import CREATED, MOMENT, ROW
from skyband_workload.views import carry_over, planned

AHEAD = 8
"""Views are planned ahead by this part of the longest window, so that a plan serves many small batches."""


class ViewExecutor(ABC):
    """Maintains the top K(s) of every view; `table` and `views` are its entire state."""

    def __init__(self, scheduler: Scheduler, table: Table) -> None:
        self.scheduler = scheduler
        self.table = table
        self.views = planned(scheduler.plan(NEVER, NEVER))
        self._created = 0
        self._horizon: int | None = None

    def execute(self, rows: Rows, moments: Moments, passed: int) -> Found:
        """Add rows and answer moments in order of time; the moments up to `passed` have been answered."""
        if len(rows.time) and (self._horizon is None or rows.time[-1] > self._horizon):
            self._replan(passed, int(rows.time[-1]))
        view = self._views_of(moments.start)
        cursor = np.array([0, 0, self._created, 0])
        parts = [self._run(rows, moments, view, cursor)]
        while cursor[ROW] < len(rows.time) or cursor[MOMENT] < len(moments.at):
            self._grow(cursor)
            parts.append(self._run(rows, moments, view, cursor))
        self._created = int(cursor[CREATED])
        return joined(parts)

    @abstractmethod
    def _run(self, rows: Rows, moments: Moments, view: Int64, cursor: Int64) -> Found:
        """Run the kernel from `cursor` on."""

    @abstractmethod
    def load(self, rows: Rows, passed: int, last: int) -> None:
        """Load those of `rows`, best first, that some view needs."""

    def _grow(self, cursor: Int64) -> None:  # noqa: ARG002
        """Make room for the row at which the kernel stopped."""
        self.table = grown(self.table)

    def rows(self) -> Rows:
        """The retained objects, best first."""
        return rows_of(self.table)

    def __len__(self) -> int:
        return len(self.table.time) - int(self.table.sizes[1])

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays, including spare room."""
        return sum(column.nbytes for column in (*self.table, *self.views))

    def _replan(self, passed: int, last: int) -> None:
        self._horizon = min(last + self.scheduler.meta.longest_window // AHEAD, NEVER)
        views = planned(self.scheduler.plan(passed, self._horizon))
        carry_over(self.views, self._created, views)
        alive = self.views.start[: self._created][self.views.k[: self._created] > 0]
        self.views, self._created = views, len(alive)

    def _load_plan(self, passed: int, last: int) -> None:
        """Plan the views that rows up to `last` have created, for a kernel to fill."""
        plan: Plan = self.scheduler.plan(passed, last)
        self.views, self._created, self._horizon = planned(plan), len(plan.start), last

    def _views_of(self, starts: Int64) -> Int64:
        """The view of each start, or −1."""
        planned_starts = self.views.start
        if not len(planned_starts):
            return np.full(len(starts), -1)
        place = np.minimum(np.searchsorted(planned_starts, starts), len(planned_starts) - 1)
        return np.where(planned_starts[place] == starts, place, -1)
