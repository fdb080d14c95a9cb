"""Who has a stream's checkpoint in use: a run of it, a savepoint, or nobody."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from skyband.errors import EngineError
from skyband_jobs.running.folder_lock import try_lock


@contextmanager
def in_use(folder: Path) -> Iterator[None]:
    """Keep a folder for this process while inside; the system lets go of it however the process ends.

    Raises EngineError where another process has it. File systems without locks lock nothing.
    """
    if sys.platform == "win32":  # where a folder cannot be opened
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        if try_lock(handle) is False:
            message = "is in use: a stream runs on it, or is being started or saved"
            raise EngineError(f"the checkpoint {str(folder)!r} {message}; stop that first")
        yield
    finally:
        os.close(handle)
