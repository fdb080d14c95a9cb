"""Frames: record batches with a time and a group for each row, in the form operators take and engines ship."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from skyband.arrays import Array, Int64, UInt64
from skyband.columns import compact_frames, dictionaries, record_batch_bytes
from skyband.columns.row_order import row_order
from skyband.roles.sharding import BOTH

TIME = "time"
GROUP = "group"
_BY = "by."
NAME = "name"
"""The text, or other value, of an object that its id does not tell; text may be a dictionary."""
PART = "part"
"""What a row does in a shard, where it goes to several (see `skyband.groups.partitioning`)."""
COPY = "copy"
"""Of a query of several groupings: 0 for the row itself, in a group of the first, 1 where it stands in another."""


def by_column(number: int) -> str:
    """The frame column that carries the grouping column of this number."""
    return f"{_BY}{number}"


def concatenated(frames: list[pa.RecordBatch]) -> pa.RecordBatch:
    """One frame of several, not empty. Dictionaries are decoded, so that none grows for ever."""
    plain = [with_columns(frame, decoded) for frame in frames]
    return plain[0] if len(plain) == 1 else pa.concat_batches(plain)


def joined(frames: list[pa.RecordBatch]) -> pa.RecordBatch:
    """One frame of several, not empty, in which the texts that name groups and objects may stay dictionaries."""
    schema = frames[0].schema
    columns = []
    for place, name in enumerate(schema.names):
        pieces = [frame.column(place) for frame in frames]
        named = name == NAME or name.startswith(_BY)
        columns.append(dictionaries.joined(pieces if named else [decoded(piece) for piece in pieces]))
    return pa.RecordBatch.from_arrays(columns, names=schema.names)


def with_columns(frame: pa.RecordBatch, make: Callable[[pa.Array], pa.Array]) -> pa.RecordBatch:
    """The frame with what is made of each column."""
    return pa.RecordBatch.from_arrays([make(column) for column in frame.columns], names=frame.schema.names)


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type in which answers give values of this type back: itself, without a dictionary."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def with_int32_codes(kind: pa.DataType) -> pa.DataType:
    """The type itself, or of a dictionary with narrower codes that with codes of 32 bits."""
    if not pa.types.is_dictionary(kind) or kind.index_type.bit_width > 16:
        return kind
    return pa.dictionary(pa.int32(), kind.value_type, kind.ordered)


def decoded(column: pa.Array) -> pa.Array:
    """A column without its dictionary."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def with_one_zero(column: pa.Array) -> pa.Array:
    """A column in which −0.0 is 0.0, as it is to a hash: a group or an object has one name, whichever came first.

    Floats are decoded where they are a dictionary.
    """
    if not pa.types.is_floating(plain_type(column.type)):
        return column
    column = decoded(column)
    values = column.to_numpy(zero_copy_only=False)
    mask = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    return pa.array(values + values.dtype.type(0), column.type, mask=mask)


def typed(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """A plain column as this type, which may be a dictionary of its values."""
    if not pa.types.is_dictionary(kind):
        return column.cast(kind)
    encoded = column.dictionary_encode()
    return pa.DictionaryArray.from_arrays(
        encoded.indices.cast(kind.index_type), encoded.dictionary.cast(kind.value_type), ordered=kind.ordered
    )


def parted(frame: pa.RecordBatch, mask: Array) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """The rows where `mask`, bool[n], is true, and the others; without copying where the former come first."""
    count = int(np.count_nonzero(mask))
    if mask[:count].all():
        return frame.slice(0, count), frame.slice(count)
    return frame.filter(pa.array(mask)), frame.filter(pa.array(~mask))


def ordered(frame: pa.RecordBatch, ties: tuple[str, ...]) -> pa.RecordBatch:
    """The frame by group, then time, then the columns `ties`: one order, however its rows arrived. O(n log n)."""
    keys = [frame.column(name).to_numpy() for name in (GROUP, TIME, *ties)]
    group, times = keys[0], keys[1]
    rising = times[1:] > times[:-1] if ties else times[1:] >= times[:-1]
    if (group[1:] == group[:-1]).all() and rising.all():
        return frame
    return frame.take(pa.array(row_order(group, times, keys[2:])))


def group_spans(frame: pa.RecordBatch) -> tuple[UInt64, Int64]:
    """The groups of an ordered frame, uint64[g], and the rows [start, stop) of each, int64[g, 2]."""
    groups = frame.column(GROUP).to_numpy()
    starts = np.append(0, np.flatnonzero(groups[1:] != groups[:-1]) + 1)[: len(groups)]
    return groups[starts], np.stack([starts, np.append(starts[1:], len(groups))[: len(starts)]], axis=1)


def payload(frame: pa.RecordBatch) -> tuple[Int64, dict[str, Any]]:
    """A frame's times and its query's columns: numbers as numpy, lists and ids of any type as Arrow arrays."""
    columns = {}
    for name, column in zip(frame.schema.names, frame.columns, strict=True):
        if name not in (TIME, GROUP, COPY) and not name.startswith(_BY):
            number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
            columns[name] = column.to_numpy() if number and not column.null_count else column
    return frame.column(TIME).to_numpy(), columns


def own(frame: pa.RecordBatch) -> Array:
    """bool[n]: the rows that are this shard's own; a row that goes to several, or is in several groups, counts once."""
    if COPY in frame.schema.names:
        return frame.column(COPY).to_numpy() == 0
    if PART not in frame.schema.names:
        return np.ones(len(frame), bool)
    mine: Array = frame.column(PART).to_numpy() == BOTH
    return mine


def own_count(frame: pa.RecordBatch) -> int:
    """How many rows of a frame are this shard's own."""
    plain = PART not in frame.schema.names and COPY not in frame.schema.names
    return len(frame) if plain else int(np.count_nonzero(own(frame)))


def to_bytes(frame: pa.RecordBatch) -> bytes:
    """A frame as bytes, each column as it is: equal frames give equal bytes."""
    return record_batch_bytes.to_bytes(frame)


def from_bytes(data: bytes | memoryview | Array) -> pa.RecordBatch:
    """A frame back from its bytes, or those of `compact_frames.to_bytes`. Raises SnapshotError where they are none."""
    return compact_frames.from_bytes(data.data if isinstance(data, np.ndarray) else data)
