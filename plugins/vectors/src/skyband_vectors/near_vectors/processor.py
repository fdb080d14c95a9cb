"""Processes one group of near-vectors: feeds the vectors of rows to a vector matcher."""

from skyband.arrays import Array
from skyband.columns.rows import Rows
from skyband_setjoin.row_matches.processor import MatchingProcessor

from skyband_vectors.near_vectors.frame_columns import vectors_of_rows


class NearVectorsProcessor(MatchingProcessor):
    """Feeds a vector matcher."""

    @staticmethod
    def _payload(rows: Rows) -> tuple[Array, ...]:
        return (vectors_of_rows(rows),)
