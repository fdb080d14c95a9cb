"""Processes a stream of row-features without groups and with `emit`: its rows of the longest window, as states."""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from skyband.arrays import Array, Int64
from skyband.columns import column_ops
from skyband.columns.rows import Rows
from skyband.groups.windowed_processor import WindowedProcessor
from skyband.queries import emitted_states
from skyband.state_validation import StateReader

from skyband_totals.row_features import rows_in_states
from skyband_totals.row_features.state_encoder import StateEncoder
from skyband_totals.row_features.written_rows import rows_as_arrays

if TYPE_CHECKING:
    from skyband_totals.row_features.query import RowFeatures


class StatesProcessor(WindowedProcessor):
    """Emits its rows at each moment, or only at moments with new rows since the last."""

    def __init__(self, query: "RowFeatures", answers: pa.Schema, schema: pa.Schema) -> None:
        assert query.every is not None
        super().__init__(query.every.length, query.longest, False, query.schedule)
        self._encoder = StateEncoder(query, schema)
        self._kinds, self._answers, self._longest = self._encoder.kinds, answers, query.longest
        self._states: list[tuple[int, bytes, bool]] = []
        self._dropped: Counter[str] = Counter()
        self.clear()

    def clear(self) -> None:
        empty = {name: column_ops.empty(kind) for name, kind in self._kinds.items()}
        self._pieces = [Rows(np.empty(0, np.int64), empty)]

    def update(self, times: Int64, rows: Rows) -> None:
        own = {name: column_ops.of_kind(rows[name], kind) for name, kind in self._kinds.items()}
        self._pieces.append(Rows(times, own))
        self._dropped += self._encoder.layout.rows_by_reason(rows)

    def answer(self, at: int) -> None:
        rows = self._rows_since(at - self._longest)
        has_news = self._last is not None and self._last >= self._schedule.latest(at - 1)
        if not self.needs_answers or (self._encoder.changed and not has_news):
            return
        columns = {name: rows[name] for name in self._kinds}
        (state,) = self._encoder.states(np.array([at]), np.array([0]), np.array([len(rows)]), rows.times, columns)
        self._states.append((at, state.as_py(), has_news))

    def _rows_since(self, moment: int) -> Rows:
        """The rows from then on; earlier ones are forgotten."""
        rows = Rows.joined(self._pieces)
        first = int(np.searchsorted(rows.times, moment))
        if first:  # copied, as a slice would keep all of them
            rows = rows.take(np.arange(first, len(rows)))
        self._pieces = [rows]
        return rows

    def collect(self) -> pa.RecordBatch | None:
        states, self._states = self._states, []
        return emitted_states.batch_of(self._answers, states)

    def take_dropped(self) -> Mapping[str, int]:
        dropped, self._dropped = self._dropped, Counter()
        return dropped

    @property
    def retained(self) -> int:
        return sum(map(len, self._pieces))

    @property
    def nbytes(self) -> int:
        return sum(rows.times.nbytes + sum(rows[name].nbytes for name in self._kinds) for rows in self._pieces)

    def dump_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        rows = Rows.joined(self._pieces)
        columns = {name: rows[name] for name in self._kinds}
        return {"clock": self.clock()}, rows_as_arrays(rows.times, columns, self._kinds)

    def load_state(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        self.set_clock(header["clock"])
        state = StateReader(arrays)
        times, columns = rows_in_states.from_arrays(state, self._kinds)
        last = int(times[-1]) if len(times) else None
        state.require(last == self._last, "steps", f"must lead to the last row, at {self._last}")
        self._pieces = [Rows(times, columns)]
