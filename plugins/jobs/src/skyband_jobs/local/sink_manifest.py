"""Which files of a sink's folder the local engine wrote, so that only those are ever replaced.

Whoever notes something has the folder's turn (`folder_lock`), so that no other run's note is lost.
"""

import hashlib
from pathlib import Path

from skyband.new_files import replacing

NAME = "_skyband.sha256"
"""Lines as `sha256sum` writes and checks them. Readers of the folder pass over names that begin with an underscore."""


def own_files(folder: Path) -> list[Path]:
    """The files that were written here and are as they were written. O(their bytes)."""
    manifest = _read(folder)
    names = {name for name, _ in manifest}
    here = [folder / name for name in sorted(names) if (folder / name).is_file()]
    return [path for path in here if (path.name, _digest(path)) in manifest]


def foreign_files(folder: Path, suffix: str) -> list[Path]:
    """Files that would be read with the answers, and are not (or no more) as the local engine wrote them."""
    own = set(own_files(folder))
    visible = (path for path in folder.iterdir() if not path.name.startswith(("_", ".")))
    return sorted(path for path in visible if path.suffix == suffix and path not in own)


def record(folder: Path, path: Path, name: str) -> None:
    """Note, before `path` becomes the file `name` of the folder, that it is ours; what it replaces stays noted too."""
    _write(folder, _read(folder) | {(name, _digest(path))})


def forget_replaced(folder: Path, name: str) -> None:
    """Drop what is noted of files that are there no more, and of earlier files of this name."""
    others = {(other, digest) for other, digest in _read(folder) if other != name and (folder / other).exists()}
    _write(folder, others | {(name, _digest(folder / name))})


def _read(folder: Path) -> set[tuple[str, str]]:
    try:
        lines = (folder / NAME).read_text("utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return set()
    pairs = (line.partition("  ") for line in lines)
    return {(name, digest) for digest, _, name in pairs if name and Path(name).name == name}


def _write(folder: Path, files: set[tuple[str, str]]) -> None:
    with replacing(folder / NAME) as file:
        file.write("".join(f"{digest}  {name}\n" for name, digest in sorted(files)).encode())


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
