"""Writes a file whole or not at all, under a random name that is opened only if it does not exist yet."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

_BUFFER = 1 << 20


def new_file(folder: Path, name: str) -> tuple[Path, BinaryIO]:
    """A new file `_NAME.RANDOM.partial` in a folder, open for writing; readers skip names that begin with `_`.

    A link planted at that name is neither followed nor written through.
    """
    path = folder / f"_{name}.{secrets.token_hex(8)}.partial"
    return path, path.open("xb", buffering=_BUFFER)


def to_disk(file: BinaryIO) -> None:
    """Flush a file to the disk: if it is renamed before that, a power failure may leave the name without the contents.

    A full or failing disk raises here at the latest.
    """
    file.flush()
    os.fsync(file.fileno())


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A new file next to `path` that replaces it when the block ends; deleted if the block fails."""
    partial, file = new_file(path.parent, path.name)
    try:
        with file:
            yield file
            to_disk(file)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
