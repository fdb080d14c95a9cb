"""Records which files of a sink's folder the local engine wrote, so that only those are ever replaced.

A writer must hold the folder's lock (`folder_lock`), so that no other run's record is lost.
"""

import hashlib
from pathlib import Path

from skyband.atomic_files import replacing

NAME = "_skyband.sha256"
"""Its lines are in the format of `sha256sum`. Readers of the folder ignore names that start with an underscore."""


def own_files(folder: Path) -> list[Path]:
    """The files that were written by this engine and have not changed. O(their bytes)."""
    manifest = _read(folder)
    names = {name for name, _ in manifest}
    present = [folder / name for name in sorted(names) if (folder / name).is_file()]
    return [path for path in present if (path.name, _digest(path)) in manifest]


def foreign_files(folder: Path, suffix: str) -> list[Path]:
    """Files that would be read together with the answers, but were not written by the local engine or have changed."""
    own = set(own_files(folder))
    visible = (path for path in folder.iterdir() if not path.name.startswith(("_", ".")))
    return sorted(path for path in visible if path.suffix == suffix and path not in own)


def record(folder: Path, path: Path, name: str) -> None:
    """Record `path` as ours before it becomes the file `name` of the folder; a file that it replaces stays recorded."""
    _write(folder, _read(folder) | {(name, _digest(path))})


def forget_replaced(folder: Path, name: str) -> None:
    """Drop records of files that no longer exist, and of earlier files with this name."""
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
