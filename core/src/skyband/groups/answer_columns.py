"""Answers as columns, from which one batch is made for all groups of a micro-batch."""

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
    """Answers that are not a batch yet. Instants are int64 microseconds, other numbers unchanged; no value is null.

    Values that numpy cannot hold are Arrow arrays, or places in the values that `named` has for the column. Making a
    batch takes about 50 microseconds, whatever its size.
    """

    def __init__(
        self, schema: pa.Schema, columns: Sequence[Array | pa.Array], named: Mapping[str, pa.Array] = _NO_NAMES
    ) -> None:
        """named: values of columns by name, the same for all answers of a query."""
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
    """Answers as a backend returned them. One call makes the columns of all groups of a micro-batch, because any numpy
    call takes at least a microsecond.
    """

    def __init__(
        self, schema: pa.Schema, columns_of: "ColumnsOf", parts: Sequence[Any], rows: int,
        named: Mapping[str, pa.Array] = _NO_NAMES,
    ) -> None:  # fmt: skip
        """columns_of: makes the columns, as in `AnswerColumns`, from the consecutive `parts` of several groups; the
        same function for all answers of a query. rows: how many these make; named: as in `AnswerColumns`.
        """
        self.schema = schema
        self.columns_of = columns_of
        self.parts = parts
        self._rows = rows
        self.named = named

    def __len__(self) -> int:
        return self._rows


def sizes_and_ranks(offsets: Sequence[Int64]) -> tuple[Int64, Int64]:
    """int64[a], int64[n]: the number of entries of each answer, and the rank of each entry in its answer, from 1.

    offsets: for each of one or more groups, the beginnings and ends of its answers' entries. O(n).
    """
    begins, ends = (np.concatenate([own[part] for own in offsets]) for part in (slice(None, -1), slice(1, None)))
    sizes: Int64 = ends - begins
    ranks: Int64 = np.arange(1, int(sizes.sum()) + 1) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return sizes, ranks


ColumnsOf: TypeAlias = Callable[[Sequence[Sequence[Any]]], Sequence[Array | pa.Array]]
ProcessorAnswers: TypeAlias = pa.RecordBatch | AnswerColumns | RawAnswers


def as_batch(pieces: Sequence[ProcessorAnswers]) -> pa.RecordBatch:
    """Concatenates one or more answers with the same columns."""
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
    """The maker of columns of answers: their own function, or their type."""
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
