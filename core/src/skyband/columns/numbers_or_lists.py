"""Columns as numpy, or as Arrow where they hold lists or ids of any type: both are picked from and joined alike."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from skyband.arrays import Array
from skyband.columns import dictionaries, record_batch_bytes
from skyband.state_validation import StateReader

Kind: TypeAlias = npt.DTypeLike | pa.DataType
"""What a column holds: numbers of a numpy type, lists of numbers as pa.large_list, or values of another Arrow type."""
Column: TypeAlias = Any
"""Numbers as numpy, or an Arrow array."""


def empty(kind: Kind) -> Column:
    """A column of this kind without values."""
    return pa.array([], kind) if isinstance(kind, pa.DataType) else np.empty(0, kind)


def pick(column: Column, places: Array | slice) -> Column:
    """The values at these places: int64[m], those where a bool[n] is true, or a slice. O(bytes)."""
    if isinstance(column, np.ndarray) or isinstance(places, slice):
        return column[places]
    return column.filter(pa.array(places)) if places.dtype == bool else column.take(pa.array(places))


def of_kind(column: Column, kind: Kind) -> Column:
    """A column of rows as one of this kind, which those of Arrow's types may be numpy for."""
    if not isinstance(kind, pa.DataType):
        return column
    return (pa.array(column) if isinstance(column, np.ndarray) else column).cast(kind)


def joined(columns: Sequence[Column]) -> Column:
    """Columns of one kind, at least one, one after another."""
    return np.concatenate(columns) if isinstance(columns[0], np.ndarray) else dictionaries.joined(columns)


def to_arrays(name: str, column: Column) -> dict[str, Array]:
    """A column as flat arrays of a state: numbers, the numbers of all large lists and their sizes, or Arrow's bytes."""
    if isinstance(column, np.ndarray):
        return {name: column}
    if not pa.types.is_large_list(column.type):
        return record_batch_bytes.to_arrays(pa.RecordBatch.from_arrays([column], [name]), name)
    sizes = pc.list_value_length(column).to_numpy(zero_copy_only=False).astype(np.int32)
    return {name: column.flatten().to_numpy(zero_copy_only=False), f"{name} sizes": sizes}


def read(state: StateReader, name: str, kind: Kind, length: int) -> Column:
    """The column again that `to_arrays` gave, to be written to where it is numpy's. Raises SnapshotError."""
    if not isinstance(kind, pa.DataType):
        # Arrays of a snapshot are read-only, which is another type to compiled code.
        return np.require(state.column(name, kind, length), requirements="W")
    if not pa.types.is_large_list(kind):
        schema = pa.schema([(name, kind)])
        return record_batch_bytes.from_arrays(schema, length, name, state.arrays).column(0)
    values = state.column(name, kind.value_type.to_pandas_dtype())
    sizes = state.column(f"{name} sizes", np.int32, length, at_least=0)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
    state.require(
        int(offsets[-1]) == len(values), f"{name} sizes", f"must add up to {len(values)}, the number of values"
    )
    return pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(values))
