"""One group's stream of near-duplicates: each row is answered when it comes, with the matches it finds before it."""

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import pyarrow as pa
from skyband.arrays import TIME_MAX, Array, Int64
from skyband.columns.gaps_in_row_numbers import without_gaps
from skyband.columns.ids import ValuesByArrival, id_values
from skyband.columns.integer_ids import numbers_column
from skyband.columns.keyed_frames import PART
from skyband.columns.row_store_by_position import RowStore
from skyband.columns.rows import Rows
from skyband.columns.rows_behind_answers import carried_values
from skyband.groups import state_arrays
from skyband.groups.answer_columns import AnswerColumns, ProcessorAnswers
from skyband.groups.partitioning import PLACES, places_of
from skyband.groups.per_row_processor import PerRowProcessor
from skyband.queries.composite_ids import identity_names, several
from skyband.registry import Binding
from skyband.roles.sharding import PROBE

from skyband_setjoin.near_duplicates.query import (
    KEPT,
    MATCH_PLACE,
    PAIRS,
    PLACE,
    NearDuplicates,
    carried_of_match,
    match_names,
)
from skyband_setjoin.set_matcher import Matches, SetMatcher
from skyband_setjoin.tokens import sets_of_rows

WHEN = "when"
"""The column that has the time of each row, where row numbers stand in the place of times."""


def at_their_times(rows: Rows) -> Rows:
    """Rows whose numbers stood in the place of their times, with their times."""
    return Rows(rows[WHEN], {name: rows[name] for name in rows.names if name != WHEN})


class NearDuplicatesProcessor(PerRowProcessor):
    """Feeds a set matcher and gives its answers the names, times and columns of their rows."""

    def __init__(self, query: NearDuplicates, matcher: Binding, answers: pa.Schema) -> None:
        self._query = query
        self._binding = matcher
        self._schema = answers
        self._own = identity_names("id", query.id)
        self._plain = not several(query.id)
        self._shared = PLACE in answers.names
        self._begin()

    def _begin(self) -> None:
        self._matcher = cast(SetMatcher, self._binding.create(**self._query.backend_parameters("set-matcher")))
        own = [pa.field("name" if self._plain else name, self._schema.field(name).type) for name in self._own]
        of_match = [self._schema.field(name) for name in carried_of_match(self._query.carry_match)]
        self._known = RowStore([*own, *of_match])
        """Of the rows of the window, the columns of their ids and those to carry of a match."""
        self._times = ValuesByArrival(pa.int64())
        self._places = ValuesByArrival(PLACES)
        self._last: int | None = None

    @property
    def next_at(self) -> int:
        """When the window is empty, so that the group can be forgotten."""
        return TIME_MAX if self._last is None or self._query.rows else self._last + self._query.window.length

    @property
    def empty(self) -> bool:
        return self._last is None

    def advance(self, rows: Rows, until: int) -> ProcessorAnswers | None:
        answers = super().advance(rows, until)
        if self.next_at <= until and self.next_at != TIME_MAX:
            self._begin()
        return answers

    def finish(self, rows: Rows, latest: int) -> AnswerColumns | None:  # noqa: ARG002 - no moment is waited for
        return self.arrive(rows) if len(rows) else None

    def rows_in_session(self, times: Int64) -> int:
        if self._query.rows or not len(times):
            return len(times)
        if times[-1] - (times[0] if self._last is None else self._last) < self._query.window.length:
            return len(times)
        before = np.append(times[0] if self._last is None else self._last, times[:-1])
        apart = np.flatnonzero(times - before >= self._query.window.length)
        return int(apart[0]) if len(apart) else len(times)

    def begin_with(self, rows: Rows) -> "NearDuplicatesProcessor":
        """Go on from the sets of a small group, which are all kept, the last of its rows among them.

        Over windows in rows, those that the group no longer has are put in without tokens, so that they count in the
        window and match nothing. Those before its first set are left out.
        """
        if self._query.rows:
            rows, gone = without_gaps(rows)
            places = pa.array(np.arange(len(rows)), mask=gone)
            rows = at_their_times(rows.with_column("tokens", rows["tokens"].take(places)))
        self._take(rows)
        self._last = int(rows.times[-1])
        return self

    def arrive(self, rows: Rows) -> AnswerColumns | None:
        if self.next_at <= rows.times[0]:
            self._begin()
        begins = self._begins(rows.times)
        answers = self._answers(rows, *self._take(rows))
        if begins:
            # What came before is too old for what comes next: go on as if it had never been, however it was cut.
            self._begin()
            self._take(rows.slice(begins, len(rows)))
        seen, window = self._matcher.seen, self._matcher.window
        gone = seen + 1 - window if self._query.rows else int(rows.times[-1]) - window
        for arrivals in (self._known, self._times, self._places):
            arrivals.forget(gone)
        self._last = int(rows.times[-1])
        return answers

    def _begins(self, times: Int64) -> int:
        """The last row that finds the window empty, in time, after it has held some; 0 for none, or the first."""
        if self._query.rows or times[-1] - times[0] < self._query.window.length:
            return 0
        apart = np.flatnonzero(times[1:] - times[:-1] >= self._query.window.length)
        return int(apart[-1]) + 1 if len(apart) else 0

    def _take(self, rows: Rows) -> Matches:
        """Feed rows to the matcher."""
        seen = self._matcher.seen
        when = np.arange(seen, seen + len(rows)) if self._query.rows else rows.times
        sides = rows["side"] if self._matcher.sides == 2 else None
        self._known.update(when, [*self._named(rows), *self._carried(rows, self._query.carry_match)])
        self._times.update(when, numbers_column(rows.times))
        if self._shared:
            self._places.update(when, places_of(rows.times, rows["code"], rows["tie"]))
        parts = rows[PART] if self._shared else None
        return self._matcher.update(when, *sets_of_rows(rows), sides, parts)

    def _answers(self, rows: Rows, cuts: Int64, earlier: Int64, similarity: Array) -> AnswerColumns | None:
        if self._query.output == PAIRS and not len(earlier):
            return None
        counts = cuts[1:] - cuts[:-1]
        least = np.zeros(len(rows), np.int64)
        if self._query.output != PAIRS:
            least = (rows[PART] & PROBE).astype(bool).astype(np.int64) if self._shared else least + 1
        sizes = np.maximum(counts, least)
        arrivals = np.repeat(np.arange(len(rows)), sizes)
        places = np.full(len(arrivals), -1)
        places[np.repeat(counts > 0, sizes)] = np.arange(len(earlier))
        if self._query.output == KEPT and not self._shared:
            arrivals, places = arrivals[places < 0], places[places < 0]
        return self._table(rows, arrivals, earlier, similarity, pa.array(places, mask=places < 0))

    def _table(
        self, rows: Rows, arrivals: Int64, earlier: Int64, similarity: Array, places: pa.Array
    ) -> AnswerColumns | None:
        """The answers: of rows `arrivals`, each with the match at one of `places`, or with none where that is null."""
        if not len(arrivals):
            return None
        query = self._query
        matched = [*match_names(query.id), *carried_of_match(query.carry_match)]
        chosen, time = pa.array(arrivals), self._schema.field("time").type
        columns = {
            "time": rows.times[arrivals],
            **{name: ids.take(chosen) for name, ids in zip(self._own, self._named(rows), strict=True)},
            **{name: own.take(chosen) for name, own in zip(query.carry, self._carried(rows, query.carry), strict=True)},
            **{
                name: of_match.take(places) for name, of_match in zip(matched, self._known.lookup(earlier), strict=True)
            },
            "match_time": self._times.lookup(earlier).take(places).cast(time),
            "similarity": pa.array(similarity).take(places),
        }
        if self._shared:
            own = places_of(rows.times, rows["code"], rows["tie"])
            columns[PLACE] = own.take(chosen).cast(pa.binary())
            columns[MATCH_PLACE] = self._places.lookup(earlier).take(places).cast(pa.binary())
        return AnswerColumns(self._schema, [columns[name] for name in self._schema.names])

    @property
    def retained(self) -> int:
        return len(self._matcher)

    @property
    def nbytes(self) -> int:
        return self._matcher.nbytes

    def _named(self, rows: Rows) -> list[pa.Array]:
        """The columns of the id of each row."""
        kinds = [self._schema.field(name).type for name in self._own]
        if self._plain:
            return [id_values(rows, kinds[0])]
        return [carried_values(rows, number, kind) for number, kind in enumerate(kinds)]

    def _carried(self, rows: Rows, names: tuple[str, ...]) -> list[pa.Array]:
        """Columns of each row that are carried, of it or of it as a match."""
        first = len(several(self._query.id))
        columns = []
        for name in names:
            answered = name if name in self._query.carry else carried_of_match((name,))[0]
            number = first + self._query.carried_names.index(name)
            columns.append(carried_values(rows, number, self._schema.field(answered).type))
        return columns

    def _arrivals(self) -> dict[str, RowStore | ValuesByArrival]:
        return {"ids": self._known, "times": self._times, "places": self._places}

    def dump_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        arrays = state_arrays.with_prefix("matcher", self._matcher.dump_state())
        for name, arrivals in self._arrivals().items():
            arrays |= state_arrays.frame_to_array(name, arrivals.frame())
        return {"last": self._last}, arrays

    def load_state(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        self._last = header["last"]
        self._matcher.load_state(state_arrays.without_prefix("matcher", arrays))
        for name, arrivals in self._arrivals().items():
            arrivals.load_state(state_arrays.frame_from_array(name, arrays, arrivals.frame()), self._matcher.seen)
