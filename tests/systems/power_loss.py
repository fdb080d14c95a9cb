"""What a disk holds when a process is killed, or the power fails, between any two steps of what is written there."""

import fcntl
import os
import resource
import shutil
import stat
from contextlib import contextmanager
from pathlib import Path

STEPS = ("rename", "replace", "link", "unlink", "rmdir")
"""What gives files their names and takes them: before and after each of these something may end."""


class Disk:
    """Copies of a folder before each step, before bytes are flushed after one, and at the end: as it is, and as power
    that fails then leaves it.

    Of a file whose bytes were not flushed (`os.fsync`) since they were last written nothing is left but its name, and
    what was flushed before, if more was appended. What is there when a recording begins is safe. loses_names: files and
    folders are gone, too, that are newer than the last flush of the folder that they are in.
    """

    def __init__(self, folder: Path, copies: Path, loses_names: bool = False) -> None:
        self.folder, self.copies = folder, copies
        self._names = {(path.parent.stat().st_ino, path.name) for path in folder.rglob("*")} if loses_names else None
        self.moments: list[Path] = []
        self._safe = {self._bytes_of(path) for path in self._files()}
        self._appended: dict[int, bytes] = {}
        self._has_changed_names = False

    def _files(self):
        return [path for path in self.folder.rglob("*") if path.is_file() and not path.is_symlink()]

    @staticmethod
    def _bytes_of(path):
        about = path.stat()
        return about.st_ino, about.st_size, about.st_mtime_ns

    def step(self):
        """Before a name is given or taken."""
        self.copy()
        self._has_changed_names = True

    def flush(self):
        """Before bytes are flushed: what a name was given to before may not be on the disk yet."""
        if self._has_changed_names:
            self.copy()
        self._has_changed_names = False

    def flushed(self, handle):
        about = os.fstat(handle)
        if stat.S_ISDIR(about.st_mode) and self._names is not None:
            self._names.update((about.st_ino, name) for name in os.listdir(handle))  # noqa: PTH208 - of a handle
        self._safe.add((about.st_ino, about.st_size, about.st_mtime_ns))
        if stat.S_ISREG(about.st_mode) and fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_APPEND:
            self._appended[about.st_ino] = Path(f"/proc/self/fd/{handle}").read_bytes()

    def _lost(self, folder, names):
        here = Path(folder).stat().st_ino
        return [name for name in names if self._names is not None and (here, name) not in self._names]

    def copy(self):
        """The folder as a killed process leaves it, and as power that fails does."""
        for fails in (False, True):
            place = self.copies / f"{len(self.moments):03}"
            shutil.copytree(self.folder, place, ignore=self._lost if fails else None)
            for path in self._files() if fails else ():
                if self._bytes_of(path) not in self._safe and (place / path.relative_to(self.folder)).exists():
                    flushed = self._appended.get(path.stat().st_ino, b"")
                    left = len(flushed) if path.read_bytes().startswith(flushed) else 0
                    os.truncate(place / path.relative_to(self.folder), left)
            self.moments.append(place)


@contextmanager
def recorded(folder: Path, copies: Path, monkeypatch, loses_names: bool = False):
    """The Disk of a folder while a block writes there. `copies`: a folder outside."""
    disk = Disk(folder, copies, loses_names)
    with monkeypatch.context() as patch:

        def with_copy(step):
            def stepping(*args, **keys):
                disk.step()
                return step(*args, **keys)

            return stepping

        def fsync(handle, flush=os.fsync):
            disk.flush()
            flush(handle if isinstance(handle, int) else handle.fileno())
            disk.flushed(handle if isinstance(handle, int) else handle.fileno())

        for name in STEPS:
            patch.setattr(os, name, with_copy(getattr(os, name)))
        patch.setattr(os, "fsync", fsync)
        yield disk
    disk.copy()


@contextmanager
def no_file_above(size: int):
    """Writing fails where a file would become larger, as on a disk that is full: some bytes are written before."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
