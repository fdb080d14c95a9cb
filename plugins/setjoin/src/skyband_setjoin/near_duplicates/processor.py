"""Processes one group of near-duplicates: feeds the sets of rows to a set matcher."""

import numpy as np
import pyarrow as pa
from skyband.arrays import Array
from skyband.columns.rows import Rows

from skyband_setjoin.row_matches.processor import MatchingProcessor
from skyband_setjoin.tokens import sets_of_rows


class NearDuplicatesProcessor(MatchingProcessor):
    """Feeds a set matcher."""

    def _take_with_gaps(self, rows: Rows, gone: Array) -> None:
        places = pa.array(np.arange(len(rows)), mask=gone)
        self._take(rows.with_column("tokens", rows["tokens"].take(places)))

    @staticmethod
    def _payload(rows: Rows) -> tuple[Array, ...]:
        return sets_of_rows(rows)
