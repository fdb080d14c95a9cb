"""A signal while compiled code runs stops the call and breaks its backend, and the process survives."""

import signal
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

INTERRUPTED = """
import signal, sys
import numpy as np
import skyband
from skyband.errors import BrokenError

role, name = sys.argv[1].split("/")
rng = np.random.default_rng(1)
n = 8_000 if role == "set-matcher" else 1_500
window = {"window": n} if role == "set-matcher" else {"window": n, "k": 10}
only = {"threshold": 0.3} if role == "set-matcher" else {}
sets = {
    "times": np.arange(n),
    "offsets": np.arange(n + 1) * 12,
    "tokens": np.sort(rng.integers(0, 25, (n, 12)) + np.arange(12) * 25, axis=1).ravel(),
}
few = {"times": sets["times"][:50], "offsets": sets["offsets"][:51], "tokens": sets["tokens"][:600]}
skyband.create(role, name, **window, **only).update(**few)  # compiles its kernels
signal.signal(signal.SIGALRM, signal.default_int_handler)
for after in (0.01, 0.02, 0.05):
    backend = skyband.create(role, name, **window, **only)
    signal.setitimer(signal.ITIMER_REAL, after)
    try:
        backend.update(**sets)
        print("too fast")
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    try:
        backend.update(**few)
        print("whole")
    except BrokenError:
        print("broken", flush=True)
"""


@pytest.mark.parametrize("backend", ["set-matcher/prefix", "set-matcher/inverted", "pair-ranker/scase"])
def test_a_call_stopped_by_a_signal_breaks_only_its_backend(backend):
    command = [sys.executable, "-P", "-c", INTERRUPTED, backend]
    child = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (child.returncode, child.stdout.split()) == (0, ["interrupted", "broken"] * 3), child.stderr


JOB = """
[source]
format = "parquet"
path = "sets"

[query]
kind = "near-duplicates"
time = "ts"
id = "ts"
tokens = "tokens"
window = "100000 rows"
threshold = 0.3

[sink]
format = "parquet"
path = "matches"
"""
ENDS = """
import ctypes, signal, sys
from skyband.__main__ import main
from skyband_jobs.local import run as run_local

answers, number = run_local._answers, int(sys.argv.pop())

class Event(ctypes.Structure):
    _fields_ = [("value", ctypes.c_void_p), ("signal", ctypes.c_int), ("how", ctypes.c_int), ("_", ctypes.c_char * 48)]

def ends(*arguments):
    # A kernel timer: on a busy machine another process might not run for seconds.
    libc, timer = ctypes.CDLL(None), ctypes.c_void_p()
    assert libc.timer_create(1, ctypes.byref(Event(None, number, 0)), ctypes.byref(timer)) == 0
    assert libc.timer_settime(timer, 0, (ctypes.c_long * 4)(0, 0, 0, 50_000_000), None) == 0
    return answers(*arguments)

if number:
    run_local._answers = ends
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's job in the background ignores it
main()
"""


def run(home, rows, number):
    (home / "sets").mkdir(parents=True)
    (home / "job.toml").write_text(JOB)
    tokens = np.random.default_rng(1).integers(0, 25, (rows, 12)) + np.arange(12) * 25
    lists = pa.ListArray.from_arrays(pa.array(np.arange(rows + 1) * 12, pa.int32()), tokens.ravel())
    parquet.write_table(pa.table({"ts": np.arange(rows), "tokens": lists}), home / "sets/0.parquet")
    command = [sys.executable, "-P", "-c", ENDS, "run", "job.toml", "--engine", "local", str(int(number))]
    return subprocess.run(command, cwd=home, capture_output=True, text=True, check=False, timeout=120)


def test_a_run_ended_by_a_signal_in_compiled_code_reports_the_signal(tmp_path):
    assert run(tmp_path / "few", 50, 0).returncode == 0, "this run compiles the kernels"
    for number in (signal.SIGINT, signal.SIGTERM):
        home = tmp_path / number.name
        ran = run(home, 30_000, number)
        assert ran.returncode == 128 + number, ran.stderr
        assert list((home / "matches").iterdir()) == []
