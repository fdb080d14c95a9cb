"""Answers prepared for charts: moments as numbers, names as text, from any file format."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import field, frozen
from skyband.arrays import Array, Float64, Int64
from skyband.columns.keyed_frames import plain_type
from skyband.errors import InputError, suggest
from skyband.instants import python_values
from skyband.queries.output_modes import CHANGE
from skyband.text_tables import text
from skyband_jobs.files.text_values import instants

MOMENTS = ("at", "time")
"""The names of the column of moments, in order of preference."""
_FARTHEST = 8_640_000_000_000_000_000 - 1
"""Microseconds from 1970 of the dates that browsers support, the years -271821 to 275760."""


@frozen(eq=False)
class Answers:
    """A table of answers ordered by moment.

    at: int64[n], microseconds since the epoch or, with `in_rows`, rows. unplaced: the number of rows left out because
    charts cannot show their moment.
    """

    table: pa.Table
    moment: str
    at: Int64
    in_rows: bool
    zone: str
    by: tuple[str, ...]
    unplaced: int = 0
    _codes: dict[str, tuple[Int64, list[str]]] = field(factory=dict, init=False)
    """Cached codes by column."""

    def __len__(self) -> int:
        return len(self.at)

    @property
    def after(self) -> list[str]:
        """The columns that are neither grouping columns nor the moment, in order."""
        return [name for name in self.table.column_names if name not in (*self.by, self.moment)]

    def where(self, mask: Array) -> "Answers":
        """The answers where bool[n] is true."""
        rows = self.table.filter(pa.array(mask))
        return Answers(rows, self.moment, self.at[mask], self.in_rows, self.zone, self.by, self.unplaced)

    def newest(self, most: int) -> "Answers":
        """The last `most` answers, the newest first."""
        return self.take(np.arange(len(self) - 1, max(len(self) - most, 0) - 1, -1))

    def take(self, places: Int64) -> "Answers":
        """The answers at these places, int64[m], in this order."""
        rows = self.table.take(pa.array(places))
        return Answers(rows, self.moment, self.at[places], self.in_rows, self.zone, self.by, self.unplaced)

    def numbers(self, name: str) -> Float64:
        """The float64[n] of a column; NaN for null."""
        return _numbers(self.table.column(name)).to_numpy(zero_copy_only=False).astype(np.float64)

    def is_number(self, name: str) -> bool:
        """Whether a column holds numbers, also as text."""
        try:
            _numbers(self.table.column(name))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return False
        return True

    def has_fractions(self, name: str) -> bool:
        """Whether a column holds floats or decimals, or numbers as text, one of them with a fraction."""
        kind = plain_type(self.table.schema.field(name).type)
        if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            return True
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)) or not self.is_number(name):
            return False
        return bool(pc.any(pc.match_substring(self.table.column(name).cast(pa.string()), ".")).as_py())

    def codes(self, name: str) -> tuple[Int64, list[str]]:
        """int64[n], the place of each row's value in a list of texts, distinct for distinct values."""
        if name not in self._codes:
            self._codes[name] = self._encoded(name)
        return self._codes[name]

    def _encoded(self, name: str) -> tuple[Int64, list[str]]:
        column = self.table.column(name)
        encoded = column.cast(plain_type(column.type)).combine_chunks()
        if isinstance(encoded, pa.ChunkedArray):  # without chunks
            encoded = pa.array([], encoded.type)
        encoded = encoded.dictionary_encode(null_encoding="encode")
        values = [shown(value) for value in python_values(encoded.dictionary)]
        return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), values

    def texts(self, name: str) -> list[str]:
        """A column's values as readable text."""
        return [shown(value) for value in python_values(self.table.column(name))]

    def cells(self, name: str) -> list[str]:
        """A column's values for a table: empty for null, fractions with four places."""
        return [text(value) for value in python_values(self.table.column(name))]


def read(table: pa.Table, by: Sequence[str] = ()) -> Answers:
    """Answers of any query; `by`: their grouping columns, by default those before the moment.

    Raises InputError if these are not answers, or columns are missing.
    """
    names = table.column_names
    moment = next((name for name in MOMENTS if name in names), None)
    if moment is None:
        raise InputError("table", f"has no column 'at' or 'time' like answers (its columns: {', '.join(names)})")
    for name in by:
        if name not in names:
            raise InputError("by", f"there is no column {name!r}; {suggest(name, names)}")
    if any(pa.types.is_binary(table.schema.field(name).type) for name in names if name == "state"):
        message = "holds states, not answers: draw the output of a job, or of `skyband ask`, which answers windows"
        raise InputError("table", message)
    if names[names.index(moment) + 1 :][:1] == [CHANGE.name]:
        raise InputError("table", 'holds changes, not answers: draw the output of a job without answers = "changes"')
    column = _moments(moment, table.column(moment))
    in_rows = pa.types.is_integer(column.type)
    zone = "" if in_rows or column.type.tz is None else "UTC"
    at = column.cast(pa.int64())
    placed = pc.fill_null(pc.and_(pc.less_equal(at, _FARTHEST), pc.greater_equal(at, -_FARTHEST)), False)
    unplaced = len(table) - (pc.sum(placed).as_py() or 0)
    if unplaced:
        table, at = table.filter(placed), at.filter(placed)
    order = pc.sort_indices(pa.table({"at": at}), sort_keys=[("at", "ascending")])
    grouping = tuple(by) or tuple(names[: names.index(moment)])
    moments = at.take(order).to_numpy().astype(np.int64)
    return Answers(table.take(order), moment, moments, in_rows, zone, grouping, unplaced)


def shown(value: Any) -> str:
    """A value as text in a chart, without characters that break a line or change its direction."""
    if value is None:
        return "null"
    if isinstance(value, float):
        return f"{value:.12g}"
    return text(value) or "''"


def _moments(name: str, column: Any) -> Any:
    """The moments as whole numbers, or timestamps in microseconds."""
    kind = column.type
    try:
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            column = column.cast(pa.string())
            if isinstance(column, pa.ChunkedArray):
                column = column.combine_chunks()
            try:
                return column.cast(pa.int64())
            except pa.ArrowInvalid:
                return instants(column)
        if pa.types.is_integer(kind):
            return column.cast(pa.int64())
        return column.cast(pa.timestamp("us", getattr(kind, "tz", None)), safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(name, f"must be moments, timestamps or whole numbers (it is {kind}): {error}") from error


def _numbers(column: Any) -> Any:
    kind = plain_type(column.type)
    if pa.types.is_boolean(kind) or pa.types.is_temporal(kind):
        raise pa.ArrowInvalid("not a number")
    return column.cast(kind).cast(pa.float64(), safe=False)
