"""Small groups of near-vectors: compares each row with all vectors of its group's window."""

from collections.abc import Callable
from typing import ClassVar

import numpy as np
import pyarrow as pa
from skyband.arrays import Int64, read_only
from skyband.columns.column_ops import Kind
from skyband.columns.rows import Rows
from skyband.groups.processor import GroupProcessor
from skyband.groups.small_groups.table import PassInput
from skyband.state_validation import StateReader
from skyband_setjoin.row_matches.small_groups import MatchesOfRows, SmallMatches
from skyband_setjoin.set_matcher import ALL, FIRST
from skyband_setjoin.small_groups_of_rows import RowsInOrder

from skyband_vectors.matching.definition_kernels import squares_of
from skyband_vectors.matching.scan_kernels import Vectors
from skyband_vectors.matching.window_matcher import KINDS, margin_of
from skyband_vectors.near_vectors.frame_columns import vectors_of_lists
from skyband_vectors.near_vectors.query import NearVectors
from skyband_vectors.near_vectors.small_groups_kernels import Placed, match_rows


class SmallNearVectors(SmallMatches):
    """Groups of at most `most` vectors to compare later rows with."""

    payload: ClassVar[str] = "vector"
    payload_kind: ClassVar[Kind] = pa.large_list(pa.float32())

    def __init__(
        self, most: int, query: NearVectors, answers: pa.Schema, processor: Callable[[Rows], GroupProcessor]
    ) -> None:
        super().__init__(most, query, answers, processor)
        self._query = query

    def match(self, step: PassInput, rows: RowsInOrder) -> MatchesOfRows:
        query, entries = self._query, read_only(vectors_of_lists(rows.columns["vector"], self._query.dimensions))
        squares = squares_of(entries)
        lengths = np.sqrt(squares)
        vectors = Vectors(*map(read_only, (entries, squares, lengths, rows.sides, rows.order)))
        placed = Placed(*map(read_only, (*rows[:3], rows.times, step.sessions.ended, step.oldest)))
        size, full_at = np.zeros(len(rows.heads), np.int64), np.full(len(rows.heads), -1)
        stays, count = np.zeros(len(rows.order), bool), np.full(len(rows.order), -1)
        most = query.backend_parameters("vector-matcher")["matches"]
        matches, used = match_rows(
            placed, vectors, self.schedule.horizon, KINDS[query.similarity],
            -np.inf if query.threshold is None else query.threshold, margin_of(query.dimensions), self.two,
            query.keep == FIRST, 0 if most == ALL else int(most), self.most, size, full_at, stays, count,
        )  # fmt: skip
        earlier, similarity = (matches[name][:used].copy() for name in ("earlier", "similarity"))
        return MatchesOfRows(size, full_at, stays, count, rows.order[earlier], similarity)

    def check_entries(self, state: StateReader, owners: Int64) -> None:
        super().check_entries(state, owners)
        sizes = state.column("vector sizes", np.int32, len(owners), at_least=0)
        state.require(bool((sizes == self._query.dimensions).all()), "vector sizes", "must be those of the query")
        vectors = state.column("vector", np.float32)
        state.require(bool(np.isfinite(vectors).all()), "vector", "must be finite")
