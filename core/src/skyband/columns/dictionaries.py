"""Columns of text as dictionaries: of the words that are there, and which row has each last."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.arrays import Int64

_SAMPLE = 1024
_MOST_DISTINCT = 0.7
"""Of a sample of rows, from which on codes are not worth their making."""


def is_dictionary_of_text(kind: pa.DataType) -> bool:
    """Whether columns of this type are text that stands once."""
    return pa.types.is_dictionary(kind) and pa.types.is_string(kind.value_type)


def with_wide_codes(column: pa.Array) -> pa.Array:
    """A dictionary of text that can be joined to others: its codes are int32, and none of its words is null."""
    if column.dictionary.null_count:
        return compact(column)  # the rows of that word are null already
    if column.type.index_type == pa.int32() and not column.type.ordered:
        return column
    return pa.DictionaryArray.from_arrays(column.indices.cast(pa.int32()), column.dictionary)


def compact(column: pa.Array) -> pa.Array:
    """A dictionary with the words that are there alone, in the order in which they come. O(rows)."""
    used = pc.dictionary_encode(column.indices)
    return pa.DictionaryArray.from_arrays(used.indices, column.dictionary.take(used.dictionary))


def repeats(values: pa.Array) -> bool:
    """Whether a column, by a sample of its rows, has its values several times."""
    sample = values.take(pa.array(np.arange(0, len(values), max(len(values) // _SAMPLE, 1))))
    return pc.count_distinct(sample, mode="all").as_py() < _MOST_DISTINCT * len(sample)


def joined(columns: Sequence[pa.Array]) -> pa.Array:
    """Columns of one kind of values, at least one, one after another; text stays a dictionary where it is all so."""
    if len(columns) == 1:
        return columns[0]
    if not all(column.type == columns[0].type and _joins(column) for column in columns):
        columns = [column.dictionary_decode() if pa.types.is_dictionary(column.type) else column for column in columns]
    return pa.concat_arrays(columns)


def concatenated(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Batches with columns of one kind of values each, at least one, one after another."""
    if len(batches) == 1:
        return batches[0]
    columns = [joined([*pieces]) for pieces in zip(*(batch.columns for batch in batches), strict=True)]
    return pa.RecordBatch.from_arrays(columns, names=batches[0].schema.names)


def _joins(column: pa.Array) -> bool:
    """Whether Arrow joins it to others of its type whatever words they have: it knows no more codes, and no null."""
    if not pa.types.is_dictionary(column.type):
        return True
    is_wide = is_dictionary_of_text(column.type) and column.type.index_type == pa.int32()
    return is_wide and not column.dictionary.null_count


def last_of_each(column: pa.Array) -> Int64 | None:
    """int64[m], ascending: the last row of each word of a dictionary; None where it is none, or has too many words."""
    if not pa.types.is_dictionary(column.type) or column.null_count or 2 * len(column.dictionary) > len(column):
        return None
    last = np.full(len(column.dictionary), -1, np.int64)
    last[column.indices.to_numpy()] = np.arange(len(column))  # of rows of one word the last is the one that stays
    last.sort()
    return last[np.searchsorted(last, 0) :]
