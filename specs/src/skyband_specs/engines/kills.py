"""Kills a run: a process saves after each step, and ends by SIGKILL at a line of the engine or of Skyband."""

import os
import pickle
import signal
import sys
import tempfile
import threading
import traceback
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa
from attrs import frozen
from skyband.atomic_files import replacing
from skyband.engines.engine import InProcessEngine

from skyband_specs.engines.trial import EngineCase
from skyband_specs.fork_server import run_in_fork, run_in_lasting_fork

_KILLS = 5
"""How often a run is killed, each time later in a step."""
_PATIENCE = 120.0


@frozen(eq=False)
class _Order:
    """The task of a process: continue from the state in the folder, to the end or to a line of the engine."""

    engine: InProcessEngine
    case: EngineCase
    folder: str
    line: int | None
    saves: int = 0
    """Steps to save before counting lines."""


def answers_of_killed(engine: InProcessEngine, case: EngineCase) -> pa.Table:
    """The answers of a stream whose processes are killed one after the other, each later; the last one completes."""
    with tempfile.TemporaryDirectory(prefix="skyband-") as folder:
        whole = Path(folder, "whole")
        whole.mkdir()
        lines = int(_run(_Order(engine, case, str(whole), None)))
        killed = Path(folder, "killed")
        killed.mkdir()
        step = lines // len(case.batches)
        for number in range(_KILLS):  # all but the first save a step before they are killed in the next
            _run(_Order(engine, case, str(killed), 1 + step * number // _KILLS, min(number, 1)))
        _run(_Order(engine, case, str(killed), None), fresh=True)
        _, answers, _ = _saved(killed)
        return case.in_order(pa.Table.from_batches(answers, case.reference().result_schema))


def _run(order: _Order, fresh: bool = False) -> str:
    """Run in a process that only imports what it needs; kills happen in a fork of one that has run similar tasks."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    run = run_in_fork if fresh else run_in_lasting_fork
    ended = run(f"{__name__}:{'go_on' if order.line is None else 'be_killed'}", order, environment, _PATIENCE)
    if ended.returncode:
        raise AssertionError(f"a process could not continue: {ended.stderr.decode(errors='replace')[-600:]}")
    return ended.stdout.decode(errors="replace")


def be_killed(order: _Order) -> str:
    """Run in a fork, up to the line where it is killed."""
    child = os.fork()
    if not child:
        try:
            go_on(order)
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code not in (0, -signal.SIGKILL):
        raise AssertionError(f"ended with {code} before it was killed")
    return str(code)


def go_on(order: _Order) -> str:
    """Run the unsaved steps, saving each with its answers as one file; returns how many lines ran."""
    lines = _Lines(type(order.engine).__module__, order.line, order.saves)
    sys.settrace(lines.trace)
    threading.settrace(lines.trace)
    try:
        folder = Path(order.folder)
        steps, answers, blob = _saved(folder)
        run = order.case.begun_on(order.engine) if blob is None else order.case.restored_on(order.engine, blob)
        for number, batch in enumerate(order.case.batches[steps:], steps + 1):
            answers.append(run.push(batch))
            with replacing(folder / "saved") as file:
                file.write(pickle.dumps((number, answers, run.snapshot())))
            lines.saves -= 1
    finally:
        sys.settrace(None)
        threading.settrace(None)
    return str(next(lines.count))


class _Lines:
    """Counts executed lines of an engine's package and of core, and ends the process at one."""

    def __init__(self, module: str, last: int | None, saves: int) -> None:
        self._packages, self._last, self.saves, self.count = (
            {"skyband", module.partition(".")[0]},
            last,
            saves,
            count(1),
        )

    def trace(self, frame: FrameType, event: str, _: Any) -> Any:
        """A trace function for `sys.settrace`."""
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] not in self._packages:
            return None
        if event == "line" and self.saves <= 0 and next(self.count) == self._last:
            os.kill(os.getpid(), signal.SIGKILL)
        return self.trace


def _saved(folder: Path) -> tuple[int, list[pa.RecordBatch], bytes | None]:
    """Steps done, their answers, and the snapshot after them."""
    path = folder / "saved"
    if not path.exists():
        return 0, [], None
    saved: tuple[int, list[pa.RecordBatch], bytes] = pickle.loads(path.read_bytes())
    return saved
