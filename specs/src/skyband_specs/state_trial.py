"""Tries a backend's mutated states in a child process that may crash or hang, and reports the result.

Each state must raise SnapshotError, or give a backend that can be queried, fed and saved again; it may refuse rows,
because the state may be later than they are.
"""

import faulthandler
import signal
import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from attrs import frozen
from skyband import SkybandError, SnapshotError, snapshot

from skyband_specs.batching import fed
from skyband_specs.check import expect
from skyband_specs.driver import Case
from skyband_specs.fresh_process import PATIENCE, last_words, run_in_fresh_process
from skyband_specs.state_mutations import mutations

_MOST_MEMORY = 8 << 30
"""Additional bytes that a mutated state may request before an allocation fails."""


@frozen
class Budget:
    """The number of mutated states, their seed, and the CPU seconds that each may take."""

    states: int
    seed: int
    seconds: int = 20


def fault(case: Case, budget: Budget) -> str | None:
    """What goes wrong with a mutated state of a backend after half its seeded stream; None: nothing."""
    try:
        child = run_in_fresh_process(case, "skyband_specs.state_trial:_try_all", budget, lasting=True)
    except subprocess.TimeoutExpired as error:
        return f"hangs for {PATIENCE:.0f} s {_at(error.stdout or b'')}"
    if child.returncode == 0:
        return None
    place = _at(child.stdout)
    if child.returncode == -getattr(signal, "SIGPROF", 0):
        return f"hangs for {budget.seconds} s {place}"
    if child.returncode < 0:
        return f"crashes with {signal.Signals(-child.returncode).name} {place}"
    return f"{last_words(child).splitlines()[-1]} {place}"


def _at(output: bytes) -> str:
    lines = output.decode(errors="replace").splitlines()
    return f"on the state with {lines[-1]}" if lines else "before the first mutated state"


def _try_all(case: Case, budget: Budget) -> str:
    """In the child: try the states one by one, each announced on stdout first."""
    faulthandler.enable()
    stream = case.driver.seeded(case, budget.seed)
    half = len(stream) // 2
    blob = fed(case.make, case, stream.take(np.arange(half))).snapshot()
    contents = snapshot.decode(blob)
    _try_one(case, stream, half, blob)  # compiles all kernels
    limit_memory()
    for how, state in islice(mutations(contents.arrays, budget.seed), budget.states):
        sys.stdout.write(f"{how}\n")
        sys.stdout.flush()
        alarm(budget.seconds)
        _try_one(case, stream, half, snapshot.encode(contents.header, state))
        alarm(0)
    return ""


def _try_one(case: Case, stream: Any, half: int, blob: bytes) -> None:
    try:
        backend = case.restore(blob)
    except SnapshotError:
        return
    try:
        case.driver.answers(backend, stream, half)
        expect(len(backend) >= 0 and backend.nbytes >= 0, "len or nbytes is negative")
        case.driver.feed(backend, stream, half, len(stream))
        case.driver.answers(backend, stream, len(stream))
        case.restore(backend.snapshot())
    except SkybandError:
        return


def alarm(seconds: int) -> None:
    """Have the process end itself after this much CPU time, even in compiled code; 0: cancel."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, seconds)


def limit_memory() -> None:
    """Make allocations of invented sizes fail, if the system supports it."""
    if sys.platform != "linux":
        return
    import resource

    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = used + _MOST_MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
