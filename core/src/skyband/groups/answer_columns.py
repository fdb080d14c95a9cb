"""Answers as columns, of which Arrow makes one batch for all groups: what a processor may give instead of a batch."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from skyband.arrays import Array
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


ProcessorAnswers: TypeAlias = pa.RecordBatch | AnswerColumns


def as_batch(pieces: Sequence[ProcessorAnswers]) -> pa.RecordBatch:
    """Answers, at least one of them and all with the same columns, one after the other."""
    batches: list[pa.RecordBatch] = []
    for of_columns, run in groupby(pieces, lambda piece: isinstance(piece, AnswerColumns)):
        together: list[Any] = list(run)
        batches += [_batch(together)] if of_columns else together
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


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
