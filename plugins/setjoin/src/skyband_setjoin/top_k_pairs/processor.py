"""Processes one group of a top-k-pairs query with a pair ranker."""

from collections.abc import Mapping
from typing import Any, ClassVar, cast

import numpy as np
import pyarrow as pa
from skyband.arrays import Array, Int64
from skyband.columns.keyed_frames import PART
from skyband.columns.row_store_by_position import RowStore
from skyband.columns.rows import Rows
from skyband.groups import state_arrays
from skyband.groups.answer_columns import AnswerColumns
from skyband.groups.batched_processor import BatchedProcessor
from skyband.groups.partitioning import PLACES as PLACE_BYTES
from skyband.groups.partitioning import places_of
from skyband.groups.processor import BackendProcessor
from skyband.queries.pair_columns import RowsOfPairs
from skyband.registry import Binding
from skyband.roles import PairRanker

from skyband_setjoin.tokens import sets_of_rows
from skyband_setjoin.top_k_pairs.query import PLACES, TopKPairs


class PairProcessor(BackendProcessor, BatchedProcessor):
    """One group's pair ranker, with the names of its answer columns."""

    _backend: PairRanker

    no_rows: ClassVar[Rows] = Rows(
        np.empty(0, np.int64),
        {"tokens": pa.array([], pa.large_list(pa.int64())), "side": np.empty(0, np.int8), PART: np.empty(0, np.int8)},
    )

    def __init__(self, query: TopKPairs, ranker: Binding, answers: pa.Schema) -> None:
        self._binding = ranker
        self._backend_parameters = query.backend_parameters("pair-ranker")
        self._schema = answers
        self._named = (query.id, query.carry)
        self._shared = PLACES[0] in answers.names
        super().__init__(query.every.length, query.window.length, query.rows, query.schedule)

    def begin(self) -> None:
        self._backend = cast(PairRanker, self._binding.create(**self._backend_parameters))
        self._ids = RowsOfPairs(*self._named, self._schema)
        self.places = RowStore([pa.field("name", PLACE_BYTES)])

    def begin_with(self, last: int, rows: Rows) -> "PairProcessor":
        """Continue from the sets of a small group; moments up to the last row's time are already answered."""
        if self._rows:
            self._backend.advance(int(rows.times[0]))
        self.feed(rows.times, rows, np.empty(0, np.int64))
        self.resume_after(last)
        return self

    def feed(self, times: Int64, rows: Rows, due: Int64) -> AnswerColumns | None:
        sides = rows["side"] if self._backend.sides == 2 else None
        marks = due - (self._backend.by == "time")
        parts = rows[PART] if self._shared else None
        tops = self._backend.answers(times, *sets_of_rows(rows), marks, sides, parts)
        if len(times):
            self._ids.update(times, self._ids.columns(rows))
        if len(times) and self._shared:
            self.places.update(times, [places_of(times, rows["code"], rows["tie"])])
        answers = self._answers(due, *tops)
        # The next moment is after the last one and after the last row.
        gone = max([*due[-1:].tolist(), *times[-1:].tolist()]) + 1 - self._horizon
        self._ids.forget(gone)
        self.places.forget(gone)
        return answers

    def _answers(self, moments: Int64, cuts: Int64, left: Int64, right: Int64, similarity: Array) -> AnswerColumns:
        sizes, ids = cuts[1:] - cuts[:-1], self._ids.ids
        both = self._ids.lookup(np.concatenate([left, right]))
        pair = [[column.slice(start, len(left)) for column in both] for start in (0, len(left))]
        columns = [
            moments.repeat(sizes),
            np.arange(1, len(left) + 1) - cuts[:-1].repeat(sizes),
            *(column for side in pair for column in side[:ids]),
            similarity,
            *(column for side in pair for column in side[ids:]),
        ]
        if self._shared:
            columns += [self.places.lookup(numbers)[0].cast(pa.binary()) for numbers in (left, right)]
        return AnswerColumns(self._schema, columns)

    def dump_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        named = state_arrays.frame_to_array("ids", self._ids.frame()) | state_arrays.frame_to_array(
            "places", self.places.frame()
        )
        return {"clock": self.clock()}, state_arrays.with_prefix("ranker", self._backend.dump_state()) | named

    def load_state(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        self.set_clock(header["clock"])
        self._backend.load_state(state_arrays.without_prefix("ranker", arrays))
        self._ids.load_state(state_arrays.frame_from_array("ids", arrays, self._ids.frame()), self._backend.seen)
        self.places.load_state(state_arrays.frame_from_array("places", arrays, self.places.frame()), self._backend.seen)
