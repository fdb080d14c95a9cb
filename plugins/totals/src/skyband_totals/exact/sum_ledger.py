"""The exact totals by rows and by weight: the sum of every object in every pane."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from skyband.arrays import Array, Int64, read_only

from skyband_totals import slots
from skyband_totals.exact import candidates as bars
from skyband_totals.exact import sum_kernels as kernel
from skyband_totals.exact import written_answers as answers
from skyband_totals.exact.bar import FIRST, GRAND, SIZE
from skyband_totals.exact.ledger import ALL, NONE, RawAnswers, windows_of
from skyband_totals.exact.pane_log import HEAD, NEXT, TAIL, larger_ring, more_panes, ring_size
from skyband_totals.exact.sum_steps import DONE, LENGTH, LOG, LONGEST, NEAR, TABLE, TOUCHED, WRITTEN, K
from skyband_totals.shares import Least
from skyband_totals.slots import CURRENT

_NO_ROWS = read_only(np.empty(0, np.int64))


class SumLedger:
    """The totals of objects over windows in panes; a pane is `length` long."""

    def __init__(self, windows: list[int], length: int, k: int, least: Least) -> None:
        self._ledger = kernel.new(windows, length, k, least.units)
        self._least = least
        self._room = 64  # objects that the answers of a call have room for: as many as the largest call had

    def run(self, times: Int64, objects: Int64, amounts: Any, moments: Int64, only: int = ALL) -> RawAnswers:
        """Add rows and answer at the moments in between, for all windows or only one."""
        rows = read_only(times), read_only(objects), _NO_ROWS if amounts is None else read_only(amounts)
        windows = windows_of(only, len(self._ledger.spans))
        count = len(moments) * (windows[1] - windows[0])
        tops = answers.room_for(count, min(self._room, count * int(self._ledger.counts[K])))
        return answers.cut(self._run(tops, rows, read_only(moments), windows))

    @classmethod
    def run_together(
        cls, ledgers: Sequence[Any], times: Int64, objects: Int64, amounts: Any, spans: Int64,
        moments: Sequence[Int64],
    ) -> RawAnswers:  # fmt: skip
        """Like `run` of several ledgers for all windows; ledger i has the rows from spans[i, 0] up to spans[i, 1]."""
        columns = read_only(times), read_only(objects), _NO_ROWS if amounts is None else read_only(amounts)
        windows, k = windows_of(ALL, len(ledgers[0]._ledger.spans)), int(ledgers[0]._ledger.counts[K])
        counts = [len(own) * windows[1] for own in moments]
        rooms = (min(ledger._room, count * k) for ledger, count in zip(ledgers, counts, strict=True))
        tops = answers.room_for(sum(counts), sum(rooms))
        marks = {id(own): read_only(own) for own in moments}
        for ledger, (start, stop), own in zip(ledgers, spans.tolist(), moments, strict=True):
            rows = [column[start:stop] for column in columns]
            tops = ledger._run(tops, rows, marks[id(own)], windows)
        return answers.cut(tops)

    def _run(self, tops: Any, rows: Any, moments: Int64, windows: tuple[int, int]) -> Any:
        """Add rows, and return the answers so far and those at these moments. All arrays are read-only views."""
        begin, end = windows
        cursor = np.array([0, 0, begin], np.int64)
        table, touched = self._ledger.hot, self._ledger.touched
        while True:
            lacking, room = kernel.run(
                self._ledger, table, touched, tops, *rows, moments, begin, end, self._least, cursor
            )
            if table is not self._ledger.hot:
                self._ledger = self._ledger._replace(hot=table, touched=touched)
            if lacking == DONE:
                return tops
            if lacking == TABLE:
                table, touched = slots.new(room, table.shape[1]), kernel.new_touched(room)
            elif lacking == WRITTEN:
                tops = answers.with_room(tops, room)
                self._room = len(tops.totals)
            else:
                self._make_room(lacking, room)

    def _make_room(self, lacking: int, room: int) -> None:
        """Enlarge what has no room for a pane to end, or for `room` candidates or objects of the stock."""
        ledger = self._ledger
        counts, candidates = ledger.counts, ledger.candidates
        if lacking != LOG:
            larger = bars.with_room if lacking == NEAR else bars.with_stock
            self._ledger = ledger._replace(candidates=larger(candidates, room))
            return
        more = int(counts[TOUCHED])
        if counts[TAIL] - counts[HEAD] + more > len(ledger.log):
            size = ring_size(len(ledger.log), counts, more)
            log, sums = larger_ring(ledger.log, counts, size), larger_ring(ledger.sums, counts, size)
            ledger = ledger._replace(log=log, sums=sums)
        if counts[NEXT] == len(ledger.panes):
            ledger = ledger._replace(panes=more_panes(ledger.panes, counts, ledger.spans, FIRST))
        near, most = candidates.near.shape[1], int(ledger.spans[:, SIZE].max()) + more
        if most > near:
            ledger = ledger._replace(candidates=bars.with_room(candidates, max(most, near + near // 2)))
        self._ledger = ledger

    def since(self, pane: int) -> tuple[Int64, Int64, int, int, int]:
        """(objects, totals, grand total, largest other total, number of objects) over the panes from this number on."""
        return kernel.since(self._ledger, pane, self._least)

    def forget(self, now: int) -> None:
        """Drop what no window holds at this time or later."""
        self.run(_NO_ROWS, _NO_ROWS, None, np.array([now], np.int64), NONE)

    @property
    def entries(self) -> int:
        """The number of (object, pane) entries."""
        counts = self._ledger.counts
        return int(counts[TAIL] - counts[HEAD] + counts[TOUCHED])

    def alive(self, pane: int) -> int:
        """The sum over the longest window at a time in this pane."""
        self.forget(pane * int(self._ledger.counts[LENGTH]))
        counts, spans = self._ledger.counts, self._ledger.spans
        running = self._ledger.touched[: counts[TOUCHED]]
        grand = int(spans[counts[LONGEST], GRAND])
        return grand + int(self._ledger.hot[running, CURRENT].sum())

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        *arrays, candidates = self._ledger
        return sum(array.nbytes for array in (*arrays, *candidates))

    def columns(self) -> dict[str, Array]:
        """panes, objects, units: int64[n] each, by pane, then object."""
        panes, objects, units = kernel.entries(self._ledger)
        order = np.lexsort((objects, panes))
        return {"panes": panes[order], "objects": objects[order], "units": units[order]}
