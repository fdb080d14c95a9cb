"""Text columns as dictionaries: compacts and joins them, and finds the last row of each word."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.arrays import Int64

_SAMPLE = 1024
_MOST_DISTINCT = 0.7
"""The share of distinct values in a sample above which codes are not worth their cost."""


def is_dictionary_of_text(kind: pa.DataType) -> bool:
    """Whether this is the type of dictionaries of text."""
    return pa.types.is_dictionary(kind) and pa.types.is_string(kind.value_type)


def with_wide_codes(column: pa.Array) -> pa.Array:
    """A dictionary of text that can be joined to others: its codes are int32, and none of its words is null."""
    if column.dictionary.null_count:
        return compact(column)  # rows of that word are null anyway
    if column.type.index_type == pa.int32() and not column.type.ordered:
        return column
    return pa.DictionaryArray.from_arrays(column.indices.cast(pa.int32()), column.dictionary)


def compact(column: pa.Array) -> pa.Array:
    """A dictionary with only the used words, in order of first use. O(rows)."""
    used = pc.dictionary_encode(column.indices)
    return pa.DictionaryArray.from_arrays(used.indices, column.dictionary.take(used.dictionary))


def repeats(values: pa.Array) -> bool:
    """Whether a sample of the column's rows has many repeated values."""
    sample = values.take(pa.array(np.arange(0, len(values), max(len(values) // _SAMPLE, 1))))
    return pc.count_distinct(sample, mode="all").as_py() < _MOST_DISTINCT * len(sample)


def joined(columns: Sequence[pa.Array]) -> pa.Array:
    """Concatenates one or more columns of one kind of values; text stays a dictionary if it is one in all."""
    if len(columns) == 1:
        return columns[0]
    if not all(column.type == columns[0].type and _joins(column) for column in columns):
        columns = [column.dictionary_decode() if pa.types.is_dictionary(column.type) else column for column in columns]
    return pa.concat_arrays(columns)


def concatenated(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Concatenates one or more batches whose columns have one kind of values each."""
    if len(batches) == 1:
        return batches[0]
    columns = [joined([*pieces]) for pieces in zip(*(batch.columns for batch in batches), strict=True)]
    return pa.RecordBatch.from_arrays(columns, names=batches[0].schema.names)


def _joins(column: pa.Array) -> bool:
    """Whether Arrow can concatenate it with others of its type: wide codes, and no null among the words."""
    if not pa.types.is_dictionary(column.type):
        return True
    is_wide = is_dictionary_of_text(column.type) and column.type.index_type == pa.int32()
    return is_wide and not column.dictionary.null_count


def last_of_each(column: pa.Array) -> Int64 | None:
    """int64[m], ascending: the last row of each word; None if it is not a dictionary, or has too many words."""
    if not pa.types.is_dictionary(column.type) or column.null_count or 2 * len(column.dictionary) > len(column):
        return None
    last = np.full(len(column.dictionary), -1, np.int64)
    last[column.indices.to_numpy()] = np.arange(len(column))  # the last assignment to each word stays
    last.sort()
    return last[np.searchsorted(last, 0) :]
