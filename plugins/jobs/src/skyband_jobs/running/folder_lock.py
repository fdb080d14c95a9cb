"""Folders and files that one process at a time has: the system lets go of them however the process ends."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EINVAL, errno.EBADF, errno.ENOSYS)
"""What a file system without locks says; EBADF is NFS's, of what is open for reading only."""


def try_lock(handle: int) -> bool | None:
    """Lock an open file or folder for as long as it is open. False: another process has it; None: no locks here."""
    if sys.platform == "win32":  # which has no such locks
        return None
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        if error.errno in _NO_LOCKS:
            return None
        raise
    return True


@contextmanager
def turn_in(folder: Path) -> Iterator[None]:
    """Wait until no other process is inside a folder's block; where there are no locks, do not."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
        yield
    finally:
        os.close(handle)
