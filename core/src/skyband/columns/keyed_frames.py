"""Frames: record batches with a time and a group for each row, the form that operators take and engines send."""

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
"""The text, or other value, of an object that its id does not determine; text may be a dictionary."""
PART = "part"
"""What a row does in a shard, if it goes to several (see `skyband.groups.partitioning`)."""
COPY = "copy"
"""For a query of several groupings: 0 for the row itself, in a group of the first, 1 for its copies in others."""


def by_column(number: int) -> str:
    """The frame column of the grouping column with this number."""
    return f"{_BY}{number}"


def concatenated(frames: list[pa.RecordBatch]) -> pa.RecordBatch:
    """One frame of several, not empty. Dictionaries are decoded, so that none grows forever."""
    plain = [with_columns(frame, decoded) for frame in frames]
    return plain[0] if len(plain) == 1 else pa.concat_batches(plain)


def joined(frames: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """One frame of several, not empty, in which texts that name groups and objects may stay dictionaries."""
    names = frames[0].schema.names
    pieces = zip(*(frame.columns for frame in frames), strict=True)
    return pa.RecordBatch.from_arrays(
        [joined_column(name, own) for name, own in zip(names, pieces, strict=True)], names
    )


def joined_column(name: str, pieces: Sequence[pa.Array]) -> pa.Array:
    """The column of this name of several frames, concatenated as in `joined`."""
    named = name == NAME or name.startswith(_BY)
    return dictionaries.joined(pieces if named else [decoded(piece) for piece in pieces])


def is_of_the_query(name: str) -> bool:
    """Whether a column of this name is the query's own: not time, group, a grouping column, or the copy marker."""
    return name not in (TIME, GROUP, COPY) and not name.startswith(_BY)


def with_columns(frame: pa.RecordBatch, make: Callable[[pa.Array], pa.Array]) -> pa.RecordBatch:
    """The frame with `make` applied to each column."""
    return pa.RecordBatch.from_arrays([make(column) for column in frame.columns], names=frame.schema.names)


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type in which answers return values of this type: the type itself, without a dictionary."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def with_int32_codes(kind: pa.DataType) -> pa.DataType:
    """The type itself; a dictionary with narrower codes gets codes of 32 bits."""
    if not pa.types.is_dictionary(kind) or kind.index_type.bit_width > 16:
        return kind
    return pa.dictionary(pa.int32(), kind.value_type, kind.ordered)


def decoded(column: pa.Array) -> pa.Array:
    """A column without its dictionary."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def with_one_zero(column: pa.Array) -> pa.Array:
    """A column in which −0.0 is 0.0, as for hashes: a group or object has one name, whichever arrived first.

    Dictionaries of floats are decoded.
    """
    if not pa.types.is_floating(plain_type(column.type)):
        return column
    column = decoded(column)
    values = column.to_numpy(zero_copy_only=False)
    mask = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    return pa.array(values + values.dtype.type(0), column.type, mask=mask)


def typed(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """A plain column converted to this type, which may be a dictionary of its values."""
    if not pa.types.is_dictionary(kind):
        return column.cast(kind)
    encoded = column.dictionary_encode()
    return pa.DictionaryArray.from_arrays(
        encoded.indices.cast(kind.index_type), encoded.dictionary.cast(kind.value_type), ordered=kind.ordered
    )


def parted(frame: pa.RecordBatch, mask: Array) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """The rows where `mask`, bool[n], is true, and the others; without copying if the former come first."""
    count = int(np.count_nonzero(mask))
    if mask[:count].all():
        return frame.slice(0, count), frame.slice(count)
    return frame.filter(pa.array(mask)), frame.filter(pa.array(~mask))


def own(frame: pa.RecordBatch) -> Array:
    """bool[n]: the rows that belong to this shard; a row in several shards or groups counts once."""
    if COPY in frame.schema.names:
        return frame.column(COPY).to_numpy() == 0
    if PART not in frame.schema.names:
        return np.ones(len(frame), bool)
    own_rows: Array = frame.column(PART).to_numpy() == BOTH
    return own_rows


def own_count(frame: pa.RecordBatch) -> int:
    """The number of rows of a frame that belong to this shard."""
    plain = PART not in frame.schema.names and COPY not in frame.schema.names
    return len(frame) if plain else int(np.count_nonzero(own(frame)))


def to_bytes(frame: pa.RecordBatch) -> bytes:
    """A frame as bytes, each column unchanged: equal frames give equal bytes."""
    return record_batch_bytes.to_bytes(frame)


def from_bytes(data: bytes | memoryview | Array) -> pa.RecordBatch:
    """A frame from its bytes, or those of `compact_frames.to_bytes`. Raises SnapshotError for any other bytes."""
    return compact_frames.from_bytes(data.data if isinstance(data, np.ndarray) else data)
