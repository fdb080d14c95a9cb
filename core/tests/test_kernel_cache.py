"""A kernel that calls another file's kernel is compiled again when that file has changed."""

import subprocess
import sys

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
from skyband.kernels.cache import drop_stale
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
