"""PaneBand: one k-skyband for the whole workload, by panes. The default."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from attrs import define, field
from skyband import sweep
from skyband.arrays import Array, Int64

from skyband_workload import pane_kernel as kernel
from skyband_workload.analyser import MetaQuery
from skyband_workload.extractor import Found
from skyband_workload.ranker import MetaRanker
from skyband_workload.scheduler import Moments
from skyband_workload.table import Rows


@define(eq=False)
class PaneBand(MetaRanker):
    """Keeps what may be among the best K of any view, K being the largest k: the k-skyband in (score, pane).

    A pane is the stretch between two neighbouring view starts: rows of one pane are in the same views. So a row that
    K rows of its own or later panes beat is in no answer to come, and no view has to be looked at when a row
    arrives. Answers are read off two ranked lists, the skyband's and its buffer's, taking what lies in the view.

    A row costs O(n / b) amortised, n objects being kept and b buffered, whatever the number of queries and views;
    an answer of r objects O(r + objects of other views passed over). Retains about K (1 + ln(W / K)) objects for W
    rows in the longest window: some more than the least where k varies.

    >>> import numpy as np
    >>> ranker = PaneBand(queries=[(4, 2, 1), (8, 4, 2)])
    >>> answers = ranker.update(np.arange(9), np.arange(9), np.array([5.0, 3, 4, 1, 2, 6, 0, 7, 8]))
    >>> [(a.at, a.query, a.objects.tolist()) for a in answers]
    [(2, 0, [0]), (4, 0, [0]), (4, 1, [0, 2]), (6, 0, [5]), (8, 0, [7]), (8, 1, [7, 5])]
    """

    name: ClassVar[str] = "paneband"

    _band: Any = field(init=False)
    _pending: Int64 = field(init=False)
    """The buffered objects in order of rank, as far as `_ranked`."""
    _ranked: int = field(init=False)
    _pane: int = field(init=False)
    """The pane of the last row: where the youngest window it is in begins."""

    def _begin(self, meta: MetaQuery) -> None:
        super()._begin(meta)
        self._fill(np.empty(0, sweep.ITEM))

    def _fill(self, items: Array) -> None:
        """Keep what of these items is in the skyband."""
        meta = self._scheduler.meta
        self._band = sweep.new(meta.largest_k, kernel.FLUSH_AT)
        self._pending, self._ranked = np.empty(kernel.FLUSH_AT, np.int64), 0
        if len(items):
            self._band = kernel.filled(self._band, items)
        self._pane = self._scheduler.latest_start(self._last)

    def _execute(self, rows: Rows, moments: Moments) -> Found:
        scheduler, panes = self._scheduler, _NO_PANES
        if len(rows.time):
            if self._seen == 0:
                self._last = int(rows.time[0])
                self._pane = scheduler.latest_start(self._last)
            panes = scheduler.starts(self._last, int(rows.time[-1]))
        before = np.searchsorted(rows.time, moments.at)
        state = np.array([self._pane, 0, self._ranked, scheduler.meta.longest_window])
        self._band, *found = kernel.run(self._band, state, self._pending, panes, rows, before, moments.start, moments.k)
        self._pane, self._ranked = int(state[kernel.PANE]), int(state[kernel.RANKED])
        return Found(*found)

    def _settle(self) -> None:
        """Empty the buffer and let go of what no view needs, so that what is kept does not tell when that was done."""
        if self._seen:
            sweep.advance(self._band, self._scheduler.oldest_start(self._passed))
            self._band = sweep.flush(self._band)
            self._ranked = 0

    def _held(self) -> dict[str, Array]:
        self._settle()
        items = self._band.items[: self._band.counts[sweep.SIZE]]
        return {mine: items[theirs].copy() for mine, theirs in _COLUMNS}

    def _hold(self, held: Mapping[str, Array]) -> None:
        items = np.empty(len(held["score"]), sweep.ITEM)
        for mine, theirs in _COLUMNS:
            items[theirs] = held[mine]
        self._fill(items)

    def _keep(self, held: Mapping[str, Array], origin: Int64) -> Mapping[str, Array]:  # noqa: ARG002
        return held

    def __len__(self) -> int:
        self._settle()
        return int(self._band.counts[sweep.SIZE])

    @property
    def nbytes(self) -> int:
        return sum(column.nbytes for column in (*self._band, self._pending))


_COLUMNS = (("pane", "expiry"), ("object", "tie"), ("score", "score"), ("arrival", "key"))
_NO_PANES = np.empty(0, np.int64)
