"""A lock on a stream's checkpoint, held by a run or a savepoint."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from skyband.errors import EngineError

from skyband_jobs.running.folder_lock import try_lock


@contextmanager
def in_use(folder: Path) -> Iterator[None]:
    """Lock a folder for this process; the system releases the lock however the process ends.

    Raises EngineError where another process holds it. File systems without locks lock nothing.
    """
    if sys.platform == "win32":  # cannot open a folder
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        if try_lock(handle) is False:
            message = "is in use: a stream is running on it, being started or saved"
            raise EngineError(f"the checkpoint {str(folder)!r} {message}; stop it first")
        yield
    finally:
        os.close(handle)
