"""Small groups of top-k-pairs: compares every two sets of a window when it is answered."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from skyband.arrays import Array, Int64
from skyband.columns.column_ops import Column
from skyband.columns.rows import Rows
from skyband.columns.rows_behind_answers import carried
from skyband.groups.processor import GroupProcessor
from skyband.groups.small_groups.table import PassInput
from skyband.queries.time_columns import moments
from skyband.windows.schedule import Schedule

from skyband_setjoin.compiled_similarity import resolve
from skyband_setjoin.small_groups_of_rows import RowsInOrder
from skyband_setjoin.small_groups_of_sets import SmallSets
from skyband_setjoin.top_k_pairs.small_groups_kernels import rank_pairs


class SmallPairs(SmallSets):
    """Groups of at most `most` sets."""

    def __init__(
        self,
        most: int,
        schedule: Schedule,
        window: int,
        parameters: Mapping[str, Any],
        answers: pa.Schema,
        processor: Callable[[int, Rows], GroupProcessor],
        *,
        ids: int = 0,
        carry: Sequence[pa.DataType] = (),
    ) -> None:
        """carry: the types of the columns to carry; the first `ids` are the id, if it has several columns."""
        kind = pa.int64() if ids else answers.field("left").type
        columns = {carried(number): kind for number, kind in enumerate(carry)}
        self._ids, self._columns = ids, list(columns)
        super().__init__(schedule, most, answers, kind, two=parameters["sides"] == 2, carry=columns)
        self._similarity = resolve(parameters["similarity"])
        most, side = self.most, 1 << (self.most - 1).bit_length()
        k = min(parameters["k"], max(1, most * (most - 1) // 2))
        self._room = np.empty((side, side)), np.empty(k, np.int64), np.empty(k, np.int64), np.empty(k)
        self._window = window
        self._processor = processor

    def compare(
        self, step: PassInput, rows: RowsInOrder
    ) -> tuple[Int64, Int64, Array, Int64, Sequence[Array | pa.Array]]:
        step_moments, (begins, ends) = step.moments, step.spans
        offsets, tokens = self.tokens_of(rows)
        size, full_at = np.zeros(len(begins), np.int64), np.full(len(begins), -1)
        stays, pairs_of_answer = np.zeros(len(rows.order), bool), np.zeros(int((ends - begins).sum()), np.int64)
        *pairs, number = rank_pairs(
            rows.heads, rows.rows, rows.stops, step.sessions.ended, begins, ends,
            rows.order, rows.times, rows.sides, offsets, tokens, step_moments.at,
            self.schedule.slides_with_longest_window,
            self._window, *self._similarity, self.two, step.oldest, self.most, self.most_tokens,
            size, full_at, stays, pairs_of_answer, *self._room,
        )  # fmt: skip
        self._similarity[1].check(lambda: np.diff(offsets))
        left, right, scores = (values[:number] for values in pairs)
        session = np.repeat(np.arange(len(begins)), ends - begins)
        moment = np.arange(len(pairs_of_answer)) + (begins - np.cumsum(ends - begins) + (ends - begins))[session]
        columns = [
            moments(step_moments.at[np.repeat(moment, pairs_of_answer)], self.schema.field("at").type),
            pa.array(
                np.arange(1, number + 1) - np.repeat(np.cumsum(pairs_of_answer) - pairs_of_answer, pairs_of_answer)
            ),
            *self._ids_of(rows, left),
            *self._ids_of(rows, right),
            pa.array(scores),
            *(rows.carried(name, side) for side in (left, right) for name in self._columns[self._ids :]),
        ]
        return size, full_at, stays, np.repeat(session, pairs_of_answer), columns

    def _ids_of(self, rows: RowsInOrder, which: Int64) -> list[pa.Array]:
        return [rows.carried(name, which) for name in self._columns[: self._ids]] or [self.id_column(rows.ids[which])]

    def processor(self, last: int, entries: Mapping[str, Column]) -> GroupProcessor:
        return self._processor(last, self.rows_of(entries))
