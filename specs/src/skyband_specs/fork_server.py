"""An interpreter that has loaded what every backend needs and forks for each task: a fresh process in milliseconds.

It has never seen a backend, so that a fork of it is as new as an interpreter just started. Where the system cannot
fork, it does one task itself and ends, and the next task has a new one.
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
_PASSING = "PYTEST_"
"""How variables begin that change with every test and mean nothing to a child."""


@frozen
class Ended:
    """How a process ended, and what it wrote."""

    returncode: int
    stdout: bytes
    stderr: bytes


@frozen
class _Task:
    """What a fork is to run, as plain data, and where its output goes."""

    run: str
    """module:function, called with the argument; it returns text for stdout."""
    argument: Any
    folder: str
    stdout: str
    stderr: str


@define
class ForkServer:
    """A running interpreter; its stdin brings tasks, its stdout return codes."""

    process: "subprocess.Popen[bytes]"

    @classmethod
    def start(cls, environment: Mapping[str, str]) -> "ForkServer":
        """A new one under these variables."""
        command = [sys.executable, "-P", "-W", "ignore::DeprecationWarning", "-m", "skyband_specs.fork_server"]
        pipe = subprocess.PIPE
        own = cls(subprocess.Popen(command, stdin=pipe, stdout=pipe, env=dict(environment), start_new_session=True))
        atexit.register(own.stop)
        return own

    def run(self, run: str, argument: Any, patience: float) -> Ended:
        """Have `run` (module:function) called with the argument in a fork.

        Raises subprocess.TimeoutExpired, with what was written until then, after `patience` seconds.
        """
        with tempfile.TemporaryDirectory(prefix="skyband-") as folder:
            written = Path(folder, "stdout"), Path(folder, "stderr")
            try:
                _send(self._stdin, pickle.dumps(_Task(run, argument, str(Path.cwd()), *map(str, written))))
                returncode = self._returncode(patience)
            except subprocess.TimeoutExpired as error:
                error.stdout = _read(written[0])
                raise
            return Ended(returncode, *map(_read, written))

    def stop(self) -> None:
        """End it and whatever it still runs."""
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
        said = self._stdout.read(_NUMBER.size)
        return int(_NUMBER.unpack(said)[0]) if said else self.process.wait()

    @property
    def _stdin(self) -> IO[bytes]:
        assert self.process.stdin is not None
        return self.process.stdin

    @property
    def _stdout(self) -> IO[bytes]:
        assert self.process.stdout is not None
        return self.process.stdout


def run_in_fork(run: str, argument: Any, environment: Mapping[str, str], patience: float) -> Ended:
    """`run` (module:function) called with the argument in a fresh process with these variables."""
    lasting = frozenset((key, value) for key, value in environment.items() if not key.startswith(_PASSING))
    server = _server(lasting)
    if server.process.poll() is not None:
        _server.cache_clear()
        server = _server(lasting)
    return server.run(run, argument, patience)


@cache
def _server(environment: frozenset[tuple[str, str]]) -> ForkServer:
    return ForkServer.start(dict(environment))


def _read(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def _send(stream: IO[bytes], data: bytes) -> None:
    stream.write(_NUMBER.pack(len(data)) + data)
    stream.flush()


def serve() -> None:
    """In the interpreter: a fork for each task until stdin ends."""
    tasks, codes = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what an import says is not a return code
    import skyband.kernels.numba_compiler_patches  # noqa: F401  loads numba, most of what a child would wait for

    while size := tasks.read(_NUMBER.size):
        task = tasks.read(_NUMBER.unpack(size)[0])
        if not hasattr(os, "fork"):
            sys.exit(_do(task))
        child = os.fork()
        if not child:
            _end(_do(task))
        codes.write(_NUMBER.pack(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])))
        codes.flush()


def _do(pickled: bytes) -> int:
    """Do a task with stdout and stderr in its files; the return code, 1 where it raised."""
    import traceback

    task: _Task = pickle.loads(pickled)
    for number, path in ((1, task.stdout), (2, task.stderr)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
    os.chdir(task.folder)
    module, _, name = task.run.partition(":")
    try:
        function: Callable[[Any], str] = getattr(__import__(module, fromlist=[name]), name)
        sys.stdout.write(function(task.argument))
    except Exception:
        traceback.print_exc()
        return 1
    return 0


def _end(returncode: int) -> None:
    """Leave a fork without what the interpreter would do at its end, which is its parent's to do."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(returncode)


if __name__ == "__main__":
    from skyband_specs import fork_server

    fork_server.serve()
