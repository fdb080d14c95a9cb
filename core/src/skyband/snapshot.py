"""Snapshots: plain arrays in a versioned envelope with a checksum. Reading one runs no code and trusts no length.

0   4  b"SKYB"
4   2  format version, little endian
6   6  zeros, so that the rest is aligned to 8 bytes
12  4  CRC-32 of the rest
16  -  the bytes of `pack`: the length of a text, the text (JSON: a header, and the name, type and length of each
       array), the arrays; little endian, each padded with zeros to a multiple of 8 bytes
"""

import json
import struct
import sys
import zlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import attrs
import numpy as np
from attrs import frozen

from skyband.arrays import Array
from skyband.errors import SnapshotError

FORMAT = 2
_MAGIC = b"SKYB"
_ENVELOPE = struct.Struct("<4sH6sI")
_NO_BYTES = bytes(6)
_LENGTH = struct.Struct("<I")
_ALIGNED = 8
_LITTLE = sys.byteorder == "little"
_KINDS = {
    np.dtype(kind).str: np.dtype(kind)
    for kind in ["<i1", "<u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f4", "<f8"]
}
"""The types of arrays: numbers for which every bit pattern is valid."""


@frozen
class Snapshot:
    """The contents of a snapshot: a JSON header (the writer and its parameters) and named arrays."""

    header: dict[str, Any]
    arrays: dict[str, Array]


def encode(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> bytes:
    """The bytes of a snapshot; equal headers and arrays give equal bytes."""
    parts = _parts(text(dict(header)), arrays)
    checksum = 0
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    return b"".join((_ENVELOPE.pack(_MAGIC, FORMAT, _NO_BYTES, checksum), *parts))


def decode(blob: bytes) -> Snapshot:
    """Read a snapshot; the arrays are read-only views of `blob`. Raises SnapshotError if it is damaged or newer."""
    try:
        whole = memoryview(blob).cast("B")
    except TypeError as error:
        raise SnapshotError(f"must be the bytes of a snapshot (got {type(blob).__name__})") from error
    if len(whole) < _ENVELOPE.size or whole[:4] != _MAGIC:
        raise SnapshotError(f"not a Skyband snapshot: {len(whole)} bytes that do not begin with {_MAGIC.decode()}")
    _, version, zeros, checksum = _ENVELOPE.unpack_from(whole)
    if version > FORMAT:
        raise SnapshotError(f"written in format {version}, this Skyband reads up to {FORMAT}: upgrade skyband")
    body = whole[_ENVELOPE.size :]
    if version != FORMAT or zeros != _NO_BYTES or zlib.crc32(body) != checksum:
        raise SnapshotError("damaged: its checksum does not match; restore from an older one")
    return Snapshot(*unpack(body))


def pack(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> bytes:
    """Encode a small part of a state, in memory or inside a snapshot: without envelope and checksum.

    Equal headers and arrays give equal bytes.
    """
    return b"".join(_parts(text(dict(header)), arrays))


def unpack(data: bytes | memoryview) -> tuple[dict[str, Any], dict[str, Array]]:
    """The arguments of `pack`; the arrays are read-only views of `data`.

    Raises SnapshotError unless `pack` could have written the bytes: nothing beyond their end is read. O(arrays).
    """
    view = memoryview(data)
    try:
        header, layout, at = _text_of(view)
        arrays, at = _arrays_of(_aligned(view), layout, at)
    except SnapshotError:
        raise
    except Exception as error:  # not text, not JSON, or JSON of another shape
        raise SnapshotError(f"cannot be read: {type(error).__name__}: {error}") from error
    if at != len(view):
        raise SnapshotError(f"cannot be read: {len(view)} bytes, but its arrays take {at}")
    return header, arrays


def text(value: Any) -> str:
    """A header as JSON in canonical form. Raises SnapshotError if it contains code."""
    return _HEADER.encode(value)


def _parts(header: str, arrays: Mapping[str, Array]) -> list[bytes | memoryview]:
    named = [(name, _flat(name, array)) for name, array in sorted(arrays.items())]
    layout = _LAYOUT.encode([[name, array.dtype.str, len(array)] for name, array in named])
    whole = f"[{header},{layout}]".encode()
    parts: list[bytes | memoryview] = [_LENGTH.pack(len(whole)), whole, bytes(-(len(whole) + _LENGTH.size) % _ALIGNED)]
    for _, array in named:
        parts += (array.data, bytes(-array.nbytes % _ALIGNED))
    return parts


def _flat(name: str, array: Array) -> Array:
    if array.ndim != 1:
        raise SnapshotError(f"array {name!r} has {array.ndim} dimensions; a snapshot holds flat arrays only")
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    if little.dtype.str not in _KINDS:
        raise SnapshotError(f"array {name!r} holds {array.dtype}; a snapshot holds integers, float32 and float64")
    return little


def _text_of(view: memoryview) -> tuple[dict[str, Any], list[Any], int]:
    """The header, the layout of the arrays, and the offset at which these begin."""
    (length,) = _LENGTH.unpack_from(view)
    at = _padded(_LENGTH.size + length)
    if at > len(view):
        raise SnapshotError(f"cannot be read: {len(view)} bytes, but its header takes {at}")
    whole = bytes(view[_LENGTH.size : _LENGTH.size + length])
    header, layout = _parsed_once(whole) if length <= _SHORT else _parsed(whole)
    return dict(header), layout, at


def _parsed(whole: bytes) -> tuple[dict[str, Any], list[Any]]:
    header, layout = json.loads(whole)
    names = [name for name, _, _ in layout]
    if not isinstance(header, dict) or names != sorted(set(names)):
        raise SnapshotError("cannot be read: its header is not a table, or its arrays are not in order")
    return header, layout


_SHORT = 1000
_parsed_once = lru_cache(maxsize=256)(_parsed)
"""Most of thousands of states in a column have the same text, and parsing it takes as long as reading all arrays."""


def _arrays_of(view: memoryview, layout: list[Any], at: int) -> tuple[dict[str, Array], int]:
    arrays = {}
    for name, kind, count in layout:
        dtype = _KINDS[kind]
        if not isinstance(name, str) or type(count) is not int or count < 0:
            raise SnapshotError(f"cannot be read: {count!r} is not a length of the array {name!r}")
        stop = at + count * dtype.itemsize
        if _padded(stop) > len(view):
            raise SnapshotError(f"cannot be read: its array {name!r} takes more bytes than the snapshot has")
        array = np.frombuffer(view, dtype, count, at) if count else np.empty(0, dtype)
        arrays[name], at = array if _LITTLE else array.astype(dtype.newbyteorder("=")), _padded(stop)
    return arrays, at


def _aligned(view: memoryview) -> memoryview:
    """The bytes, read-only, aligned as compiled code expects arrays."""
    begin = np.frombuffer(view, np.uint64, 1) if len(view) >= _ALIGNED else None
    return view.toreadonly() if begin is None or begin.flags.aligned else memoryview(bytes(view))


def _padded(length: int) -> int:
    return -(-length // _ALIGNED) * _ALIGNED


def _plain(value: Any) -> Any:
    if attrs.has(type(value)):
        return attrs.astuple(value)
    message = 'is code, not data: use one that the query knows by name, such as "sum" or "jaccard"'
    raise SnapshotError(f"cannot be written: {value!r} {message}")


_HEADER = json.JSONEncoder(sort_keys=True, allow_nan=False, separators=(",", ":"), default=_plain)
_LAYOUT = json.JSONEncoder(separators=(",", ":"))
"""Created once, because states are written by the thousand."""
