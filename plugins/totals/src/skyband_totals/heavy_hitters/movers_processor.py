"""Processes one group's stream of a heavy-hitters query with `against = "previous"`."""

from typing import TYPE_CHECKING

import pyarrow as pa
from skyband.arrays import Array, Int64
from skyband.groups.answer_columns import ProcessorAnswers
from skyband.registry import Binding

from skyband_totals.heavy_hitters.movers import Movers, every_other, mover_columns, movers_of
from skyband_totals.heavy_hitters.processor import TotalsProcessor
from skyband_totals.top import Tops

if TYPE_CHECKING:
    from skyband_totals.heavy_hitters.query import HeavyHitters


class MoversProcessor(TotalsProcessor):
    """Queries one ranker over each window and over twice its length, and subtracts."""

    _tops_alone = False

    def __init__(self, query: "HeavyHitters", ranker: Binding, answers: pa.Schema) -> None:
        self._rule = query.mover_rule
        super().__init__(query, ranker, answers)

    def begin(self) -> None:
        super().begin()
        self._movers: Movers | None = None

    def _answered(self, times: Int64, columns: dict[str, Array], due: Int64) -> ProcessorAnswers | None:
        self._be_finer_if_needed(times)
        tops = self._tops(self._backend, times, columns, due)
        if not len(due):
            return None
        self._movers = movers_of(every_other(tops, 0), every_other(tops, 1), self._rule, together=True)
        return self._answers(due, self._movers.tops)

    def _numbers(self, tops: Tops) -> list[Array | pa.Array]:  # noqa: ARG002 - they are the movers' own
        assert self._movers is not None
        return mover_columns(self._movers)
