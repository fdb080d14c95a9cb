"""The processor of a distinct-count that emits states instead of counts."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa
from skyband.queries import emitted_states
from skyband.registry import Binding
from skyband.states.coverage import Coverage

from skyband_distinct.distinct_count.processor import CountingProcessor

if TYPE_CHECKING:
    from skyband_distinct.distinct_count.query import DistinctCount


class StateProcessor(CountingProcessor):
    """Emits the sketch itself at each moment, or only at moments with new rows since the last."""

    def __init__(self, query: "DistinctCount", bindings: Mapping[str, Binding], answers: pa.Schema) -> None:
        super().__init__(query, bindings, answers)
        self._changed = query.emit == emitted_states.CHANGED
        self._gives_all = emitted_states.gives_all(query.emit, answers)
        self._states: list[tuple[int, bytes, bool]] = []

    def answer(self, at: int) -> None:
        starts = self._schedule.starts(at)
        self._backend.forget(self._schedule.needed_from(starts))
        if not self.needs_answers:
            return
        changed = self._rows or (self._last is not None and self._last >= self._schedule.latest(at - 1))
        if changed or self._gives_all:
            covers = Coverage(at, min(starts), self._rows, self._changed)
            self._states.append((at, emitted_states.state_of(self._backend, covers), changed))

    def collect(self) -> pa.RecordBatch | None:
        states, self._states = self._states, []
        return emitted_states.batch_of(self._schema, states)
