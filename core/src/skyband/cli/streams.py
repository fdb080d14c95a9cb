"""stdout and stderr as a command finds them: closed, on a full disk, or on a terminal that lacks a character."""

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
    """Why names of files with other letters than ASCII's may not be found: a locale that is not UTF-8."""
    encoding = sys.getfilesystemencoding()
    if encoding.lower() in ("utf-8", "utf8"):
        return None
    return f"the locale has names of files in {encoding}, and Skyband in UTF-8: set PYTHONUTF8=1, or LC_ALL=C.UTF-8"


def stdout_folder() -> Path | None:
    """The folder of the file that stdout is written to, as `> job.toml` says; None where it is none, or not known."""
    try:
        handle = sys.stdout.fileno()
        file = os.fstat(handle)
        if not stat.S_ISREG(file.st_mode):
            return None
        place = Path(f"/proc/self/fd/{handle}").resolve(strict=True)
        return place.parent if os.path.samestat(place.stat(), file) else None
    except (OSError, ValueError, AttributeError):  # no file, one that is gone, or a system that does not say its name
        return None


class _Forgiving(io.TextIOWrapper):
    """Whoever cannot be told anything is no reason for a run to fail."""

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except OSError:
            return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            super().flush()


class _Watched(io.TextIOWrapper):
    """Remembers why it could not be written, which whoever tells of the error does not see in it."""

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
    """Make both of them usable.

    A number that is closed would be that of the first file opened, and what is meant for stdout would go there. Where
    stdout is closed, writing to it fails; where stderr is, what it would say is lost.
    """
    for number, mode in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, mode)  # takes the lowest number that is free: this one
    out, err = (sys.stdout, 1), (sys.stderr, 2)
    sys.stdout = sys.__stdout__ = _Watched(*_detached(*out), line_buffering=_is_line_buffered(sys.stdout))  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = _Forgiving(*_detached(*err), line_buffering=True)  # type: ignore[misc]


def _detached(stream: Any, number: int) -> tuple[Any, str, str]:
    """What is below a stream, with its encoding; a character that a terminal lacks is no reason to fail."""
    if stream is None:
        return io.BufferedWriter(io.FileIO(number, "w", closefd=False)), "utf-8", "replace"
    return stream.detach(), stream.encoding, "replace"


def _is_line_buffered(stream: Any) -> bool:
    return bool(getattr(stream, "line_buffering", False))


def stdout_fault() -> OSError | None:
    """Why stdout takes nothing, where it does not, said once; what it was given is let go of then."""
    out: Any = sys.stdout
    with suppress(OSError, ValueError):
        out.flush()
    fault: OSError | None = getattr(out, "fault", None)
    if fault is not None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, out.fileno())  # or Python says so once more at its end
        os.close(nowhere)
        out.fault = None
    return fault


def ended_with(status: object) -> object:
    """The exit status, once all of stdout is written."""
    error = stdout_fault()
    if error is None:
        return status
    if error.errno != errno.EPIPE:  # whoever reads has read enough
        signals.say(f"error: stdout cannot be written: {error.strerror}")
    return status or 1
