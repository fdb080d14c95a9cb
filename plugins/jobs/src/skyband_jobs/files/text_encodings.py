"""Opens text files as UTF-8, whatever their compression and encoding."""

import codecs
import lzma
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from attrs import define, field
from skyband.errors import InputError, Problem

from skyband_jobs.tables.store_paths import StorePath

ENCODING_OPTIONS = ("encoding", "charset")
"""Spark's two names of one option."""
_PIECE = 1 << 16
"""Bytes that are decompressed at once."""
XZ = ".xz"
"""The compression that Python reads, but Arrow does not."""


def encoding_of(options: Mapping[str, str]) -> str | None:
    """The encoding set by options, with names in lower case; None for UTF-8."""
    name = options.get("encoding", options.get("charset", "UTF-8"))
    return None if codecs.lookup(name).name == "utf-8" else name


def encoding_problems(options: Mapping[str, Any]) -> list[Problem]:
    """Encodings that Python does not know."""
    problems = []
    for name, value in options.items():
        if name.lower() in ENCODING_OPTIONS and not _is_known(str(value)):
            message = f"must be an encoding of text, such as UTF-8, ISO-8859-1, windows-1252, UTF-16 (got {value!r})"
            problems.append(Problem(f"options.{name}", message))
    return problems


def _is_known(name: str) -> bool:
    try:
        return codecs.lookup(name)._is_text_encoding and bool("a".encode(name))
    except (LookupError, ValueError):
        return False


def is_compressed(path: Path) -> bool:
    """Whether a file is compressed, by its suffix."""
    if path.suffix == XZ:
        return True
    try:
        pa.Codec.detect(f"a{path.suffix}")
    except (TypeError, ValueError):  # Arrow knows no codec for it
        return False
    return True


@contextmanager
def open_text(path: Path, encoding: str | None = None) -> Iterator[Callable[[int], bytes]]:
    """A function that returns a file's next text in UTF-8, about as many bytes as requested, and none at the end.

    It raises OSError, or InputError where the file is not in its encoding or is truncated.
    """
    with _decompressed(path) as file:
        try:
            take = _UpToBreak(file).take if is_compressed(path) else file.read
            yield take if encoding is None else _InUtf8(path, take, encoding).take
        except (lzma.LZMAError, EOFError) as error:
            raise InputError(str(path), f"is not a complete xz file: {error}") from error


def _decompressed(path: Path) -> Any:
    if path.suffix == XZ:
        return lzma.open(path.open("rb") if isinstance(path, StorePath) else path)
    if isinstance(path, StorePath):
        return path.filesystem.open_input_stream(path.key, compression="detect")
    return pa.input_stream(str(path), compression="detect")


@define
class _UpToBreak:
    """A compressed file that returns everything before the place where it is damaged."""

    _file: Any
    _damage: Exception | None = None

    def take(self, size: int) -> bytes:
        """The next bytes, up to a size. Raises the damage's error once everything before it has been returned."""
        if self._damage is not None:
            raise self._damage
        pieces: list[bytes] = []
        try:
            while size > 0 and (piece := self._file.read(min(size, _PIECE))):
                pieces.append(piece)
                size -= len(piece)
        except (OSError, EOFError, lzma.LZMAError) as error:
            if not pieces:
                raise
            self._damage = error
        return b"".join(pieces)


@define
class _InUtf8:
    """Converts text of another encoding to UTF-8."""

    _path: Path
    _bytes: Callable[[int], bytes]
    _encoding: str
    _decoder: codecs.IncrementalDecoder = field(init=False)
    _before: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder(self._encoding)()

    def take(self, size: int) -> bytes:
        """The next text, from this many bytes of the file. Raises InputError where a byte is invalid in it."""
        while chunk := self._bytes(size):
            text = self._decoded(chunk, final=False)
            if text:
                return text
        return self._decoded(b"", final=True)

    def _decoded(self, chunk: bytes, final: bool) -> bytes:
        waiting = len(self._decoder.getstate()[0])
        try:
            text = self._decoder.decode(chunk, final)
        except UnicodeDecodeError as error:
            place = self._before - waiting + error.start + 1
            message = f"byte {place:,} of the file is invalid in {self._encoding}: set the right encoding"
            raise InputError(str(self._path), f"{message} in source.options") from error
        self._before += len(chunk)
        return text.encode()
