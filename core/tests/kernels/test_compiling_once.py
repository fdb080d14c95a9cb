"""One of several processes compiles a kernel that all need; however it ends, the others answer."""

import os
import signal
import subprocess
import sys

import pytest

KERNEL = """
from skyband.kernels.nested import kernel_njit

@kernel_njit
def double(number):
    return number + number
"""
CALL = """
import sys
from numba.core import event
from skyband.kernels.numba_compiler_patches import compiling_once
{before}

class Compiling(event.Listener):
    def on_start(self, began):
        if began.data["dispatcher"].py_func.__name__ == "double":
            print("compiles", flush=True)
            sys.stdin.readline()

    def on_end(self, ended):
        pass

event.register("numba:compile", Compiling())
from kernel import double
print(double({number}), sum(double.stats.cache_hits.values()), flush=True)
"""


@pytest.fixture
def start(tmp_path):
    """Starts a process that calls the kernel; one that compiles it says so, and waits for a line before it does."""
    (tmp_path / "kernel.py").write_text(KERNEL)
    own = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept")}
    started = []

    def call(number="1", before="", **options):
        code = CALL.format(number=number, before=before)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": own, "cwd": tmp_path}
        started.append(subprocess.Popen([sys.executable, "-c", code], **pipes, **options))
        return started[-1]

    yield call
    for process in started:
        process.kill()
        process.communicate()


def answer(process):
    """What a process says in the end that may compile."""
    return process.communicate("\n")[0].splitlines()


SAYS_THAT_IT_WAITS = """
usual = compiling_once.time.sleep
def wait(seconds):
    print("waits", flush=True)
    compiling_once.time.sleep = usual
compiling_once.time.sleep = wait
"""


def test_the_second_waits_and_reads_what_the_first_has_compiled(start):
    first = start()
    assert first.stdout.readline() == "compiles\n"
    second = start(before=SAYS_THAT_IT_WAITS)
    assert second.stdout.readline() == "waits\n"
    assert answer(first) == ["2 0"]
    assert answer(second) == ["2 1"]


def test_caches_written_at_once_for_different_types_are_not_mixed_up(start):
    """numba reads the index, adds to it and writes it: of two at once both would call theirs the first."""
    first = start("1")
    assert first.stdout.readline() == "compiles\n"
    second = start("1.5", before=SAYS_THAT_IT_WAITS)
    assert second.stdout.readline() == "waits\n"
    assert answer(first) == ["2 0"]
    assert answer(second) == ["compiles", "3.0 0"]
    assert answer(start("2")) == ["4 1"]
    assert answer(start("2.5")) == ["5.0 1"]


def test_one_that_is_killed_while_it_compiles_leaves_the_turn_to_the_next(start):
    first = start()
    assert first.stdout.readline() == "compiles\n"
    second = start(before=SAYS_THAT_IT_WAITS)
    assert second.stdout.readline() == "waits\n"
    first.send_signal(signal.SIGKILL)
    assert answer(second) == ["compiles", "2 0"]


def test_one_that_is_stopped_is_not_waited_for_without_end(start):
    first = start()
    assert first.stdout.readline() == "compiles\n"
    assert answer(start(before="compiling_once.LONGEST_WAIT = 0.1")) == ["compiles", "2 0"]


FAILS = """
import kernel
try:
    kernel.double(None)
except Exception as error:
    print(type(error).__name__, flush=True)
sys.stdin.readline()
"""


def test_a_kernel_that_cannot_be_compiled_gives_the_turn_back(start):
    first = start(before=FAILS)
    assert first.stdout.readline() == "TypingError\n"
    assert answer(start(before=SAYS_THAT_IT_WAITS)) == ["compiles", "2 0"]


NO_LOCKS = """
import errno
import fcntl
def refuse(*_):
    raise OSError(errno.ENOLCK, "No locks available")
fcntl.lockf = refuse
"""
NO_FILE = "compiling_once._FILE = 'no/such/folder'"


@pytest.mark.parametrize("before", [NO_LOCKS, NO_FILE], ids=["locks", "files"])
def test_without_locks_each_process_compiles_its_own(start, before):
    first = start()
    assert first.stdout.readline() == "compiles\n"
    assert answer(start(before=before)) == ["compiles", "2 0"]
    assert answer(first) == ["2 0"]
