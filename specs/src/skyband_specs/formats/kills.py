"""A micro-batch whose writer is killed: at each line of the format's own code, and at each file that is written."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from attrs import frozen

from skyband_specs.fork_server import run_in_fork
from skyband_specs.formats.trial import FormatSubject

STREAM = "the stream that is killed"
_EVENTS = ("os.rename", "os.remove", "os.mkdir", "os.link", "os.truncate")
_WRITES = os.O_WRONLY | os.O_RDWR
_PATIENCE = 120.0


@frozen
class Moment:
    """A micro-batch to write, and at which step of the writing the process ends; None: not at all."""

    subject: FormatSubject
    folder: str
    batch: int
    step: int | None
    current: bool = False


def steps(subject: FormatSubject, folder: Path, batch: int, current: bool = False) -> int:
    """Write a micro-batch in a fresh process to its end: how many steps that was, each a moment to be killed at.

    The folder need not be there."""
    folder.mkdir(exist_ok=True)
    ended = _run(Moment(subject, str(folder), batch, None, current))
    if ended.returncode:
        raise AssertionError(
            f"micro-batch {batch} could not be written: {ended.stderr.decode(errors='replace')[-600:]}"
        )
    return int(ended.stdout.decode().split()[-1])


def kill(subject: FormatSubject, folder: Path, batch: int, step: int, current: bool = False) -> bool:
    """Write a micro-batch in a fresh process that is killed at a step; whether it came that far."""
    ended = _run(Moment(subject, str(folder), batch, step, current))
    if ended.returncode not in (0, -signal.SIGKILL):
        message = ended.stderr.decode(errors="replace")[-600:]
        raise AssertionError(f"micro-batch {batch} could not be written: {message}")
    return ended.returncode != 0


def spread(count: int, most: int) -> Iterator[int]:
    """At most so many of the steps 1 to count, the first and the last among them."""
    picks = min(count, most)
    yield from sorted({1 + (count - 1) * at // max(picks - 1, 1) for at in range(picks)})


def _run(moment: Moment) -> Any:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return run_in_fork(f"{__name__}:write", moment, environment, _PATIENCE)


def write(moment: Moment) -> str:
    """In the process of its own: write, counting the steps, and die at the one that is named."""
    subject, folder = moment.subject, Path(moment.folder)
    sink, trial = subject.sink(folder, moment.current), subject.trials()
    answers = trial.log(moment.batch) if moment.current else trial.answers(moment.batch)
    home = subject.format.partition(":")[0].partition(".")[0]
    count, counting = 0, True

    def step() -> None:
        nonlocal count
        if counting:
            count += 1
            if count == moment.step:
                os.kill(os.getpid(), signal.SIGKILL)

    def lines(frame: FrameType, event: str, _: Any) -> Any:
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] != home:
            return None
        if event == "line":
            step()
        return lines

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _EVENTS or (event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITES):
            step()

    sys.addaudithook(audit)
    sys.settrace(lines)
    try:
        sink.write(answers, STREAM, moment.batch)
    finally:
        sys.settrace(None)
    step()  # written, and Spark does not know it yet
    counting = False
    return f"steps {count}"
