"""Small groups of sets: the sets in each group's window, with their tokens."""

from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from skyband.arrays import Int64, read_only
from skyband.columns.column_ops import Column, Kind
from skyband.state_validation import StateReader
from skyband.windows.schedule import Schedule

from skyband_setjoin.small_groups_of_rows import RowsInOrder, SmallRows
from skyband_setjoin.small_groups_of_sets_kernels import distinct_tokens
from skyband_setjoin.tokens import sets_of

MOST_SETS, MOST_TOKENS = 64, 4096
"""The most sets in a small group, all pairs of which are compared, and the most tokens in total."""

TOKENS = pa.large_list(pa.int64())


class SmallSets(SmallRows):
    """Groups of at most `most` sets with at most 4096 tokens: 20 bytes per set and 8 per token."""

    payload: ClassVar[str] = "tokens"
    payload_kind: ClassVar[Kind] = TOKENS

    def __init__(self, schedule: Schedule, most: int, *columns: Any, **options: Any) -> None:
        """As of `SmallRows`."""
        self.most_tokens = MOST_TOKENS
        super().__init__(schedule, min(most, MOST_SETS), *columns, **options)

    def prepared(self, payload: Column) -> Column:
        offsets, tokens = distinct_tokens(*map(read_only, sets_of(payload)))
        return pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(tokens))

    @staticmethod
    def tokens_of(rows: RowsInOrder) -> tuple[Int64, Int64]:
        """Offsets and tokens: row i has tokens[offsets[i]:offsets[i + 1]], ascending and distinct."""
        offsets, tokens = map(read_only, sets_of(rows.columns["tokens"]))
        return offsets, tokens

    def check_entries(self, state: StateReader, owners: Int64) -> None:
        super().check_entries(state, owners)
        sizes = state.column("tokens sizes", np.int32, len(owners), at_least=0)
        of_group = np.bincount(owners, sizes, minlength=1)
        most = f"must be at most {self.most_tokens} per group"
        state.require(int(of_group.max(initial=0)) <= self.most_tokens, "tokens sizes", most)
        tokens, owner = state.column("tokens", np.int64), np.repeat(np.arange(len(sizes)), sizes)
        repeated = (tokens[1:] <= tokens[:-1]) & (owner[1:] == owner[:-1])
        state.require(not repeated.any(), "tokens", "must be ascending within a set")
