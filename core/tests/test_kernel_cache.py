"""A kernel that calls another file's kernel is compiled again when that file has changed, or has moved away."""

import pickle
import subprocess
import sys

import numba
import pytest

CALLED = "from numba import njit\n@njit(cache=True)\ndef called():\n    return {answer}\n"
CALLING = """
import called
from numba import njit
@njit(cache=True)
def calling():
    return called.called()
"""
RUN = """
import sys
import calling
from skyband.kernels.cache_invalidation import drop_stale
dropped = drop_stale(calling) if "guarded" in sys.argv else []
print(calling.calling(), len(dropped))
"""


def run(folder, *arguments):
    command = [sys.executable, "-c", RUN, *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, check=True).stdout.split()


def test_a_changed_callee_is_noticed_once(tmp_path):
    (tmp_path / "called.py").write_text(CALLED.format(answer=1))
    (tmp_path / "calling.py").write_text(CALLING)
    assert run(tmp_path, "guarded") == ["1", "0"]
    (tmp_path / "called.py").write_text(CALLED.format(answer=20))
    assert run(tmp_path) == ["1", "0"], "numba notices by itself now: the guard can go"
    assert run(tmp_path, "guarded") == ["20", "1"]
    assert run(tmp_path, "guarded") == ["20", "0"]


PLAIN = "import calling\nprint(calling.calling())"
GUARDED = f"import skyband.kernels.cache_invalidation\n{PLAIN}"
GONE = b"cno_such_module\nThing\n."


def attempt(folder, code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=folder, check=False)


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_a_kernel_kept_from_before_a_module_moved_is_compiled_anew(tmp_path, suffix):
    """What was kept names a module that is not there any more."""
    (tmp_path / "calling.py").write_text(CALLED.format(answer=7).replace("called", "calling"))
    assert attempt(tmp_path, PLAIN).stdout == "7\n"
    (kept,) = (tmp_path / "__pycache__").glob(f"*.{suffix}")
    version = pickle.dumps(numba.__version__) if suffix == "nbi" else b""
    kept.write_bytes(version + GONE)
    assert "No module named 'no_such_module'" in attempt(tmp_path, PLAIN).stderr, "numba takes it: the guard can go"
    assert attempt(tmp_path, GUARDED).stdout == "7\n"
    assert GONE not in kept.read_bytes(), "and kept again"
