"""Processes one group of near-duplicates: feeds the sets of rows to a set matcher."""

import numpy as np
import pyarrow as pa
from skyband.arrays import Array
from skyband.columns.gaps_in_row_numbers import without_gaps
from skyband.columns.rows import Rows

from skyband_setjoin.row_matches.processor import MatchingProcessor
from skyband_setjoin.tokens import sets_of_rows

WHEN = "when"
"""The column with the time of each row, if row numbers replace times."""


def at_their_times(rows: Rows) -> Rows:
    """The rows with their times again, if row numbers replaced these."""
    return Rows(rows[WHEN], {name: rows[name] for name in rows.names if name != WHEN})


class NearDuplicatesProcessor(MatchingProcessor):
    """Feeds a set matcher."""

    @staticmethod
    def _payload(rows: Rows) -> tuple[Array, ...]:
        return sets_of_rows(rows)

    def begin_with(self, rows: Rows) -> "NearDuplicatesProcessor":
        """Continue from the sets of a small group, which are all kept, including its last row.

        Over windows in rows, rows that the group no longer has are added without tokens, so that they count in the
        window and match nothing. Rows before its first set are left out.
        """
        if self._query.rows:
            rows, gone = without_gaps(rows)
            places = pa.array(np.arange(len(rows)), mask=gone)
            rows = at_their_times(rows.with_column("tokens", rows["tokens"].take(places)))
        self._take(rows)
        self._last = int(rows.times[-1])
        return self
