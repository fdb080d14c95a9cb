"""Makes one of several processes that need a kernel compile and cache it, while the others wait and read it.

Without this each compiles its own, for seconds of CPU time. And two that cache a kernel for different types at once may
leave an index in which one's name leads to the other's code. https://github.com/numba/numba/issues/4807 is such a race.

A process that has the turn of one kernel waits for no other, so there is no deadlock; the system releases the
turn of a process that ends. If files cannot be locked or written, each process compiles its own.
"""

import os
import sys
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from pathlib import Path
from threading import local
from typing import Any

from numba.core import dispatcher
from numba.core.caching import Cache

LONGEST_WAIT = 120.0
"""Seconds after which a process compiles a kernel itself: the other may have been stopped by a debugger."""

_BETWEEN_LOOKS = 0.02
"""Seconds between two attempts."""

_FILE = "skyband-turns.lock"
"""A file in a folder of kernels: each kernel has one byte of it, which is locked and never written."""


class _Turns(local):
    """For each thread, the turn of the kernel that it is about to call, if any."""

    current: "_Turn | None" = None


_TURNS = _Turns()


def compile_once() -> None:
    """Make numba look for a kernel again before it compiles it, once no other process is compiling it."""
    dispatchers: Any = dispatcher.Dispatcher
    if not hasattr(dispatchers.compile, "__wrapped__"):
        Cache.load_overload = _looks_again(Cache.load_overload)
        dispatchers.compile = _in_turn(dispatchers.compile)


class _Turn:
    """The right to compile one kernel, which a process holds until it ends it."""

    def __init__(self) -> None:
        self._file: int | None = None
        self._began = False

    def begin(self, cache: Any) -> bool:
        """Wait for it. Returns False if there is nothing to wait for, and for kernels that the first one calls."""
        if self._began or not cache._enabled or sys.platform == "win32":
            return False
        self._began = True
        with suppress(OSError):  # no writable folder, no locks: numba's errors are reported elsewhere
            cache._impl.locator.ensure_cache_path()
            self._file = _opened(Path(cache.cache_path))
            _wait(self._file, zlib.crc32(cache._cache_file._index_name.encode()))
            return True
        return False

    def end(self) -> None:
        if self._file is not None:
            os.close(self._file)


def _opened(folder: Path) -> int:
    """The lock file of a folder; one for this user alone if another user's cannot be locked."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    try:
        return os.open(folder / _FILE, flags, 0o666)
    except PermissionError:
        return os.open(folder / f"{os.getuid()}-{_FILE}", flags, 0o666)


def _wait(file: int, place: int) -> None:
    """Lock one byte of a file. A forked process does not share this lock, as it would one of the whole file."""
    import fcntl

    latest = time.monotonic() + LONGEST_WAIT
    while True:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
            return
        except (BlockingIOError, PermissionError):  # another process has it
            if time.monotonic() > latest:
                return
            time.sleep(_BETWEEN_LOOKS)


def _looks_again(load: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(load)
    def looked(cache: Any, *arguments: Any) -> Any:
        overload = load(cache, *arguments)
        turn = _TURNS.current
        if overload is None and turn is not None and turn.begin(cache):
            return load(cache, *arguments)
        return overload

    return looked


def _in_turn(compile_one: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(compile_one)
    def compiled(compiling: Any, signature: Any) -> Any:
        if _TURNS.current is not None:  # called by a kernel that is being compiled
            return compile_one(compiling, signature)
        _TURNS.current = turn = _Turn()
        try:
            return compile_one(compiling, signature)
        finally:
            _TURNS.current = None
            turn.end()

    return compiled
