"""Builds the answers of many groups at once: the columns of rows next to those of their matches."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from skyband.arrays import Array, Float64, Int64
from skyband.columns.ids import id_values
from skyband.columns.rows import Rows
from skyband.columns.rows_behind_answers import carried, carried_values
from skyband.queries.composite_ids import identity_names, several

from skyband_setjoin.row_matches.query import MATCH_PLACE, PLACE, MatchingQuery, carried_of_match, match_names

MATCH_TIME = "match_time"
SIMILARITY = "similarity"


class RowColumns:
    """Answer columns of rows: their ids, and the columns carried of the row itself or of a match."""

    def __init__(self, query: MatchingQuery, answers: pa.Schema) -> None:
        self.query = query
        self.answers = answers
        self._ids = identity_names("id", query.id)
        self._plain = not several(query.id)
        self._first = len(several(query.id))

    def ids(self, rows: Rows) -> list[pa.Array]:
        """The id columns of each row."""
        kinds = [self.answers.field(name).type for name in self._ids]
        if self._plain:
            return [id_values(rows, kinds[0])]
        return [carried_values(rows, number, kind) for number, kind in enumerate(kinds)]

    def carried(self, rows: Rows) -> list[pa.Array]:
        """The carried columns of each row."""
        return [self._carried(rows, name, name) for name in self.query.carry]

    def carried_of_match(self, rows: Rows) -> list[pa.Array]:
        """The carried columns of each row as a match."""
        names = self.query.carry_match
        return [self._carried(rows, *both) for both in zip(names, carried_of_match(names), strict=True)]

    def _carried(self, rows: Rows, name: str, answered: str) -> pa.Array:
        number = self._first + self.query.carried_names.index(name)
        return carried_values(rows, number, self.answers.field(answered).type)

    def of_match(self) -> list[pa.Field]:
        """The fields of a match in answers, apart from its similarity, as stored."""
        fields = [self.answers.field(name) for name in self._ids]
        fields = [field.with_name("name") for field in fields] if self._plain else fields
        return [*fields, *map(self.answers.field, carried_of_match(self.query.carry_match))]

    def needed(self, rows: Rows) -> Rows:
        """The rows with only the columns that answers contain."""
        numbers = range(self._first + len(self.query.carried_names))
        names = [name for name in ("code", "name", *map(carried, numbers)) if name in rows]
        return Rows(rows.times, {name: rows[name] for name in names})


class Answered(NamedTuple):
    """The answers of some rows of a group."""

    columns: RowColumns
    """Equal for every group."""
    rows: Rows
    arrivals: Int64
    """The row of each answer."""
    places: Int64
    """The match of each answer, -1 for none."""
    similarity: Float64
    matches: Sequence[pa.Array]
    """The stored columns of the matches; empty if there are none."""
    row_places: pa.Array | None
    """The place of each answer's row in the order of all rows, if shards need it."""


def columns_of(answers: Sequence[Sequence[Any]]) -> list[Array | pa.Array]:
    """The answer columns of many groups, each an `Answered`. O(answers)."""
    parts = [Answered(*each) for each in answers]
    columns, query, schema = parts[0].columns, parts[0].columns.query, parts[0].columns.answers
    rows = Rows.joined([part.rows for part in parts])
    arrivals = _joined([part.arrivals for part in parts], [len(part.rows) for part in parts])
    indices = pa.array(arrivals)
    answered: dict[str, Array | pa.Array] = {"time": rows.times[arrivals]}
    named = zip(identity_names("id", query.id), columns.ids(rows), strict=True)
    answered |= {name: own.take(indices) for name, own in named}
    answered |= {name: own.take(indices) for name, own in zip(query.carry, columns.carried(rows), strict=True)}
    if SIMILARITY in schema.names or PLACE in schema.names:
        places = _joined([part.places for part in parts], [len(part.similarity) for part in parts])
        of_match = [*match_names(query.id), *carried_of_match(query.carry_match), MATCH_TIME, MATCH_PLACE]
        with_matches = [part.matches for part in parts if len(part.similarity)]
        similarity = pa.array(np.concatenate([part.similarity for part in parts]))
        which = pa.array(places, mask=places < 0)
        answered[SIMILARITY] = similarity.take(which)
        for number, name in enumerate(of_match):
            if name in schema.names:
                kind = schema.field(name).type
                stored = [matches[number] for matches in with_matches]
                answered[name] = (
                    pa.concat_arrays(stored).take(which).cast(kind) if stored else pa.nulls(len(places), kind)
                )
    if PLACE in schema.names:
        of_rows = [part.row_places for part in parts if part.row_places is not None]
        answered[PLACE] = pa.concat_arrays(of_rows).cast(schema.field(PLACE).type)
    return [answered[name] for name in schema.names]


def _joined(places: Sequence[Int64], sizes: Sequence[int]) -> Int64:
    """Places within each part as places in all parts one after the other; negative places stay."""
    joined = np.concatenate(places)
    begins = np.repeat(np.cumsum([0, *sizes[:-1]]), [len(some) for some in places])
    moved: Int64 = np.where(joined < 0, joined, joined + begins)
    return moved
