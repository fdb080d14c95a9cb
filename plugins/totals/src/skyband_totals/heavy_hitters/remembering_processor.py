"""Processes one group's stream of a heavy-hitters query that compares windows with earlier ones, of any lag.

A ranker forgets the rows of a window long before it is compared. Its totals are remembered when it ends.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
from skyband.arrays import Array, Int64
from skyband.columns.rows import Rows
from skyband.config.durations import Duration
from skyband.groups import state_arrays
from skyband.groups.answer_columns import AnswerColumns, ProcessorAnswers
from skyband.groups.processor import GroupProcessor
from skyband.registry import Binding

from skyband_totals.heavy_hitters.earlier_tops import EarlierTops
from skyband_totals.heavy_hitters.movers import movers_of
from skyband_totals.heavy_hitters.movers_processor import MoversProcessor
from skyband_totals.heavy_hitters.variation import distance_columns
from skyband_totals.top import Top, Tops

if TYPE_CHECKING:
    from skyband_totals.heavy_hitters.query import HeavyHitters


class RememberingProcessor(MoversProcessor):
    """Answers movers, or distances of shares, from the totals of each window and of the earlier one."""

    def __init__(self, query: "HeavyHitters", ranker: Binding, answers: pa.Schema) -> None:
        self._lag = query.against.length if isinstance(query.against, Duration) else None
        """How much earlier the other window ends; None: where this one begins."""
        self._distances = bool(query.distance)
        self._past = EarlierTops(len(query.windows))
        super().__init__(query, ranker, answers)
        if self._distances:
            self._labels["distance"] = pa.array(query.distance)

    def begin(self) -> None:
        super().begin()
        self._past.clear()

    def _object_type(self) -> pa.DataType:
        return pa.int64() if self._distances else super()._object_type()

    def begin_with(self, last: int, rows: Rows) -> "RememberingProcessor":
        """As without `against`, with the entries of the lag, whose windows are remembered."""
        following = self.moment_after(last)
        end = min(self._starts(following)) if self._lag is None else following - self._lag
        self.feed(rows.times, rows, self._schedule.between(max(int(rows.times[0]), end - 1), last))
        self.resume_after(last)
        return self

    def _starts(self, at: int) -> list[int]:
        return super()._starts(at)[::2]

    def _answered(self, times: Int64, columns: dict[str, Array], due: Int64) -> ProcessorAnswers | None:
        self._be_finer_if_needed(times)
        tops = self._tops(self._backend, times, columns, due)
        if not len(due):
            return None
        before = Tops.of(list(self._remembered(due, tops)))
        if self._distances:
            self._forget_names(due)
            return self._distance_rows(due, tops, before)
        self._movers = movers_of(tops, before, self._rule, together=False)
        return self._answers(due, self._movers.tops)

    def _remembered(self, due: Int64, tops: Tops) -> Iterator[Top]:
        """The earlier window of each answer; remembers those of the answers themselves."""
        answers = iter(tops)
        for at in due.tolist():
            for window, since in enumerate(self._starts(at)):
                end = since if self._lag is None else at - self._lag
                yield self._past.find(window, end, end)
                top = next(answers)
                if len(top.objects):
                    self._past.add(window, at, top)

    def _distance_rows(self, due: Int64, tops: Tops, before: Tops) -> ProcessorAnswers | None:
        """A row for each window with a total, now or earlier."""
        places, numbers = distance_columns(tops, before, self._unit)
        windows = len(self._labels["window"])
        columns = [due[places // windows], places % windows, np.zeros(len(places), np.int64), *numbers]
        return AnswerColumns(self._schema, columns, self._labels)

    def merge(self, other: GroupProcessor) -> None:
        super().merge(other)
        self._past.merge(cast(RememberingProcessor, other)._past)

    @property
    def retained(self) -> int:
        return super().retained + len(self._past)

    @property
    def nbytes(self) -> int:
        return super().nbytes + self._past.nbytes

    def dump_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        header, arrays = super().dump_state()
        return header, arrays | state_arrays.with_prefix("earlier", self._past.to_arrays())

    def load_state(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        super().load_state(header, arrays)
        self._past.load(state_arrays.without_prefix("earlier", arrays), self._next)
