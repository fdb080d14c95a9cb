"""Processes one group's stream of a heavy-hitters query with `emit`."""

from typing import TYPE_CHECKING

import pyarrow as pa
from skyband.arrays import Array, Int64
from skyband.columns import record_batch_bytes
from skyband.columns.integer_ids import is_integer_id
from skyband.queries import emitted_states
from skyband.registry import Binding
from skyband.states.coverage import Coverage
from skyband.states.object_names import extra_arrays, together

from skyband_totals.heavy_hitters.processor import TotalsProcessor
from skyband_totals.heavy_hitters.state_columns import OBJECT_TYPE

if TYPE_CHECKING:
    from skyband_totals.heavy_hitters.query import HeavyHitters


class StatesProcessor(TotalsProcessor):
    """Emits the ranker itself at each moment, or only at moments with new rows since the last."""

    _tops_alone = False

    def __init__(self, query: "HeavyHitters", ranker: Binding, answers: pa.Schema) -> None:
        self._changed = query.emit == emitted_states.CHANGED
        self._gives_all = emitted_states.gives_all(query.emit, answers)
        super().__init__(query, ranker, answers)

    def _object_type(self) -> pa.DataType:
        frame = bytes.fromhex(self._schema.field("state").metadata[OBJECT_TYPE].decode())
        return record_batch_bytes.from_bytes(frame).schema.field("object").type

    def _answered(self, times: Int64, columns: dict[str, Array], due: Int64) -> pa.RecordBatch | None:
        states = [
            (at, self._state(at), self._has_news(at))
            for at in self._moments(self._backend, times, columns, due)
            if self._gives_all or self._has_news(at)
        ]
        if len(due):
            self._names.forget(int(due[-1]) - self._horizon)
        return emitted_states.batch_of(self._schema, states)

    def _has_news(self, at: int) -> bool:
        latest = self._backend.latest
        return self._rows or (latest is not None and latest + self._phase >= self._schedule.latest(at - 1))

    def _state(self, at: int) -> bytes:
        covers = Coverage(at, min(self._schedule.starts(at)), self._rows, self._changed)
        names = self._names_of(self._backend.dump_state()["objects"])
        return emitted_states.state_of(self._backend, covers, extra_arrays(names, self._phase))

    def _names_of(self, objects: Int64) -> pa.RecordBatch:
        """The names of the objects; only their type if they are integers, which are their own ids."""
        kind = self._object_type()
        frame = self._names.frame()
        if is_integer_id(kind):
            return pa.RecordBatch.from_pydict({"id": pa.array([], pa.int64()), "name": pa.array([], kind)})
        return together(
            [pa.RecordBatch.from_arrays([frame.column("id"), frame.column("name")], ["id", "name"])], objects
        )
