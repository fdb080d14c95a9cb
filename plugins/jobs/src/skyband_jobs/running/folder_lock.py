"""Locks on folders and files, which the system releases however a process ends."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EINVAL, errno.EBADF, errno.ENOSYS)
"""Errors of file systems without locks; EBADF is NFS's, for files that are open for reading only."""


def try_lock(handle: int) -> bool | None:
    """Lock an open file or folder until it is closed. False: another process holds it; None: locks are unsupported."""
    if sys.platform == "win32":  # has no such locks
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
    """Hold a folder's lock, after waiting for other processes; without locks, continue at once."""
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
