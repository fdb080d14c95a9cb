"""Converts record batches to bytes in our own layout, and back with every length and offset checked.

Arrow's own IPC is unsafe for untrusted bytes: a damaged description of a batch can crash the process. Here
`skyband.snapshot.pack` writes a batch: for each column its type as JSON and its buffers as arrays, in Arrow's layout
but without the parts outside of a slice.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from skyband import snapshot
from skyband.arrays import Array
from skyband.errors import SnapshotError

_PLAIN = (
    *(pa.null(), pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32()),
    *(pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.date32(), pa.date64(), pa.time32("s")),
    *(pa.time32("ms"), pa.time64("us"), pa.time64("ns"), *(pa.duration(unit) for unit in ("s", "ms", "us", "ns"))),
    *(pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.string_view(), pa.binary_view()),
)
_BY_NAME = {str(kind): kind for kind in _PLAIN}
_NUMBERS = frozenset({pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint64(), pa.float32(), pa.float64()})
_DECIMALS = {kind.__name__: kind for kind in (pa.decimal32, pa.decimal64, pa.decimal128, pa.decimal256)}
_DENSE = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
"""Types with many buffers, in any number, and the types they are written as."""

Arrays = dict[str, Array]


def to_bytes(frame: pa.RecordBatch) -> bytes:
    """A record batch as bytes. O(bytes)."""
    return snapshot.pack(to_header(frame), to_arrays(frame, "column"))


def from_bytes(data: bytes | memoryview) -> pa.RecordBatch:
    """A record batch from its bytes, without copying them. O(bytes).

    Raises SnapshotError for bytes that `to_bytes` cannot have written: offsets out of range, text that is not
    UTF-8, a code without a word in its dictionary.
    """
    header, arrays = snapshot.unpack(data)
    return from_arrays(*from_header(header), "column", arrays)


def to_header(frame: pa.RecordBatch) -> dict[str, Any]:
    """The number of rows, and the names and types of the columns."""
    columns = [[name, _type_as_json(kind)] for name, kind in zip(frame.schema.names, frame.schema.types, strict=True)]
    return {"rows": frame.num_rows, "columns": columns}


def from_header(header: Mapping[str, Any]) -> tuple[pa.Schema, int]:
    """The schema, and the number of rows. Raises SnapshotError."""
    try:
        schema = pa.schema([(name, _type_of(described)) for name, described in header["columns"]])
        return schema, _length(header["rows"])
    except SnapshotError:
        raise
    except Exception as error:  # JSON of another shape
        raise SnapshotError(f"holds rows that cannot be read: {type(error).__name__}: {error}") from error


def to_arrays(frame: pa.RecordBatch, name: str) -> Arrays:
    """A record batch as flat arrays, under names that begin with `name`, without its schema."""
    arrays: Arrays = {}
    for number, column in enumerate(frame.columns):
        take_apart(column, f"{name} {number}", arrays)
    return arrays


def from_arrays(schema: pa.Schema, rows: int, name: str, arrays: Mapping[str, Array]) -> pa.RecordBatch:
    """The record batch of `rows` rows from `to_arrays`. Raises SnapshotError as `from_bytes` does."""
    parts = {key: values for key, values in arrays.items() if key.startswith(f"{name} ")}
    return whole_frame(schema, rows, parts, lambda number, kind: put_together(kind, rows, f"{name} {number}", parts))


def whole_frame(
    schema: pa.Schema, rows: int, arrays: Mapping[str, Array], column_at: Callable[[int, pa.DataType], pa.Array]
) -> pa.RecordBatch:
    """The record batch of the columns that `column_at` builds by place and type, removing them from `arrays`.

    Raises SnapshotError if one is invalid, or arrays are left over.
    """
    try:
        columns = [column_at(number, kind) for number, kind in enumerate(schema.types)]
        frame = pa.RecordBatch.from_arrays(columns, schema=schema)
        frame.validate(full=True)
    except SnapshotError:
        raise
    except Exception as error:  # Arrow's validation
        raise SnapshotError(f"holds rows that cannot be read: {type(error).__name__}: {error}") from error
    if arrays or frame.num_rows != rows:
        raise SnapshotError(f"holds rows that contradict themselves: {sorted(arrays)} left over, {rows} rows")
    return frame


@lru_cache(maxsize=256)
def _type_as_json(kind: pa.DataType) -> Any:
    if str(kind) in _BY_NAME:
        return str(kind)
    if pa.types.is_timestamp(kind):
        return ["timestamp", kind.unit, kind.tz]
    if pa.types.is_decimal(kind):
        return [str(kind).partition("(")[0], kind.precision, kind.scale]
    if pa.types.is_fixed_size_binary(kind):
        return ["fixed_size_binary", kind.byte_width]
    if pa.types.is_dictionary(kind):
        return ["dictionary", _type_as_json(kind.index_type), _type_as_json(kind.value_type), kind.ordered]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return ["list" if pa.types.is_list(kind) else "large_list", _type_as_json(kind.value_type)]
    raise SnapshotError(f"a column of type {kind} cannot be written; cast it to a plain type such as a string")


def _type_of(described: Any) -> pa.DataType:
    if isinstance(described, str):
        return _BY_NAME[described]
    name, *arguments = described
    if name in _DECIMALS:
        return _DECIMALS[name](*map(_length, arguments))
    if name == "fixed_size_binary":
        return pa.binary(_length(arguments[0]))
    if name == "dictionary":
        return pa.dictionary(_type_of(arguments[0]), _type_of(arguments[1]), bool(arguments[2]))
    makers = {"timestamp": pa.timestamp, "list": pa.list_, "large_list": pa.large_list}
    return makers[name](*(arguments if name == "timestamp" else map(_type_of, arguments)))


def _length(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**62:
        raise SnapshotError(f"holds rows that cannot be read: {value!r} is not a length")
    return value


def take_apart(column: pa.Array, path: str, arrays: Arrays) -> None:
    """Put the buffers of a column into `arrays`, those of its children under names that begin with its own."""
    if column.type in _NUMBERS and not column.null_count:  # most columns, and the fast path of many small states
        arrays[f"{path} data"] = column.to_numpy().view(np.uint8)
        return None
    kind, start, stop = column.type, column.offset, column.offset + len(column)
    if kind in _DENSE:
        return take_apart(column.cast(_DENSE[kind]), path, arrays)
    if column.null_count and not pa.types.is_null(kind):
        arrays[f"{path} valid"] = np.packbits(column.is_valid().to_numpy(zero_copy_only=False), bitorder="little")
    if pa.types.is_dictionary(kind):
        take_apart(column.indices, f"{path} codes", arrays)
        take_apart(column.dictionary, f"{path} words", arrays)
        arrays[f"{path} length"] = np.array([len(column.dictionary)])
    elif pa.types.is_boolean(kind):
        bits = column.fill_null(False) if column.null_count else column
        arrays[f"{path} data"] = np.packbits(bits.to_numpy(zero_copy_only=False), bitorder="little")
    elif (offset_type := _offset_type(kind)) is not None:
        buffers = column.buffers()
        offsets = _bytes_of(buffers[1]).view(offset_type)[start : stop + 1]
        offsets = offsets if len(offsets) else np.zeros(1, offset_type)
        first, last = int(offsets[0]), int(offsets[-1])
        arrays[f"{path} offsets"] = (offsets - first).astype(offset_type, copy=False)
        if pa.types.is_nested(kind):
            take_apart(column.values[first:last], f"{path} values", arrays)
        else:
            arrays[f"{path} data"] = _bytes_of(buffers[2])[first:last]
    elif not pa.types.is_null(kind):
        width = kind.bit_width // 8
        arrays[f"{path} data"] = _bytes_of(column.buffers()[1])[start * width : stop * width]
    return None


def put_together(kind: pa.DataType, length: int, path: str, arrays: Arrays) -> pa.Array:
    """Inverse of `take_apart`; removes the column's arrays."""
    if kind in _NUMBERS and f"{path} valid" not in arrays:
        data = take_out(arrays, f"{path} data", np.uint8, length * (kind.bit_width // 8))
        return pa.Array.from_buffers(kind, length, [None, pa.py_buffer(data)])
    if kind in _DENSE:
        return put_together(_DENSE[kind], length, path, arrays).cast(kind)
    valid = None
    if f"{path} valid" in arrays:
        valid = pa.py_buffer(take_out(arrays, f"{path} valid", np.uint8, -(-length // 8)))
    if pa.types.is_null(kind):
        return pa.nulls(length)
    if pa.types.is_dictionary(kind):
        row_count = int(take_out(arrays, f"{path} length", np.int64, 1)[0])
        codes = put_together(kind.index_type, length, f"{path} codes", arrays)
        words = put_together(kind.value_type, _length(row_count), f"{path} words", arrays)
        return pa.DictionaryArray.from_arrays(codes, words, ordered=kind.ordered, safe=True)
    offset_type = _offset_type(kind)
    if offset_type is None:
        size = -(-length // 8) if pa.types.is_boolean(kind) else length * (kind.bit_width // 8)
        data = pa.py_buffer(take_out(arrays, f"{path} data", np.uint8, size))
        return pa.Array.from_buffers(kind, length, [valid, data])
    offsets = take_out(arrays, f"{path} offsets", offset_type, length + 1)
    last = int(offsets[-1])
    if offsets[0] != 0 or (offsets[1:] < offsets[:-1]).any():
        raise SnapshotError(f"holds rows that contradict themselves: offsets of column {path} must ascend from 0")
    if pa.types.is_nested(kind):
        values = put_together(kind.value_type, last, f"{path} values", arrays)
        return pa.Array.from_buffers(kind, length, [valid, pa.py_buffer(offsets)], children=[values])
    data = pa.py_buffer(take_out(arrays, f"{path} data", np.uint8, last))
    return pa.Array.from_buffers(kind, length, [valid, pa.py_buffer(offsets), data])


@lru_cache(maxsize=256)
def _offset_type(kind: pa.DataType) -> type[np.int32] | type[np.int64] | None:
    if pa.types.is_string(kind) or pa.types.is_binary(kind) or pa.types.is_list(kind):
        return np.int32
    if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind) or pa.types.is_large_list(kind):
        return np.int64
    return None


def _bytes_of(buffer: pa.Buffer | None) -> Array:
    return np.empty(0, np.uint8) if buffer is None else np.frombuffer(buffer, np.uint8)


def take_out(arrays: Arrays, name: str, dtype: Any, length: int) -> Array:
    """Remove an array of this type and length from `arrays`. Raises SnapshotError if there is none."""
    values = arrays.pop(name, None)
    if values is None or values.dtype != dtype or len(values) != length:
        contents = "nothing" if values is None else f"{len(values)} of {values.dtype}"
        raise SnapshotError(f"holds rows that contradict themselves: {name} must be {length} values (got {contents})")
    return values
