"""One hash for every key type: the low 64 bits of MurmurHash3_x64_128, as in `mmh3.hash64`. The seed is 0, except for
keys hashed as Apache DataSketches does.

The hash depends on the value, not on its storage, so that a key has the same hash on every engine:

    strings and binary   their bytes (UTF-8)
    integers, booleans   8 bytes, two's complement, little endian; also dates (days) and times (microseconds)
    parts of these       a time with nanoseconds, 16 bytes: the microseconds, and the remaining nanoseconds
    floats               the 8 bytes of the float64, with −0.0 as 0.0 and one NaN
    decimals             their 16 (or 32) bytes, little endian, unscaled

Several columns: the hash of their hashes' bytes, in order. A null hashes to 0, as the empty text does: `hash_columns`
distinguishes them, callers of `hash_column` check the validity. Hashes whole Arrow columns in compiled code; the
first call compiles (about 2 s) and caches on disk.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.arrays import Array, UInt64
from skyband.errors import InputError

NULL = np.uint64(0)
THETA_SEED = 9001
"""The seed of DataSketches, which hashes integers, floats, text and bytes; its theta sketches drop the lowest bit of
each hash."""


def is_hashable(kind: pa.DataType) -> bool:
    """Whether values of this type, which is not a dictionary, have a hash."""
    types = pa.types
    tests = (
        *(types.is_boolean, types.is_integer, types.is_floating, types.is_decimal, types.is_date, types.is_time),
        *(types.is_timestamp, types.is_duration, types.is_string, types.is_large_string, types.is_string_view),
        *(types.is_binary, types.is_large_binary, types.is_binary_view, types.is_fixed_size_binary),
    )
    return any(test(kind) for test in tests)


def hash_column(column: pa.Array | pa.ChunkedArray, seed: int = 0) -> UInt64:
    """uint64[n]: hashes of an Arrow array; 0 for null. O(bytes). Raises InputError for a type without a hash."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if pa.types.is_dictionary(column.type):
        codes = column.indices.fill_null(0).to_numpy(zero_copy_only=False)
        word_hashes = _hash_words(column.dictionary, seed)
        hashes = word_hashes[codes] if len(word_hashes) else np.zeros(len(column), np.uint64)
    else:
        hashes = _hash_values(column, np.uint64(seed))
    if column.null_count:
        hashes[column.is_null().to_numpy(zero_copy_only=False)] = NULL
    return hashes


_words: list[tuple[pa.Array, int, UInt64]] = []
"""Copies of the latest dictionaries of text, by seed, with their hashes: batches of a row group share one dictionary,
which is hashed once. A reader may reuse its buffers, so dictionaries are compared by their words."""
_MOST_WORDS, _FEWEST = 4, 64


def _hash_words(dictionary: pa.Array, seed: int) -> UInt64:
    """uint64[w]: hashes of a dictionary's words, read-only."""
    if len(dictionary) < _FEWEST or not pa.types.is_string(dictionary.type) or dictionary.null_count:
        return hash_column(dictionary, seed)
    for other, other_seed, hashes in tuple(_words):
        if other_seed == seed and other.equals(dictionary):
            return hashes
    hashes = hash_column(dictionary, seed)
    hashes.flags.writeable = False
    copied = [None if buffer is None else pa.py_buffer(buffer.to_pybytes()) for buffer in dictionary.buffers()]
    copy = pa.Array.from_buffers(dictionary.type, len(dictionary), copied, offset=dictionary.offset)
    _words[:] = [(copy, seed, hashes), *_words[: _MOST_WORDS - 1]]
    return hashes


def hash_columns(columns: list[pa.Array], seed: int = 0) -> UInt64:
    """uint64[n]: combined hashes of columns, such as the grouping columns of a query; a null differs from every value.

    Nulls change only the lower 32 bits: the upper ones choose the shard, and are the same as for empty text.
    """
    hashes = hash_column(columns[0], seed) if len(columns) == 1 else _hash_together(columns, seed)
    if any(column.null_count for column in columns):
        hashes ^= _null_codes(columns)
    return hashes


def _hash_together(columns: list[pa.Array], seed: int) -> UInt64:
    from skyband.kernels import murmur

    together = np.stack([hash_column(column, seed) for column in columns], axis=1)
    data = _read_only(np.ascontiguousarray(together).view(np.uint8).reshape(-1))
    return murmur.hash_fixed(data, 8 * len(columns), np.uint64(seed))


def _null_codes(columns: list[pa.Array]) -> UInt64:
    """uint64[n], below 2^32: a code for each combination of null columns, a hash if there are over 32 columns."""
    from skyband.kernels import murmur

    nulls = np.stack([column.is_null().to_numpy(zero_copy_only=False) for column in columns], axis=1)
    if len(columns) <= 32:
        return nulls @ (np.uint64(1) << np.arange(len(columns), dtype=np.uint64))
    codes = murmur.hash_fixed(_read_only(nulls.view(np.uint8).reshape(-1)), len(columns), np.uint64(0))
    return np.where(nulls.any(axis=1), codes & np.uint64(0xFFFFFFFF), np.uint64(0))


def _hash_values(column: pa.Array, seed: np.uint64) -> UInt64:
    from skyband.kernels import murmur

    kind = column.type
    if pa.types.is_string_view(kind) or pa.types.is_string(kind):
        column = column.cast(pa.large_string())
    elif pa.types.is_binary(kind) or pa.types.is_binary_view(kind) or pa.types.is_fixed_size_binary(kind):
        column = column.cast(pa.large_binary())
    if pa.types.is_large_string(column.type) or pa.types.is_large_binary(column.type):
        offsets, data = _binary_buffers(column)
        return murmur.hash_slices(_read_only(offsets), _read_only(data), seed)
    if pa.types.is_decimal(kind):
        width = kind.bit_width // 8
        data = np.frombuffer(column.buffers()[1], np.uint8)
        values = data[column.offset * width : (column.offset + len(column)) * width]
        return murmur.hash_fixed(_read_only(values), width, seed)
    hashes = murmur.hash_words(_read_only(_eight_bytes(column).view(np.uint64)), seed)
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        _hash_nanoseconds(column, hashes, seed)
    return hashes


def _hash_nanoseconds(column: pa.Array, hashes: UInt64, seed: np.uint64) -> None:
    """Hash instants again that are not whole microseconds; the others keep the hash that they have on every engine."""
    from skyband.kernels import murmur

    whole, rest = np.divmod(column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False), 1_000)
    finer = np.flatnonzero(rest)
    if len(finer):
        parts = np.stack([whole[finer], rest[finer]], axis=1)
        hashes[finer] = murmur.hash_fixed(_read_only(parts.view(np.uint8).reshape(-1)), 16, seed)


def _read_only(values: Array) -> Array:
    """A read-only view, so that kernels are compiled for one type of array only."""
    view = values.view()
    view.flags.writeable = False
    return view


def _binary_buffers(column: pa.Array) -> tuple[Array, Array]:
    _, offsets, data = column.buffers()
    cuts = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1] if offsets else None
    bytes_ = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(1, np.uint8)
    return (np.zeros(len(column) + 1, np.int64) if cuts is None else cuts), bytes_


def _eight_bytes(column: pa.Array) -> Array:
    kind = column.type
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif pa.types.is_timestamp(kind):
        column = pc.cast(column, pa.timestamp("us", kind.tz), safe=False).cast(pa.int64())
    elif pa.types.is_date32(kind) or pa.types.is_time32(kind):
        column = column.cast(pa.int32())
    elif pa.types.is_date64(kind) or pa.types.is_time64(kind) or pa.types.is_duration(kind):
        column = column.cast(pa.int64())
    if pa.types.is_floating(column.type):
        values = column.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False) + 0.0
        return np.where(np.isnan(values), np.nan, values)
    if not pa.types.is_integer(column.type):
        raise InputError("keys", f"a column of type {kind} cannot be hashed; cast it to a string or a number")
    values = (column.fill_null(0) if column.null_count else column).to_numpy(zero_copy_only=False)
    return values.astype(np.uint64 if values.dtype.kind == "u" else np.int64, copy=False)
