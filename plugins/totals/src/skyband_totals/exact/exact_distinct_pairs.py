"""The exact totals of distinct values: every (object, value) pair with its last pane."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from skyband.arrays import Array, Int64, read_only

from skyband_totals import pairs
from skyband_totals.exact import pair_kernels as kernel
from skyband_totals.exact import written_answers as answers
from skyband_totals.exact.bar import GRAND
from skyband_totals.exact.ledger import ALL, RawAnswers, joined, windows_of
from skyband_totals.shares import Least


class PairLedger:
    """The distinct values of objects over windows in panes; a pane is `length` long."""

    def __init__(self, windows: list[int], length: int, k: int, least: Least) -> None:
        self._ledger = kernel.new(windows, length, k, least.units)
        self._least = least

    def run(self, times: Int64, objects: Int64, amounts: Any, moments: Int64, only: int = ALL) -> RawAnswers:
        """Add rows and answer at the moments in between, for all windows or only one."""
        rows = read_only(times), read_only(objects), read_only(amounts), read_only(moments)
        begin, end = windows_of(only, len(self._ledger.spans))
        written = answers.room_for(len(moments) * (end - begin))
        self._ledger, written = kernel.run(self._ledger, written, *rows, begin, end, self._least)
        return answers.cut(written)

    @classmethod
    def run_together(
        cls, ledgers: Sequence[Any], times: Int64, objects: Int64, amounts: Any, spans: Int64,
        moments: Sequence[Int64],
    ) -> RawAnswers:  # fmt: skip
        """Like `run` of several ledgers for all windows; ledger i has the rows from spans[i, 0] up to spans[i, 1]."""
        return joined(
            [
                ledger.run(times[start:stop], objects[start:stop], amounts[start:stop], own)
                for ledger, (start, stop), own in zip(ledgers, spans.tolist(), moments, strict=True)
            ]
        )

    def since(self, pane: int) -> tuple[Int64, Int64, int, int, int]:
        """(objects, totals, grand total, largest other total, number of objects) over the panes from this number on."""
        return kernel.since(self._ledger, pane, self._least)

    def forget(self, now: int) -> None:
        """Drop what no window holds at this time or later."""
        self._ledger = kernel.forget(self._ledger, -(-now // int(self._ledger.counts[kernel.LENGTH])))

    def load(self, panes: Int64, objects: Int64, hashes: Int64) -> None:
        """Add pairs by their last panes, ascending. Called on a new ledger."""
        self._ledger = kernel.load(self._ledger, read_only(panes), read_only(objects), read_only(hashes))

    @property
    def entries(self) -> int:
        """The number of pairs in the longest window."""
        return int(self._ledger.spans[self._ledger.counts[kernel.LONGEST], GRAND])

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        *arrays, candidates = self._ledger
        return sum(array.nbytes for array in (*arrays, *candidates))

    def columns(self) -> dict[str, Array]:
        """panes, objects, hashes: int64[n] each, by pane, then object, then hash."""
        ledger = self._ledger
        bound = ledger.bounds[ledger.counts[kernel.LONGEST]]
        panes, objects, hashes = pairs.entries_since(ledger.pairs, ledger.hot, bound)
        order = np.lexsort((hashes, objects, panes))
        return {"panes": panes[order], "objects": objects[order], "hashes": hashes[order]}
