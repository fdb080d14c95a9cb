"""Processes one group's stream of a heavy-hitters query with `half_life`."""

from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa
from skyband.arrays import Array
from skyband.columns.rows import Rows

from skyband_totals.heavy_hitters.decayed_totals import DecayedTotals
from skyband_totals.heavy_hitters.processor import TotalsProcessor
from skyband_totals.role import TotalRanker
from skyband_totals.top import Tops

if TYPE_CHECKING:
    from skyband_totals.heavy_hitters.query import HeavyHitters


class DecayedProcessor(TotalsProcessor):
    """Uses decayed totals instead of a ranker, because no ranker has them."""

    _tops_alone = False

    def __init__(self, query: "HeavyHitters", answers: pa.Schema) -> None:
        assert query.half_life is not None
        windows = tuple(window.length for window in query.windows)
        limits = query.k, query.at_least or 0.0
        self._new_totals = partial(DecayedTotals, windows, query.every.length, query.half_life.length, *limits)
        super().__init__(query, None, answers)

    def _new_ranker(self) -> TotalRanker:
        return cast(TotalRanker, self._new_totals())

    def begin_with(self, last: int, rows: Rows) -> "DecayedProcessor":
        """Continue from entries with their amount at the end of their panes, the column `amount`."""
        self._names.update(rows.times, rows)
        self._ranked_rows.update(rows.times, rows, np.zeros(len(rows)))
        cast(DecayedTotals, self._backend).begin_with(rows.times - self._phase, rows["object"], rows["amount"])
        self.resume_after(last)
        return self

    def _numbers(self, tops: Tops) -> list[Array | pa.Array]:
        return [tops.totals, tops.low, tops.high]
