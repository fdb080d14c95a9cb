"""Kernels are compiled by numba alone without skyband-jit, or with an unsupported numba."""

import os
import subprocess
import sys

import pytest

ANSWERS = """
import logging
log = logging.getLogger("skyband")
log.setLevel(logging.INFO)
log.propagate = False
log.addHandler(logging.StreamHandler(sys.stdout))
from skyband.kernels.nested import kernel_njit, nested_njit, shared_njit
import skyband.kernels.nested as nested

@nested_njit(error_model="numpy")
def share(values, whole):
    return values[0] / whole

@shared_njit
def total(values):
    return values.sum()

@kernel_njit
def shares(values):
    return share(values, total(values))

print(nested._SOONER is not None, total(np.arange(4.0)), shares(np.array([1.0, 3.0])), type(shares).__module__)
"""
WITHOUT = 'sys.modules["skyband_jit"] = None'
NEWER = 'numba.__version__ = "0.999.1"'
VANISHED = "import numba.core.typed_passes\ndel numba.core.typed_passes.NativeLowering"
OTHER_CACHE = "import numba.core.caching as caching\ndel caching.IndexDataCacheFile._load_data"


def run(code, folder):
    script, own = folder / "script.py", {**os.environ, "NUMBA_CACHE_DIR": str(folder / "kept")}
    script.write_text(f"import sys, numba, numpy as np\n{code}")
    call = [sys.executable, "-W", "error", str(script)]
    return subprocess.run(call, env=own, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.parametrize(
    ("change", "why"),
    [(NEWER, "newer than"), (VANISHED, "not as expected (cannot import name 'NativeLowering'")],
    ids=["newer than tested", "a class is gone"],
)
def test_kernels_are_compiled_by_numba_alone_where_its_compiler_is_not_the_tested_one(tmp_path, change, why):
    *notices, answers = run(f"{change}\n{ANSWERS}", tmp_path)
    assert answers.startswith("False 6.0 0.25")
    assert [why in notice for notice in notices] == [True], "said once"


def test_kernels_are_compiled_by_numba_alone_without_skyband_jit(tmp_path):
    (answers,) = run(f"{WITHOUT}\n{ANSWERS}", tmp_path)
    assert answers.startswith("False 6.0 0.25")


def test_kernels_cached_with_skyband_jit_are_compiled_again_without_it(tmp_path):
    """The cache on disk names its classes."""
    for change, sooner in (("", "True"), (WITHOUT, "False"), ("", "True")):
        assert run(f"{change}\n{ANSWERS}", tmp_path)[-1].startswith(f"{sooner} 6.0 0.25")


def test_nothing_is_cached_where_numba_would_not_renew_it(tmp_path):
    """A kernel that calls one of another file would be answered by an older one of these."""
    *notices, answers = run(f"{NEWER}\n{OTHER_CACHE}\n{ANSWERS}", tmp_path)
    assert answers.startswith("False 6.0 0.25")
    assert any("kernels are not cached on disk" in notice for notice in notices)
    assert not any(tmp_path.rglob("*.nb?"))


FAMILY = """
from skyband.kernels.kskyband import KSkyband
band = KSkyband(k=3, room=8)
for start in range(0, 60, 4):
    moments = np.arange(start, start + 4)
    band.add(scores=moments * 37 % 101, expiries=moments + 20, keys=moments)
    band.advance(start)
print(*band.topk(3)["key"], len(band))
"""


def test_the_kernels_of_a_family_answer_the_same_compiled_by_numba_alone(tmp_path):
    alive = range(36, 60)  # those that expire at 56 or later
    best = sorted(alive, key=lambda moment: -(moment * 37 % 101))[:3]
    *answer, kept = map(int, run(f"{NEWER}\n{FAMILY}", tmp_path)[-1].split())
    assert answer == best
    assert kept == sum(sum(other * 37 % 101 > one * 37 % 101 for other in alive if other > one) < 3 for one in alive)


SIGNALS = """
import signal
from typing import NamedTuple
from skyband.kernels.nested import kernel_njit, shared_njit

class Column(NamedTuple):
    values: np.ndarray
    size: int

def work(values, rounds):
    total = 0.0
    for step in range(rounds):
        total += np.sin(step + total)
    return Column(values, rounds), (values[1:], Column(values * total, 0)), total

signal.signal(signal.SIGALRM, signal.default_int_handler)
for njit in (kernel_njit, shared_njit, numba.njit):
    kernel, values = njit(work), np.zeros(3)
    column, (rest, other), _ = kernel(values, 1)
    assert (type(column), type(other), column.size, other.size) == (Column, Column, 1, 0)
    assert np.shares_memory(column.values, values) and np.shares_memory(rest, values)
    interrupted = 0
    for _ in range(60):
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.0005)  # may pass before the call where the machine is busy
            kernel(values, 600_000)  # takes some 10 ms
        except KeyboardInterrupt:
            interrupted += 1
    print(interrupted)
"""


def test_a_signal_while_a_kernel_runs_is_handled_once_it_has_returned(tmp_path):
    """numba's own way ends the process, or raises SystemError: it runs Python while it makes arrays and tuples."""
    assert run(SIGNALS, tmp_path) == ["60"] * 3
