"""Small groups of near-duplicates: compares each row with all sets of its group's window."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from skyband.columns.rows import Rows
from skyband.groups.processor import GroupProcessor
from skyband.groups.small_groups.table import PassInput

from skyband_setjoin.compiled_similarity import resolve
from skyband_setjoin.near_duplicates.small_groups_kernels import match_rows
from skyband_setjoin.row_matches.small_groups import MatchesOfRows, SmallMatches
from skyband_setjoin.set_matcher import ALL, FIRST
from skyband_setjoin.small_groups_of_rows import RowsInOrder
from skyband_setjoin.small_groups_of_sets import SmallSets
from skyband_setjoin.small_groups_of_sets_kernels import PlacedSets

if TYPE_CHECKING:
    from skyband_setjoin.near_duplicates.query import NearDuplicates


class SmallNearDuplicates(SmallMatches, SmallSets):
    """Groups of at most `most` sets to compare later rows with."""

    def __init__(
        self, most: int, query: "NearDuplicates", answers: pa.Schema, processor: Callable[[Rows], GroupProcessor]
    ) -> None:
        super().__init__(most, query, answers, processor)
        self._similarity, self._threshold = resolve(query.similarity), float(query.threshold)
        matches = query.backend_parameters("set-matcher")["matches"]
        self._ranked, self._first = matches != ALL, query.keep == FIRST
        room = min(int(matches), self.most) if self._ranked else self.most
        self._room = np.empty(room, np.int64), np.empty(room)

    def match(self, step: PassInput, rows: RowsInOrder) -> MatchesOfRows:
        offsets, tokens = self.tokens_of(rows)
        placed = PlacedSets(*rows[:5], rows.sides, offsets, tokens, step.sessions.ended, step.oldest)
        size, full_at = np.zeros(len(rows.heads), np.int64), np.full(len(rows.heads), -1)
        stays, count = np.zeros(len(rows.order), bool), np.full(len(rows.order), -1)
        earlier, similarity, number = match_rows(
            placed, self.schedule.horizon, *self._similarity, self._threshold, self.two,
            self._ranked, self._first, self.most, self.most_tokens, size, full_at, stays, count, *self._room,
        )  # fmt: skip
        self._similarity[1].check(lambda: np.diff(offsets))
        return MatchesOfRows(size, full_at, stays, count, earlier[:number], similarity[:number])
