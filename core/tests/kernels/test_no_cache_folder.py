"""Kernels compile even if numba has no writable cache folder, as in a read-only container."""

import os
import shutil
import subprocess
import sys

import pytest

KERNEL = """
from numba import njit

@njit(cache=True)
def answer(number):
    return number + 1
"""
CORE = "import skyband.kernels.numba_compiler_patches\nfrom kernel import answer\nprint(answer(1))\nprint(answer(1.5))"
PLUGIN = """
from skyband.registry.module_import import import_plugin
answer = import_plugin("kernel").answer
print(answer(1))
print(answer(1.5))
"""
NOBODY = 65534
READS_ALL = [
    "setpriv",
    f"--reuid={NOBODY}",
    f"--regid={NOBODY}",
    "--clear-groups",
    "--inh-caps=+dac_read_search",
    "--ambient-caps=+dac_read_search",
]
"""For tests as root: a user whose only right is to read this Python, wherever it is."""


@pytest.fixture
def as_nobody(tmp_path):
    """Runs code as a user that can write to no folder."""
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("root, and no setpriv to be another user")
    (tmp_path / "kernel.py").write_text(KERNEL)
    tmp_path.chmod(0o555)

    def run(code, **environment):
        own = {"HOME": "/nonexistent", "PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path), **environment}
        before = READS_ALL if os.geteuid() == 0 else []
        call = [*before, sys.executable, "-P", "-c", code]
        return subprocess.run(call, env=own, cwd="/", capture_output=True, text=True)

    yield run
    tmp_path.chmod(0o755)


@pytest.mark.parametrize("code", [CORE, PLUGIN], ids=["core", "plugin"])
def test_kernels_are_compiled_where_no_folder_can_be_written_to(as_nobody, code):
    ran = as_nobody(code)
    assert ran.stdout.split() == ["2", "2.5"], ran.stderr
    assert ran.stderr.count("set NUMBA_CACHE_DIR to a writable folder") == 1
    assert len(ran.stderr.splitlines()) == 1


@pytest.mark.parametrize("kept", ["index", "data"])
def test_what_cannot_be_read_or_written_any_more_is_compiled(tmp_path, kept):
    """A folder that is full, or whose files are somebody else's."""
    code = """
import errno
from numba.core.caching import IndexDataCacheFile
import skyband.kernels.numba_compiler_patches

def full(*_):
    raise OSError(errno.ENOSPC, "No space left on device")

IndexDataCacheFile._save_{kept} = full
from kernel import answer
print(answer(1))
print(answer(1.5))
"""
    (tmp_path / "kernel.py").write_text(KERNEL)
    call = [sys.executable, "-P", "-c", code.format(kept=kept)]
    ran = subprocess.run(call, env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True)
    assert ran.stdout.split() == ["2", "2.5"], ran.stderr
    assert "No space left on device" in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


def test_a_folder_of_somebody_else_is_passed_over(as_nobody, tmp_path):
    cache = tmp_path.with_name(f"{tmp_path.name}-cache")
    cache.mkdir(mode=0o700)
    ran = as_nobody(CORE, NUMBA_CACHE_DIR=str(cache))
    assert ran.stdout.split() == ["2", "2.5"], ran.stderr
    assert "set NUMBA_CACHE_DIR" in ran.stderr


STATISTICS = "print(sum(answer.stats.cache_hits.values()), sum(answer.stats.cache_misses.values()))"


@pytest.fixture
def shared(as_nobody, tmp_path):
    """A folder with one kernel that another user has compiled."""
    if os.geteuid() != 0:
        pytest.skip("only root has the files of another user")
    folder = tmp_path.with_name(f"{tmp_path.name}-shared")
    folder.mkdir()
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder), "PYTHONPATH": str(tmp_path)}
    code = "import skyband.kernels.numba_compiler_patches\nfrom kernel import answer\nanswer(1)"
    subprocess.run([sys.executable, "-P", "-c", code], env=environment, check=True)
    return folder


def test_kernels_in_a_read_only_folder_of_somebody_else_are_read(as_nobody, shared):
    ran = as_nobody(f"{CORE}\n{STATISTICS}", NUMBA_CACHE_DIR=str(shared))
    assert ran.stdout.split() == ["2", "2.5", "1", "1"], ran.stderr
    assert ran.stderr.count("set NUMBA_CACHE_DIR") == len(ran.stderr.splitlines()) == 1


def test_another_users_lock_file_is_replaced_by_an_own_one(as_nobody, shared):
    """In a folder that all can write to: kernels are cached, and compiled by one process of a user at a time."""
    for folder in (shared, *shared.iterdir()):
        folder.chmod(0o777)
    (lock,) = shared.rglob("skyband-turns.lock")
    lock.chmod(0o644)
    assert as_nobody(f"{CORE}\n{STATISTICS}", NUMBA_CACHE_DIR=str(shared)).stdout.split()[2:] == ["1", "1"]
    assert lock.with_name(f"{NOBODY}-{lock.name}").stat().st_uid == NOBODY
    ran = as_nobody(f"{CORE}\n{STATISTICS}", NUMBA_CACHE_DIR=str(shared))
    assert ran.stdout.split()[2:] == ["2", "0"] and ran.stderr == ""
