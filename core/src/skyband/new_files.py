"""Files that nobody has a hand in before they are whole: their names cannot be foreseen, they are opened if new."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

_BUFFER = 1 << 20


def new_file(folder: Path, name: str) -> tuple[Path, BinaryIO]:
    """A new file `_NAME.RANDOM.partial` of a folder, open for writing: readers pass over names that begin so.

    A link that somebody put there is neither followed nor written through.
    """
    path = folder / f"_{name}.{secrets.token_hex(8)}.partial"
    return path, path.open("xb", buffering=_BUFFER)


def to_disk(file: BinaryIO) -> None:
    """Have what was written to a file on the disk: a name that it gets before may outlive a power failure without it.

    A disk that is full, or fails, says so here at the latest.
    """
    file.flush()
    os.fsync(file.fileno())


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A new file beside `path`, which takes its place when the block ends, and is gone where that fails."""
    partial, file = new_file(path.parent, path.name)
    try:
        with file:
            yield file
            to_disk(file)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
