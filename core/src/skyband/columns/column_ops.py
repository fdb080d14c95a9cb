"""Operations on columns that are numpy arrays, or Arrow arrays for lists and ids of any type: pick, join, store."""

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
"""The values of a column: numbers of a numpy type, lists of numbers as pa.large_list, or another Arrow type."""
Column: TypeAlias = Any
"""Numbers as a numpy array, or an Arrow array."""


def empty(kind: Kind) -> Column:
    """A column of this kind without values."""
    return pa.array([], kind) if isinstance(kind, pa.DataType) else np.empty(0, kind)


def pick(column: Column, places: Array | slice) -> Column:
    """The values at these places: int64[m], those where a bool[n] is true, or a slice. O(bytes)."""
    if isinstance(column, np.ndarray) or isinstance(places, slice):
        return column[places]
    return column.filter(pa.array(places)) if places.dtype == bool else column.take(pa.array(places))


def of_kind(column: Column, kind: Kind) -> Column:
    """A column of rows converted to this kind; numpy arrays become Arrow arrays if it is an Arrow type."""
    if not isinstance(kind, pa.DataType):
        return column
    return (pa.array(column) if isinstance(column, np.ndarray) else column).cast(kind)


def joined(columns: Sequence[Column]) -> Column:
    """Concatenates one or more columns of one kind."""
    return np.concatenate(columns) if isinstance(columns[0], np.ndarray) else dictionaries.joined(columns)


def to_arrays(name: str, column: Column) -> dict[str, Array]:
    """A column as flat arrays of a state: numbers, all numbers of large lists and their sizes, or Arrow's bytes."""
    if isinstance(column, np.ndarray):
        return {name: column}
    if not pa.types.is_large_list(column.type):
        return record_batch_bytes.to_arrays(pa.RecordBatch.from_arrays([column], [name]), name)
    sizes = pc.list_value_length(column).to_numpy(zero_copy_only=False).astype(np.int32)
    return {name: column.flatten().to_numpy(zero_copy_only=False), f"{name} sizes": sizes}


def read(state: StateReader, name: str, kind: Kind, length: int) -> Column:
    """Inverse of `to_arrays`; numpy columns are writable. Raises SnapshotError."""
    if not isinstance(kind, pa.DataType):
        # Arrays of a snapshot are read-only, a different type for compiled code.
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
