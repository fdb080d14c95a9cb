"""A kernel that calls another file's kernel is compiled again when that file has changed or moved."""

import os
import pickle
import subprocess
import sys

import numba
import pytest

CALLED = "from numba import njit\n@njit(cache=True)\ndef called():\n    return {answer}\n"
BETWEEN = """
import called
from {module} import {decorator}
@{decorator}
def between():
    return called.called()
"""
CALLING = """
import between
from numba import njit
@njit(cache=True)
def calling():
    return between.between()
"""
OURS = {"module": "skyband.kernels.nested", "decorator": "nested_njit"}
NUMBAS = {"module": "numba", "decorator": "njit"}
RUN = "import calling\nprint(calling.calling(), sum(calling.calling.stats.cache_hits.values()))"
A_DAY = 86_400
OWN = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
"""Kernels that do not use core are cached next to their files."""


def run(folder, first="pass"):
    """The kernel's result in a new process, and its number of cache hits."""
    command = [sys.executable, "-c", f"{first}\n{RUN}"]
    own = OWN | {"XDG_CACHE_HOME": str(folder / "cache"), "HOME": str(folder)}
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, check=True, env=own).stdout.split()


def write(folder, answer, between):
    (folder / "called.py").write_text(CALLED.format(answer=answer))
    (folder / "between.py").write_text(BETWEEN.format(**between))
    (folder / "calling.py").write_text(CALLING)


@pytest.mark.parametrize("age", [-A_DAY, A_DAY], ids=["older", "newer"])
def test_a_kernel_is_compiled_again_once_a_module_that_it_reaches_has_changed(tmp_path, age):
    """The file may be older than the cache of the previous one: an installer keeps the times of an archive."""
    write(tmp_path, 1, OURS)
    assert run(tmp_path) == ["1", "0"]
    assert run(tmp_path) == ["1", "1"], "nothing has changed: it is read from disk"
    called = tmp_path / "called.py"
    was = called.stat().st_mtime
    called.write_text(CALLED.format(answer=2))
    os.utime(called, (was + age, was + age))
    assert run(tmp_path) == ["2", "0"]
    assert run(tmp_path) == ["2", "1"]


def test_kernels_without_core_are_cached_as_numba_does(tmp_path):
    """Their cache must not depend on whether a process has imported Skyband before."""
    write(tmp_path, 1, NUMBAS)
    assert run(tmp_path) == ["1", "0"]
    assert run(tmp_path, first="import skyband.kernels.numba_compiler_patches") == ["1", "1"]
    (tmp_path / "called.py").write_text(CALLED.format(answer=20))
    assert run(tmp_path) == ["1", "1"], "numba looks at callees by itself now: compile_where_a_callee_changed can go"


PLAIN = "import calling\nprint(calling.calling())"
GUARDED = f"import skyband.kernels.numba_compiler_patches\n{PLAIN}"
GONE = b"cno_such_module\nThing\n."


def attempt(folder, code):
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False, env=OWN)


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_a_kernel_cached_before_a_module_moved_is_compiled_again(tmp_path, suffix):
    """The cache names a module that no longer exists."""
    (tmp_path / "calling.py").write_text(CALLED.format(answer=7).replace("called", "calling"))
    assert attempt(tmp_path, PLAIN).stdout == "7\n"
    (kept,) = (tmp_path / "__pycache__").glob(f"*.{suffix}")
    version = pickle.dumps(numba.__version__) if suffix == "nbi" else b""
    kept.write_bytes(version + GONE)
    assert "No module named 'no_such_module'" in attempt(tmp_path, PLAIN).stderr, "numba takes it: the guard can go"
    assert attempt(tmp_path, GUARDED).stdout == "7\n"
    assert GONE not in kept.read_bytes(), "and kept again"
