"""Text files, compressed or not, in blocks of whole records: memory is that of a block."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
from attrs import frozen

from skyband.errors import InputError

SIZE = 1 << 22
"""Of a block, in bytes, unless a record is longer."""

MOST = 1 << 28
"""Bytes of a record: what is longer is a file without line breaks, or with a quote that nobody closed."""

_MARK = b"\xef\xbb\xbf"


@frozen
class Block:
    """Whole records."""

    data: bytes
    line: int
    """The number of its first line in the file."""
    is_first: bool = True
    is_cut: bool = True
    """Whether it ends where its records do; else the file ends there, whatever was begun."""

    def line_at(self, place: int) -> int:
        """The number of the line that byte `place` is in."""
        return self.line + self.data.count(b"\n", 0, place)


def blocks(path: Path, cut: Callable[[bytes], int], size: int = SIZE) -> Iterator[Block]:
    """A file in order. `cut` gives where the last whole record of bytes ends, 0 where none does. O(its bytes)."""
    rest, line, wanted, is_first = b"", 1, size, True
    with pa.input_stream(str(path), compression="detect") as file:
        while True:
            chunk = file.read(wanted)
            data = (rest + chunk).removeprefix(_MARK) if is_first else rest + chunk
            end = cut(data) if chunk else len(data)
            if end:
                yield Block(data[:end], line, is_first, bool(chunk))
                is_first = False
                line += data.count(b"\n", 0, end)
            if not chunk:
                return
            rest = data[end:]
            wanted = max(size, len(rest))  # so that a long record is looked at a few times, not often
            if len(rest) > MOST:
                message = f"is longer than {MOST:,} bytes: break the file into records by line ends"
                raise InputError(str(path), f"the record that begins in line {line} {message}")


def is_utf8(data: bytes) -> bool:
    """Whether it is UTF-8. O(bytes), many at a time."""
    ends = pa.py_buffer(len(data).to_bytes(4, "little").rjust(8, b"\0"))
    try:
        pa.Array.from_buffers(pa.string(), 1, [None, ends, pa.py_buffer(data)]).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True
