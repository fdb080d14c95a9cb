"""One group's stream of a query quantiles that emits its sketch as states."""

from typing import TYPE_CHECKING

import pyarrow as pa
from skyband.arrays import Int64
from skyband.columns.rows import Rows
from skyband.queries import emitted_states
from skyband.registry import Binding
from skyband.states.coverage import Coverage

from skyband_quantiles.quantiles.processor import QuantilesProcessor

if TYPE_CHECKING:
    from skyband_quantiles.quantiles.query import Quantiles


class StatesProcessor(QuantilesProcessor):
    """Emits the sketch at each moment, or only at those with rows since the previous one."""

    def __init__(self, query: "Quantiles", sketch: Binding, answers: pa.Schema) -> None:
        self._changed = query.emit == emitted_states.CHANGED
        self._gives_all = emitted_states.gives_all(query.emit, answers)
        super().__init__(query, sketch, answers)

    def feed(self, times: Int64, rows: Rows, due: Int64) -> pa.RecordBatch | None:
        times, values = self._in_order(times, rows["value"])
        states = [
            (at, self._state(at), self._has_news(at))
            for at in self._moments(times, values, due)
            if self._gives_all or self._has_news(at)
        ]
        return emitted_states.batch_of(self._schema, states)

    def _has_news(self, at: int) -> bool:
        latest = self._backend.latest
        return self._rows or (latest is not None and latest >= self._schedule.latest(at - 1))

    def _state(self, at: int) -> bytes:
        covers = Coverage(at, min(self._schedule.starts(at)), self._rows, self._changed)
        return emitted_states.state_of(self._backend, covers)
