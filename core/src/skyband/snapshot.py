"""Snapshots: a versioned, checksummed envelope around plain arrays in Arrow IPC. Reading one runs no code.

0   4  b"SKYB"
4   2  format version, little endian
6   4  CRC-32 of all that follows
10  -  one Arrow IPC stream: a row with one list column per array, the header as JSON in the schema's metadata
"""

import json
import struct
import zlib
from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
from attrs import frozen

from skyband.arrays import Array
from skyband.errors import SnapshotError

FORMAT = 1
_MAGIC = b"SKYB"
_ENVELOPE = struct.Struct("<4sHI")
_HEADER = b"skyband"
_LENGTH = struct.Struct("<I")
_ALIGNED = 8


@frozen
class Snapshot:
    """What a snapshot holds: a JSON-able header (who wrote it, with which parameters) and named arrays."""

    header: dict[str, Any]
    arrays: dict[str, Array]


def encode(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> bytes:
    """The bytes of a snapshot; equal headers and arrays give equal bytes."""
    import pyarrow as pa

    columns = {name: _one_row(pa, name, array) for name, array in sorted(arrays.items())}
    schema = pa.schema(
        [(name, column.type) for name, column in columns.items()], metadata={_HEADER: text(dict(header)).encode()}
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays(list(columns.values()), schema=schema))
    body = sink.getvalue()
    return b"".join((_ENVELOPE.pack(_MAGIC, FORMAT, zlib.crc32(body)), body))


def pack(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> bytes:
    """A small part of a state, in memory or inside a snapshot: no envelope, a tenth of the size of `encode`'s bytes.

    A length, JSON, then the arrays, all padded to 8 bytes. Equal headers and arrays give equal bytes.
    """
    named = sorted(arrays.items())
    layout = [[name, array.dtype.str, len(array)] for name, array in named]
    found = json.dumps([dict(header), layout], sort_keys=True, separators=(",", ":")).encode()
    parts = [_LENGTH.pack(len(found)), found, bytes(-(len(found) + _LENGTH.size) % _ALIGNED)]
    for _, array in named:
        parts += (array.tobytes(), bytes(-array.nbytes % _ALIGNED))
    return b"".join(parts)


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, Array]]:
    """What `pack` was given; the arrays are read-only views of `data`."""
    (length,) = _LENGTH.unpack_from(data)
    header, layout = json.loads(data[_LENGTH.size : _LENGTH.size + length])
    at = _padded(_LENGTH.size + length)
    arrays = {}
    for name, kind, count in layout:
        arrays[name] = np.frombuffer(data, kind, count, at)
        at += _padded(arrays[name].nbytes)
    return header, arrays


def text(value: Any) -> str:
    """What a header holds, as JSON in one form. Raises SnapshotError where it is code."""
    return json.dumps(value, sort_keys=True, allow_nan=False, default=_plain)


def decode(blob: bytes) -> Snapshot:
    """Read a snapshot; the arrays are read-only views of `blob`. Raises SnapshotError where it is damaged or newer."""
    import pyarrow as pa

    if len(blob) < _ENVELOPE.size or not bytes(blob).startswith(_MAGIC):
        raise SnapshotError(f"not a Skyband snapshot: {len(blob)} bytes that do not begin with {_MAGIC.decode()}")
    _, version, checksum = _ENVELOPE.unpack_from(blob)
    if version > FORMAT:
        raise SnapshotError(f"written in format {version}, this Skyband reads up to {FORMAT}: upgrade skyband")
    body = memoryview(blob)[_ENVELOPE.size :]
    if version < 1 or zlib.crc32(body) != checksum:
        raise SnapshotError("damaged: its checksum does not match; restore from an older one")
    try:
        with pa.ipc.open_stream(pa.py_buffer(body)) as reader:
            batch = reader.read_next_batch()
            header = json.loads(reader.schema.metadata[_HEADER])
        return Snapshot(header, {name: batch.column(name)[0].values.to_numpy() for name in batch.schema.names})
    except Exception as error:  # whatever else a writer of right checksums put there
        raise SnapshotError(f"cannot be read: {type(error).__name__}: {error}") from error


def _padded(length: int) -> int:
    return -(-length // _ALIGNED) * _ALIGNED


def _plain(value: Any) -> Any:
    if attrs.has(type(value)):
        return attrs.astuple(value)
    raise SnapshotError(f"cannot be written: {value!r} is code, not data; use a named function to snapshot it")


def _one_row(pa: Any, name: str, array: Array) -> Any:
    if array.ndim != 1:
        raise SnapshotError(f"array {name!r} has {array.ndim} dimensions; a snapshot holds flat arrays only")
    values = pa.array(np.ascontiguousarray(array))
    return pa.LargeListArray.from_arrays(pa.array([0, len(array)], pa.int64()), values)
