"""stdout and stderr made usable for a command: closed, on a full disk, or on a terminal that lacks a character."""

import errno
import io
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from skyband.cli import signals


def encoding_fault() -> str | None:
    """Why names of files with non-ASCII letters may not be found: a locale that is not UTF-8. None if it is UTF-8."""
    encoding = sys.getfilesystemencoding()
    if encoding.lower() in ("utf-8", "utf8"):
        return None
    return f"the locale encodes file names in {encoding}, but Skyband uses UTF-8: set PYTHONUTF8=1, or LC_ALL=C.UTF-8"


def stdout_folder() -> Path | None:
    """The folder of the file that stdout is redirected to, as in `> FILE`; None if it is not a file, or unknown."""
    try:
        handle = sys.stdout.fileno()
        file = os.fstat(handle)
        if not stat.S_ISREG(file.st_mode):
            return None
        place = Path(f"/proc/self/fd/{handle}").resolve(strict=True)
        return place.parent if os.path.samestat(place.stat(), file) else None
    except (OSError, ValueError, AttributeError):  # not a file, deleted, or the system cannot name it
        return None


class _Forgiving(io.TextIOWrapper):
    """Ignores failed writes: a run must not fail because stderr cannot be written."""

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except OSError:
            return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            super().flush()


class _Watched(io.TextIOWrapper):
    """Remembers the error of a failed write: the exception does not say which stream it came from."""

    fault: OSError | None = None

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except OSError as error:
            self.fault = error
            raise

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            self.fault = error
            raise


def prepare() -> None:
    """Make both streams usable.

    A closed descriptor's number would go to the next file opened, and stdout's text would be written there. If stdout
    is closed, writing to it fails; if stderr is closed, its text is lost.
    """
    for number, mode in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, mode)  # takes the lowest free number: this one
    out, err = (sys.stdout, 1), (sys.stderr, 2)
    sys.stdout = sys.__stdout__ = _Watched(*_detached(*out), line_buffering=_is_line_buffered(sys.stdout))  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = _Forgiving(*_detached(*err), line_buffering=True)  # type: ignore[misc]


def _detached(stream: Any, number: int) -> tuple[Any, str, str]:
    """The buffer below a stream, with its encoding; characters that a terminal lacks are replaced."""
    if stream is None:
        return io.BufferedWriter(io.FileIO(number, "w", closefd=False)), "utf-8", "replace"
    return stream.detach(), stream.encoding, "replace"


def _is_line_buffered(stream: Any) -> bool:
    return bool(getattr(stream, "line_buffering", False))


def stdout_fault() -> OSError | None:
    """Why stdout cannot be written, or None; returned once, and its buffered text is dropped."""
    out: Any = sys.stdout
    with suppress(OSError, ValueError):
        out.flush()
    fault: OSError | None = getattr(out, "fault", None)
    if fault is not None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, out.fileno())  # otherwise Python reports it again at exit
        os.close(nowhere)
        out.fault = None
    return fault


def ended_with(status: object) -> object:
    """The exit status, after all of stdout was written."""
    error = stdout_fault()
    if error is None:
        return status
    if error.errno != errno.EPIPE:  # EPIPE: the reader has closed the pipe, as head does
        signals.say(f"error: stdout cannot be written: {error.strerror}")
    return status or 1
