"""Frames: record batches with a time and a group for each row, in the form operators take and engines ship."""

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from skyband.arrays import Array
from skyband.columns import compact_frames, dictionaries, record_batch_bytes
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


def joined(frames: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """One frame of several, not empty, in which the texts that name groups and objects may stay dictionaries."""
    names = frames[0].schema.names
    pieces = zip(*(frame.columns for frame in frames), strict=True)
    return pa.RecordBatch.from_arrays(
        [joined_column(name, own) for name, own in zip(names, pieces, strict=True)], names
    )


def joined_column(name: str, pieces: Sequence[pa.Array]) -> pa.Array:
    """One column of this name of those of several frames, as `joined` has it."""
    named = name == NAME or name.startswith(_BY)
    return dictionaries.joined(pieces if named else [decoded(piece) for piece in pieces])


def is_of_the_query(name: str) -> bool:
    """Whether a column of this name is the query's own: not time, group, what names that, or which copy a row is."""
    return name not in (TIME, GROUP, COPY) and not name.startswith(_BY)


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
