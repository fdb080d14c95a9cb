"""Processes one group of near-vectors: feeds the vectors of rows to a vector matcher."""

import numpy as np
from skyband.arrays import Array
from skyband.columns.rows import Rows
from skyband.roles.sharding import BOTH
from skyband_setjoin.row_matches.processor import MatchingProcessor

from skyband_vectors.near_vectors.frame_columns import vectors_of_rows
from skyband_vectors.role import NEITHER


class NearVectorsProcessor(MatchingProcessor):
    """Feeds a vector matcher."""

    def _take_with_gaps(self, rows: Rows, gone: Array) -> None:
        self._take(rows, np.where(gone, NEITHER, BOTH).astype(np.int8) if gone.any() else None)

    @staticmethod
    def _payload(rows: Rows) -> tuple[Array, ...]:
        return (vectors_of_rows(rows),)
