"""Answers of which one batch is made for all groups of a turn: what a processor may give instead of a batch."""

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from skyband.arrays import Array, Int64
from skyband.columns.integer_ids import numbers_column

_NO_NAMES: Mapping[str, pa.Array] = MappingProxyType({})


class AnswerColumns:
    """Answers that are no batch yet. Instants are int64 microseconds, other numbers as they are; no value is null.

    What numpy does not hold is an Arrow array, or places in the values that `named` has for the column. A batch takes
    some 50 microseconds, whatever is in it.
    """

    def __init__(
        self, schema: pa.Schema, columns: Sequence[Array | pa.Array], named: Mapping[str, pa.Array] = _NO_NAMES
    ) -> None:
        """named: of columns by name, the same for all answers of a query."""
        self.schema = schema
        self.columns = columns
        self.named = named

    def __len__(self) -> int:
        return len(self.columns[0])

    def pick(self, mask: Array) -> "AnswerColumns":
        """The rows where `mask`, bool[n], is true."""
        arrow = pa.array(mask)
        return AnswerColumns(
            self.schema,
            [column[mask] if isinstance(column, np.ndarray) else column.filter(arrow) for column in self.columns],
            self.named,
        )


class RawAnswers:
    """Answers as a backend gave them. The columns of all groups of a turn are made by one call: one of numpy takes a
    microsecond, whatever is in it.
    """

    def __init__(
        self, schema: pa.Schema, columns_of: "ColumnsOf", parts: Sequence[Any], rows: int,
        named: Mapping[str, pa.Array] = _NO_NAMES,
    ) -> None:  # fmt: skip
        """columns_of: makes the columns, as `AnswerColumns` has them, of the `parts` of several groups, one after the
        other; one function for all answers of a query. rows: how many these make; named: as of `AnswerColumns`.
        """
        self.schema = schema
        self.columns_of = columns_of
        self.parts = parts
        self._rows = rows
        self.named = named

    def __len__(self) -> int:
        return self._rows


def sizes_and_ranks(offsets: Sequence[Int64]) -> tuple[Int64, Int64]:
    """How many entries each answer has, and of each entry which of its answer it is, from 1 on: int64[a], int64[n].

    offsets: of each of several groups, one or more, where the entries of its answers begin and end. O(n).
    """
    begins, ends = (np.concatenate([one[part] for one in offsets]) for part in (slice(None, -1), slice(1, None)))
    sizes: Int64 = ends - begins
    ranks: Int64 = np.arange(1, int(sizes.sum()) + 1) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return sizes, ranks


ColumnsOf: TypeAlias = Callable[[Sequence[Sequence[Any]]], Sequence[Array | pa.Array]]
ProcessorAnswers: TypeAlias = pa.RecordBatch | AnswerColumns | RawAnswers


def as_batch(pieces: Sequence[ProcessorAnswers]) -> pa.RecordBatch:
    """Answers, at least one of them and all with the same columns, one after the other."""
    batches: list[pa.RecordBatch] = []
    for made_by, run in groupby(pieces, _made_by):
        together: list[Any] = list(run)
        if made_by is pa.RecordBatch:
            batches += together
            continue
        if made_by is not AnswerColumns:
            first, columns = together[0], made_by([piece.parts for piece in together])
            together = [AnswerColumns(first.schema, columns, first.named)]
        batches.append(_batch(together))
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def _made_by(piece: ProcessorAnswers) -> Any:
    """What makes columns of answers: their own function, or their type."""
    if isinstance(piece, RawAnswers):
        return piece.columns_of
    return AnswerColumns if isinstance(piece, AnswerColumns) else pa.RecordBatch


def _batch(pieces: Sequence[AnswerColumns]) -> pa.RecordBatch:
    schema = pieces[0].schema
    columns = zip(*(piece.columns for piece in pieces), strict=True)
    named = pieces[0].named
    together = [_column(parts, field.type, named.get(field.name)) for parts, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(together, schema=schema)


def _column(parts: Sequence[Array | pa.Array], kind: pa.DataType, values: pa.Array | None) -> pa.Array:
    if not isinstance(parts[0], np.ndarray):
        return pa.concat_arrays(parts)
    column = numbers_column(np.concatenate(parts))
    if values is not None:
        return values.take(column)
    return column if column.type == kind else column.cast(kind)
