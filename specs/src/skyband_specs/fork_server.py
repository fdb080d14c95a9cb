"""An interpreter with everything that backends need, which forks for each task: a fresh process in milliseconds.

It has never used a backend, so a fork of it is as new as a started interpreter. Where the system cannot fork, it runs
one task itself and ends, and the next task gets a new one.

A task that need not be the first of its process, and may end it, goes to one lasting fork, where later tasks find
what earlier ones have loaded and compiled. If it fails there, it is repeated in a fresh fork, whose result counts.
"""

import atexit
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from select import select
from struct import Struct
from typing import IO, Any

from attrs import define, frozen

_NUMBER = Struct("<q")
_ORDER = Struct("<q?")
"""The size of a task, and whether it goes to the lasting fork."""
_PASSING = "PYTEST_"
"""The prefix of variables that change with every test and do not concern a child."""


@frozen
class Ended:
    """How a process ended, and its output."""

    returncode: int
    stdout: bytes
    stderr: bytes


@frozen
class _Task:
    """A task for a fork, as plain data, and where its output goes."""

    run: str
    """module:function, called with the argument; it returns text for stdout."""
    argument: Any
    folder: str
    stdout: str
    stderr: str


@define
class ForkServer:
    """A running interpreter that reads tasks from stdin and writes return codes to stdout."""

    process: "subprocess.Popen[bytes]"

    @classmethod
    def start(cls, environment: Mapping[str, str]) -> "ForkServer":
        """Start one with these environment variables."""
        command = [sys.executable, "-P", "-W", "ignore::DeprecationWarning", "-m", "skyband_specs.fork_server"]
        pipe = subprocess.PIPE
        own = cls(subprocess.Popen(command, stdin=pipe, stdout=pipe, env=dict(environment), start_new_session=True))
        atexit.register(own.stop)
        return own

    def run(self, run: str, argument: Any, patience: float, lasting: bool = False) -> Ended:
        """Have `run` (module:function) called with the argument in a fork: a fresh one, or the `lasting` one.

        Raises subprocess.TimeoutExpired, with the output until then, after `patience` seconds.
        """
        with tempfile.TemporaryDirectory(prefix="skyband-") as folder:
            outputs = Path(folder, "stdout"), Path(folder, "stderr")
            try:
                _send(self._stdin, pickle.dumps(_Task(run, argument, str(Path.cwd()), *map(str, outputs))), lasting)
                returncode = self._returncode(patience)
            except subprocess.TimeoutExpired as error:
                error.stdout = _read(outputs[0])
                raise
            return Ended(returncode, *map(_read, outputs))

    def stop(self) -> None:
        """End it and everything that it runs."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, 9)
        self.process.wait()
        self._stdin.close()
        self._stdout.close()

    def _returncode(self, patience: float) -> int:
        ready, _, _ = select([self._stdout], [], [], patience)
        if not ready:
            self.stop()
            raise subprocess.TimeoutExpired(self.process.args, patience)
        code = self._stdout.read(_NUMBER.size)
        return int(_NUMBER.unpack(code)[0]) if code else self.process.wait()

    @property
    def _stdin(self) -> IO[bytes]:
        assert self.process.stdin is not None
        return self.process.stdin

    @property
    def _stdout(self) -> IO[bytes]:
        assert self.process.stdout is not None
        return self.process.stdout


def run_in_fork(run: str, argument: Any, environment: Mapping[str, str], patience: float) -> Ended:
    """Call `run` (module:function) with the argument in a fresh process with these variables."""
    return _server_under(environment).run(run, argument, patience)


def run_in_lasting_fork(run: str, argument: Any, environment: Mapping[str, str], patience: float) -> Ended:
    """The same in a process that has run other tasks; if it fails there, in a fresh one."""
    there = _server_under(environment).run(run, argument, patience, lasting=True)
    if there.returncode == 0:
        return there
    alone = run_in_fork(run, argument, environment, patience)
    return alone if alone.returncode else there


def _server_under(environment: Mapping[str, str]) -> ForkServer:
    lasting = frozenset((key, value) for key, value in environment.items() if not key.startswith(_PASSING))
    server = _server(lasting)
    if server.process.poll() is not None:
        _server.cache_clear()
        server = _server(lasting)
    return server


@cache
def _server(environment: frozenset[tuple[str, str]]) -> ForkServer:
    return ForkServer.start(dict(environment))


def _read(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def _send(stream: IO[bytes], data: bytes, lasting: bool) -> None:
    stream.write(_ORDER.pack(len(data), lasting) + data)
    stream.flush()


def serve() -> None:
    """In the interpreter: fork for each task, or use the lasting fork, until stdin ends."""
    tasks, codes = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # output of imports must not mix with return codes
    import skyband.kernels.numba_compiler_patches  # noqa: F401  loads numba, most of what a child would wait for

    lasting = _LastingFork()
    while order := tasks.read(_ORDER.size):
        size, lasts = _ORDER.unpack(order)
        task = tasks.read(size)
        if not hasattr(os, "fork"):
            sys.exit(_do(task))
        codes.write(_NUMBER.pack(lasting.do(task) if lasts else _in_a_fork(task)))
        codes.flush()


def _in_a_fork(task: bytes) -> int:
    child = os.fork()
    if not child:
        _end(_do(task))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class _LastingFork:
    """A fork that runs tasks one after the other, until one ends it; then it is replaced."""

    def __init__(self) -> None:
        self._child = 0

    def do(self, task: bytes) -> int:
        """The task's return code, or the fork's if it ended."""
        if not self._child:
            self._begin()
        with suppress(BrokenPipeError):
            self._tasks.write(_NUMBER.pack(len(task)) + task)
            self._tasks.flush()
        if code := self._codes.read(_NUMBER.size):
            return int(_NUMBER.unpack(code)[0])
        ended, self._child = os.waitpid(self._child, 0)[1], 0
        return os.waitstatus_to_exitcode(ended)

    def _begin(self) -> None:
        (tasks, to_tasks), (from_codes, codes) = os.pipe(), os.pipe()
        self._child = os.fork()
        if not self._child:
            os.close(to_tasks)
            os.close(from_codes)
            with os.fdopen(tasks, "rb") as orders, os.fdopen(codes, "wb", buffering=0) as answers:
                while size := orders.read(_NUMBER.size):
                    answers.write(_NUMBER.pack(_do(orders.read(_NUMBER.unpack(size)[0]))))
            _end(0)
        os.close(tasks)
        os.close(codes)
        self._tasks, self._codes = os.fdopen(to_tasks, "wb"), os.fdopen(from_codes, "rb")


def _do(pickled: bytes) -> int:
    """Run a task with stdout and stderr in its files; returns 0, or 1 if it raised."""
    import traceback

    task: _Task = pickle.loads(pickled)
    for number, path in ((1, task.stdout), (2, task.stderr)):
        file = os.open(path, os.O_WRONLY | os.O_CREAT)
        os.dup2(file, number)
        os.close(file)
    os.chdir(task.folder)
    module, _, name = task.run.partition(":")
    try:
        function: Callable[[Any], str] = getattr(__import__(module, fromlist=[name]), name)
        sys.stdout.write(function(task.argument))
    except Exception:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def _end(returncode: int) -> None:
    """Leave a fork without the interpreter's cleanup, which belongs to the parent."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(returncode)


if __name__ == "__main__":
    from skyband_specs import fork_server

    fork_server.serve()
