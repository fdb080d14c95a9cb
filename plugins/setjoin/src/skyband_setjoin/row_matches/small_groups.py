"""Small groups of queries that answer each row with its matches: the answers, whatever is compared."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from skyband.arrays import Array, Float64, Int64
from skyband.columns.column_ops import Column
from skyband.columns.rows import Rows
from skyband.columns.rows_behind_answers import carried
from skyband.groups.processor import GroupProcessor
from skyband.groups.small_groups.table import PassInput
from skyband.queries.composite_ids import several
from skyband.queries.time_columns import moments
from skyband.state_validation import StateReader

from skyband_setjoin.row_matches.processor import WHEN, at_their_times
from skyband_setjoin.row_matches.query import KEPT, ROWS, MatchingQuery
from skyband_setjoin.small_groups_of_rows import RowsInOrder, SmallRows


class MatchesOfRows(NamedTuple):
    """The result of comparing the rows of a pass."""

    size: Int64
    """Of each session, the number of rows kept."""
    full_at: Int64
    """The place of the first row that a session did not take in, -1 if it took in all."""
    stays: Array
    """bool[n]: which places are kept."""
    matches: Int64
    """The number of matches of the row at each place; -1 of those held before, or not taken in."""
    earlier: Int64
    """The numbers of the matches, row by row."""
    similarity: Float64


class SmallMatches(SmallRows):
    """Groups of at most `most` rows to compare later rows with; rows are answered on arrival.

    Over windows in rows, the row number replaces a row's time, which is kept as well.
    """

    def __init__(
        self, most: int, query: MatchingQuery, answers: pa.Schema, processor: Callable[[Rows], GroupProcessor]
    ) -> None:
        """processor: continues from the rows of a group."""
        ids, names = several(query.id), (*several(query.id), *query.carried_names)
        of_match = {name: carried(names.index(name)) for name in (*ids, *query.carry_match)}
        self._columns_of_row = {name: carried(names.index(name)) for name in (*ids, *query.carry)}
        self._columns_of_match = {f"match_{name}": column for name, column in of_match.items()}
        self._several = bool(ids)
        columns = {
            column: answers.field(name if name in ids else f"match_{name}").type for name, column in of_match.items()
        }
        own = {
            column: answers.field(name).type for name, column in self._columns_of_row.items() if column not in columns
        }
        kind = pa.int64() if ids else answers.field("id").type
        self._rows = query.rows
        super().__init__(
            query.schedule, most, answers, kind, two=query.side is not None, at_once=True,
            carry={**columns, **({WHEN: np.int64} if query.rows else {})}, carry_now=own,
        )  # fmt: skip
        self._output = query.output
        self._processor = processor

    @abstractmethod
    def match(self, step: PassInput, rows: RowsInOrder) -> MatchesOfRows:
        """Compare the rows of a step with those before them."""

    def taken_of(self, rows: Rows) -> dict[str, Column]:
        return super().taken_of(rows.with_column(WHEN, rows.times) if self._rows else rows)

    def compare(
        self, step: PassInput, rows: RowsInOrder
    ) -> tuple[Int64, Int64, Array, Int64, Sequence[Array | pa.Array]]:
        size, full_at, stays, matches, earlier, similarity = self.match(step, rows)
        row = np.flatnonzero(matches >= 0)
        sessions = np.arange(len(rows.heads))
        session, own, hits = np.repeat(sessions, rows.stops - rows.heads)[row], rows.order[row], matches[row]
        if self._output == KEPT:
            alone = hits == 0
            return size, full_at, stays, session[alone], self._columns(step, rows, own[alone], {})
        times = np.maximum(hits, 1) if self._output == ROWS else hits
        matched = np.repeat(hits > 0, times)
        place = np.full(len(matched), -1)
        place[matched] = np.arange(len(earlier))
        places = pa.array(place, mask=~matched)
        of_match = {
            **({} if self._several else {"match": self.id_column(rows.ids[earlier]).take(places)}),
            **{name: rows.carried(column, earlier).take(places) for name, column in self._columns_of_match.items()},
            "match_time": self._times(rows, earlier).take(places),
            "similarity": pa.array(similarity).take(places),
        }
        columns = self._columns(step, rows, np.repeat(own, times), of_match)
        return size, full_at, stays, np.repeat(session, times), columns

    def _columns(
        self, step: PassInput, rows: RowsInOrder, own: Int64, of_match: Mapping[str, pa.Array]
    ) -> list[pa.Array]:
        """The answer columns: of the rows `own`, all of the step, and of their matches."""
        places = pa.array(own - (len(rows.order) - len(step.times)))
        columns = {
            "time": self._times(rows, own),
            **({} if self._several else {"id": self.id_column(rows.ids[own])}),
            **{name: step.rows[column].take(places) for name, column in self._columns_of_row.items()},
            **of_match,
        }
        return [columns[name] for name in self.schema.names]

    def _times(self, rows: RowsInOrder, some: Int64) -> pa.Array:
        times = rows.columns[WHEN] if self._rows else rows.times
        return moments(times[some], self.schema.field("time").type)

    def processor(self, last: int, entries: Mapping[str, Column]) -> GroupProcessor:  # noqa: ARG002 - of an entry
        return self._processor(self.rows_of(entries))

    def rows_for_processor(self, rows: Rows) -> Rows:
        return at_their_times(rows) if self._rows else rows

    def check_entries(self, state: StateReader, owners: Int64) -> None:
        super().check_entries(state, owners)
        if self._rows:
            state.column(WHEN, np.int64, len(owners))
