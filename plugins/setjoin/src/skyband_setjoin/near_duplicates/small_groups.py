"""Small groups of near-duplicates: compares each row with all sets of its group's window."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from skyband.arrays import Array, Int64
from skyband.columns.column_ops import Column
from skyband.columns.rows import Rows
from skyband.columns.rows_behind_answers import carried
from skyband.groups.processor import GroupProcessor
from skyband.groups.small_groups.table import PassInput
from skyband.queries.composite_ids import several
from skyband.queries.time_columns import moments
from skyband.state_validation import StateReader
from skyband.windows.schedule import EachRow

from skyband_setjoin.compiled_similarity import resolve
from skyband_setjoin.near_duplicates.processor import WHEN, at_their_times
from skyband_setjoin.near_duplicates.small_groups_kernels import match_rows
from skyband_setjoin.row_matches.query import KEPT, ROWS
from skyband_setjoin.set_matcher import ALL, FIRST
from skyband_setjoin.small_groups_of_sets import SetsInOrder, SmallSets

if TYPE_CHECKING:
    from skyband_setjoin.near_duplicates.query import NearDuplicates


class SmallNearDuplicates(SmallSets):
    """Groups of at most `most` sets to compare later rows with; rows are answered on arrival.

    Over windows in rows, the row number replaces a set's time, which is kept as well.
    """

    def __init__(
        self,
        most: int,
        query: "NearDuplicates",
        answers: pa.Schema,
        processor: Callable[[Rows], GroupProcessor],
    ) -> None:
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
            EachRow(query.window.length), most, answers, kind, two=query.side is not None, at_once=True,
            carry={**columns, **({WHEN: np.int64} if query.rows else {})}, carry_now=own,
        )  # fmt: skip
        parameters = query.backend_parameters("set-matcher")
        self._similarity, self._threshold = resolve(parameters["similarity"]), float(parameters["threshold"])
        matches = parameters["matches"]
        self._ranked, self._first = matches != ALL, parameters["keep"] == FIRST
        room = min(int(matches), self.most) if self._ranked else self.most
        self._room = np.empty(room, np.int64), np.empty(room)
        self._output = query.output
        self._processor = processor

    def taken_of(self, rows: Rows) -> dict[str, Column]:
        return super().taken_of(rows.with_column(WHEN, rows.times) if self._rows else rows)

    def compare(
        self, step: PassInput, sets: SetsInOrder
    ) -> tuple[Int64, Int64, Array, Int64, Sequence[Array | pa.Array]]:
        sessions = len(sets.heads)
        size, full_at = np.zeros(sessions, np.int64), np.full(sessions, -1)
        kept, count = np.zeros(len(sets.order), bool), np.full(len(sets.order), -1)
        *matches, number = match_rows(
            sets.placed(step), self.schedule.horizon, *self._similarity, self._threshold, self.two,
            self._ranked, self._first, self.most, self.most_tokens, size, full_at, kept, count, *self._room,
        )  # fmt: skip
        self._similarity[1].check(lambda: np.diff(sets.offsets))
        earlier, similarity = (values[:number] for values in matches)
        row = np.flatnonzero(count >= 0)
        session, own, hits = np.repeat(np.arange(sessions), sets.stops - sets.heads)[row], sets.order[row], count[row]
        if self._output == KEPT:
            alone = hits == 0
            return size, full_at, kept, session[alone], self._columns(step, sets, own[alone], {})
        times = np.maximum(hits, 1) if self._output == ROWS else hits
        matched = np.repeat(hits > 0, times)
        place = np.full(len(matched), -1)
        place[matched] = np.arange(number)
        places = pa.array(place, mask=~matched)
        of_match = {
            **({} if self._several else {"match": self.id_column(sets.ids[earlier]).take(places)}),
            **{name: sets.carried(column, earlier).take(places) for name, column in self._columns_of_match.items()},
            "match_time": self._times(sets, earlier).take(places),
            "similarity": pa.array(similarity).take(places),
        }
        columns = self._columns(step, sets, np.repeat(own, times), of_match)
        return size, full_at, kept, np.repeat(session, times), columns

    def _columns(
        self, step: PassInput, sets: SetsInOrder, own: Int64, of_match: Mapping[str, pa.Array]
    ) -> list[pa.Array]:
        """The answer columns: of the sets `own`, all rows of the step, and of their matches."""
        rows = pa.array(own - (len(sets.order) - len(step.times)))
        columns = {
            "time": self._times(sets, own),
            **({} if self._several else {"id": self.id_column(sets.ids[own])}),
            **{name: step.rows[column].take(rows) for name, column in self._columns_of_row.items()},
            **of_match,
        }
        return [columns[name] for name in self.schema.names]

    def _times(self, sets: SetsInOrder, some: Int64) -> pa.Array:
        times = sets.columns[WHEN] if self._rows else sets.times
        return moments(times[some], self.schema.field("time").type)

    def processor(self, last: int, entries: Mapping[str, Column]) -> GroupProcessor:  # noqa: ARG002 - of an entry
        return self._processor(self.rows_of(entries))

    def rows_for_processor(self, rows: Rows) -> Rows:
        return at_their_times(rows) if self._rows else rows

    def check_entries(self, state: StateReader, owners: Int64) -> None:
        super().check_entries(state, owners)
        if self._rows:
            state.column(WHEN, np.int64, len(owners))
