"""Who has a stream's checkpoint in use: a run of it, a savepoint, or nobody."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from skyband.errors import EngineError


@contextmanager
def in_use(folder: Path) -> Iterator[None]:
    """Keep a folder for this process while inside; the system lets go of it however the process ends.

    Raises EngineError where another process has it. File systems without locks lock nothing.
    """
    if sys.platform == "win32":  # which has no such locks
        yield
        return
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):
                said = "is in use: a stream runs on it, or is being started or saved"
                raise EngineError(f"the checkpoint {str(folder)!r} {said}; stop that first") from error
            if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.EINVAL):
                raise
        yield
    finally:
        os.close(handle)
