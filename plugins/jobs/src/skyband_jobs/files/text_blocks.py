"""Text files, compressed or not, in blocks of whole records: memory is that of a block."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from attrs import frozen
from skyband.errors import InputError

from skyband_jobs.files.text_encodings import open_text
from skyband_jobs.tables.store_paths import StorePath

SIZE = 1 << 22
"""Bytes of a block, unless a record is longer."""

MOST = 1 << 28
"""The most bytes of a record: longer ones mean a file without line breaks, or an unclosed quote."""

MARK = b"\xef\xbb\xbf"


@frozen
class Block:
    """Whole records."""

    data: bytes
    line: int
    """The number of its first line in the file."""
    is_first: bool = True
    is_cut: bool = True
    """Whether it ends where its records do; else the file ends, even inside a record."""
    range: "ByteRange | None" = None
    """The range of the file in which lines are counted; None: all of it."""
    text: bytes | None = None
    """The file's bytes for `data`, where they differ."""

    def line_at(self, place: int) -> int:
        """The line number of byte `place`. O(bytes of the file before its range): for errors only."""
        before = 0 if self.range is None else self.range.lines_before()
        return before + self.line + self.source.count(b"\n", 0, place)

    @property
    def source(self) -> bytes:
        """The file's bytes for this block."""
        return self.data if self.text is None else self.text

    def split(self, place: int) -> "tuple[Block, Block]":
        """Its records before byte `place`, and the others, with their line numbers in the file. O(bytes)."""
        begin, end = (None, None) if self.text is None else (self.text[:place], self.text[place:])
        return (
            Block(self.data[:place], self.line_at(0), self.is_first, text=begin),
            Block(self.data[place:], self.line_at(place), False, self.is_cut, text=end),
        )


@frozen
class ByteRange:
    """Bytes of a text file that start and end with whole records."""

    path: Path
    begin: int
    end: int

    def lines_before(self) -> int:
        """The number of lines in the file before it."""
        lines = 0
        with self.path.open("rb") as file:
            while file.tell() < self.begin:
                lines += file.read(min(SIZE, self.begin - file.tell())).count(b"\n")
        return lines

    @contextmanager
    def open(self) -> Iterator[Callable[[int], bytes]]:
        """A function that returns the next bytes, up to a size, and none at the end."""
        path = self.path
        with path.open("rb") if isinstance(path, StorePath) else pa.OSFile(str(path)) as file:
            file.seek(self.begin)
            yield lambda size: file.read(min(size, self.end - file.tell()))


def blocks(
    path: Path,
    cut: Callable[[bytes], int],
    size: int | None = None,
    within: ByteRange | None = None,
    encoding: str | None = None,
    skipped: int = 0,
) -> Iterator[Block]:
    """A file, or a range of it, in order. O(its bytes).

    `cut` returns where the last whole record of bytes ends, 0 where none does; size: None is SIZE; encoding: of a file
    that is not UTF-8; skipped: the number of lines at the start that become blank.
    """
    size = size or SIZE
    rest, line, block_size = b"", 1, size
    is_first = within is None or within.begin == 0
    with open_text(path, encoding) if within is None else within.open() as take:
        while True:
            chunk = take(block_size)
            data = without_lines((rest + chunk).removeprefix(MARK), skipped) if is_first else rest + chunk
            is_short = is_first and data.count(b"\n") < skipped
            end = (0 if is_short else cut(data)) if chunk else len(data)
            if end:
                yield Block(data[:end], line, is_first, bool(chunk), within)
                is_first = False
                line += data.count(b"\n", 0, end)
            if not chunk:
                return
            rest = data[end:]
            block_size = max(size, len(rest))  # so that a long record is scanned only a few times
            if len(rest) > MOST:
                message = f"is longer than {MOST:,} bytes: break the file into records by line ends"
                begun = Block(b"", line, range=within).line_at(0)
                raise InputError(str(path), f"the record that starts in line {begun} {message}")


def without_lines(data: bytes, lines: int) -> bytes:
    """The data with its first lines blanked, with the same number of bytes and of `\\n`."""
    end = 0
    for _ in range(lines):
        end = data.find(b"\n", end) + 1
        if not end:
            end = len(data)
            break
    return re.sub(rb"[^\n]", b"\r", data[:end]) + data[end:] if end else data


def is_utf8(data: bytes) -> bool:
    """Whether the data is UTF-8. O(bytes), vectorized."""
    ends = pa.py_buffer(len(data).to_bytes(4, "little").rjust(8, b"\0"))
    try:
        pa.Array.from_buffers(pa.string(), 1, [None, ends, pa.py_buffer(data)]).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True
