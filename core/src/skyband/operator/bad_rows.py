"""Rows that a query cannot use, put aside so that the others are answered as if these did not exist."""

from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

import numpy as np
import pyarrow as pa

from skyband.arrays import Array
from skyband.errors import InputError
from skyband.instants import python_values
from skyband.queries.query import Query

T = TypeVar("T")

Unreadable: TypeAlias = Sequence[tuple[InputError, str | None]]
"""Rows or files that cannot be read: an error whose `argument` is the place, and the text of a row."""
RefuseUnreadable: TypeAlias = Callable[[Unreadable], None]

REASON, FIELD, VALUE = "_reason", "_field", "_value"
"""Columns of bad rows besides their own, all text: what is wrong, the column or key of the query, and its
value."""
LATE = "came after the watermark"
"""The reason of late rows, which are written like bad ones."""


def bad_rows_schema(query: Query, schema: pa.Schema) -> pa.Schema:
    """The schema of bad rows: the columns that the query reads, and what is wrong."""
    reasons = [pa.field(name, pa.string()) for name in (REASON, FIELD, VALUE)]
    return pa.schema([*(schema.field(name).with_nullable(True) for name in query.columns), *reasons])


def unreadable_rows(query: Query, schema: pa.Schema, refused: Unreadable) -> pa.RecordBatch:
    """Rows, or whole files, that could not be read at all: null in each column, the place as field, and a row's text
    as value."""
    of_bad = bad_rows_schema(query, schema)
    nothing = [pa.nulls(len(refused), field.type) for field in list(of_bad)[:-3]]
    why = (
        [error.reason for error, _ in refused],
        [error.argument for error, _ in refused],
        [row for _, row in refused],
    )
    columns = [*nothing, *(pa.array(texts, pa.string()) for texts in why)]
    return pa.RecordBatch.from_arrays(columns, schema=of_bad)


def late_rows(query: Query, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Late rows, unchanged, with their time as what is wrong."""
    rows = _with_columns(rows, LATE, query.time)
    return pa.RecordBatch.from_arrays(rows.columns, schema=bad_rows_schema(query, rows.schema))


def without_bad_rows(
    query: Query, batch: pa.RecordBatch, encode: Callable[[Query, pa.RecordBatch], T]
) -> tuple[T, pa.RecordBatch | None]:
    """The result of `encode` for the rows that it accepts, and the others with what is wrong; None if all are accepted.

    It is called again for each kind of fault, without all rows that have it (`InputError.rows`).
    """
    places, pieces = np.arange(len(batch)), []
    rest = batch
    while True:
        try:
            encoded = encode(query, rest)
            break
        except InputError as error:
            refused = _refused(error, len(rest))
            if refused is None:
                raise
            pieces.append((places[refused], _with_reason(query, rest.filter(pa.array(refused)), error)))
            places, rest = places[~refused], rest.filter(pa.array(~refused))
    if not pieces:
        return encoded, None
    order = np.argsort(np.concatenate([rows for rows, _ in pieces]))
    bad = pa.concat_batches([piece for _, piece in pieces]).take(pa.array(order))
    nullable = pa.schema([field.with_nullable(True) for field in bad.schema])
    return encoded, pa.RecordBatch.from_arrays(bad.columns, schema=nullable)


def _refused(error: InputError, length: int) -> Array | None:
    """bool[n]: the rows that an error is about; None if it is not about rows."""
    places = [error.row] if error.rows is None and error.row is not None else error.rows
    if places is None:
        return None
    refused = np.isin(np.arange(length), places)
    return refused if refused.any() else None


def _with_reason(query: Query, rows: pa.RecordBatch, error: InputError) -> pa.RecordBatch:
    # For a key with several columns, the first: errors about others name their column.
    of_key = (column.column for column in query.inputs() if column.key == error.argument)
    return _with_columns(rows, error.reason, next(of_key, error.argument))


def _with_columns(rows: pa.RecordBatch, reason: str, column: str) -> pa.RecordBatch:
    texts: list[str | None] = [None] * len(rows)
    if column in rows.schema.names:
        texts = [None if value is None else str(value) for value in python_values(rows.column(column))]
    for name, values in ((REASON, [reason] * len(rows)), (FIELD, [column] * len(rows)), (VALUE, texts)):
        rows = rows.append_column(name, pa.array(values, pa.string()))
    return rows
