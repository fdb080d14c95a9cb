"""Ctrl-C while compiled code runs: the call ends, KeyboardInterrupt comes, and the process lives."""

import subprocess
import sys

import pytest

INTERRUPTED = """
import os, signal, sys, threading
import numpy as np
import skyband
from skyband.errors import BrokenError

role, name = sys.argv[1].split("/")
rng = np.random.default_rng(1)
n = 12_000
window = {"window": n} if role == "set-matcher" else {"window": n, "k": 10}
only = {"threshold": 0.3} if role == "set-matcher" else {}
sets = {
    "times": np.arange(n),
    "offsets": np.arange(n + 1) * 12,
    "tokens": np.sort(rng.integers(0, 25, (n, 12)) + np.arange(12) * 25, axis=1).ravel(),
}
few = {"times": sets["times"][:50], "offsets": sets["offsets"][:51], "tokens": sets["tokens"][:600]}
skyband.create(role, name, **window, **only).update(**few)  # its kernels are there now
for after in (0.01, 0.03, 0.1):
    backend = skyband.create(role, name, **window, **only)
    threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        backend.update(**sets)
        signal.pause()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    try:
        backend.update(**few)
        print("whole")
    except BrokenError:
        print("broken", flush=True)
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
"""


@pytest.mark.parametrize("backend", ["set-matcher/prefix", "set-matcher/inverted"])
def test_a_call_ends_before_it_is_interrupted(backend):
    command = [sys.executable, "-P", "-c", INTERRUPTED, backend]
    child = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (child.returncode, child.stdout.split()) == (0, ["interrupted", "broken"] * 3), child.stderr
