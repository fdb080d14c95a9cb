"""Kills a writer: at each line of the format's own code, and after each change to its files."""

import os
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

from attrs import evolve, field, frozen

from skyband_specs.fork_server import run_in_lasting_fork
from skyband_specs.formats.trial import FormatSubject

STREAM = "the stream that is killed"
MOST = 60
"""A writer with up to this many steps is killed at each; a longer one after each change, and at FEW of its steps."""
FEW = 8
ELSEWHERE = 24
"""The kills of a longer writer whose table is not in a folder, so that its changes are not visible."""
_EVENTS = ("os.rename", "os.remove", "os.mkdir", "os.link", "os.truncate")
_WRITES = os.O_WRONLY | os.O_RDWR
_PATIENCE = 120.0


@frozen
class Moment:
    """Something to write, and where the writing process ends.

    act: "write", a micro-batch of STREAM; "append" or "replace", a batch. current: a table of the newest answers.
    step, change: it ends at this step, or at the first one after this change to its files; both None: not at all.
    """

    subject: FormatSubject
    folder: str
    batch: int
    act: str = "write"
    current: bool = False
    step: int | None = None
    change: int | None = None

    def killed_at(self, place: str, folder: Path, batch: int) -> "Moment":
        """The same with another batch, killed at a place from `places`."""
        kind, number = place.split()
        step, change = (int(number) if kind == name else None for name in ("step", "change"))
        return evolve(self, folder=str(folder), batch=batch, step=step, change=change)

    def write(self) -> None:
        """Write it completely in this process."""
        trial = self.subject.trials()
        rows = trial.log(self.batch) if self.current else trial.answers(self.batch)
        sink = self.subject.sink(Path(self.folder), self.current)
        if self.act == "write":
            sink.write(rows, STREAM, self.batch)
        else:
            sink.append(rows, replace=self.act == "replace")


def places(moment: Moment) -> list[str]:
    """Write it in a fresh process; returns the places at which to kill similar ones, as "step 7" or "change 2".

    The folder need not exist."""
    Path(moment.folder).mkdir(exist_ok=True)
    code, output, errors = _run(moment)
    if code:
        raise AssertionError(f"batch {moment.batch} could not be written: {errors[-600:]}")
    steps, changes = map(int, output.split()[-2:])
    if steps <= MOST:
        return [f"step {number}" for number in spread(steps, MOST)]
    if not changes:  # a table on a server shows none
        return [f"step {number}" for number in spread(steps, ELSEWHERE)]
    after = [f"change {number}" for number in spread(changes, MOST)]
    return [*after, *(f"step {number}" for number in spread(steps, FEW))]


def kill(moment: Moment) -> bool:
    """Write it in a fresh process that is killed at its step or change; returns whether it got that far."""
    code, _, errors = _run(moment)
    if code not in (0, -signal.SIGKILL):
        raise AssertionError(f"batch {moment.batch} could not be written: {errors[-600:]}")
    return code != 0


def spread(count: int, most: int) -> Iterator[int]:
    """At most `most` of the numbers 1 to count, including the first and the last."""
    picks = min(count, most)
    yield from sorted({1 + (count - 1) * at // max(picks - 1, 1) for at in range(picks)})


def _run(moment: Moment) -> tuple[int, str, str]:
    """How the writing process ended, and its stdout and stderr."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    ended = run_in_lasting_fork(f"{__name__}:write_in_a_fork", moment, environment, _PATIENCE)
    errors = ended.stderr.decode(errors="replace")
    if ended.returncode:
        return ended.returncode, "", errors
    *output, code = ended.stdout.decode(errors="replace").splitlines()
    return int(code), "\n".join(output), errors


def write_in_a_fork(moment: Moment) -> str:
    """In a lasting process that only imports what a writer needs: a fork writes, and may be killed."""
    import_module(moment.subject.format.partition(":")[0])
    import_module(moment.subject.trial.partition(":")[0])
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os._exit(_write_and_tell(moment, writing))
    os.close(writing)
    with os.fdopen(reading) as names:
        imported = names.read().split()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    for name in imported:  # the next fork inherits what this one imported
        with suppress(Exception):
            import_module(name)
    return f"\n{code}"


def _write_and_tell(moment: Moment, modules: int) -> int:
    before = set(sys.modules)
    try:
        counter = _write(moment)
        sys.stdout.write(f"{counter.steps} {counter.changes}\n")
        sys.stdout.flush()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        return 1
    with os.fdopen(modules, "w") as names:
        names.write(" ".join(sys.modules.keys() - before))
    return 0


@frozen(eq=False)
class _Counter:
    """Counts the steps of a writer and the changes to its files, and ends the process at one."""

    moment: Moment
    counts: dict[str, int] = field(factory=lambda: {"step": 0, "change": 0})
    before: list[Any] = field(factory=list)

    @property
    def steps(self) -> int:
        return self.counts["step"]

    @property
    def changes(self) -> int:
        return self.counts["change"]

    def step(self) -> None:
        files = _files(self.moment.folder)
        self.counts["change"] += bool(self.before) and self.before[0] != files
        self.before[:] = [files]
        self.counts["step"] += 1
        if self.steps == self.moment.step or self.changes == self.moment.change:
            os.kill(os.getpid(), signal.SIGKILL)


def _write(moment: Moment) -> _Counter:
    home = moment.subject.format.partition(":")[0].partition(".")[0]
    counter, counting = _Counter(moment), False

    def lines(frame: FrameType, event: str, _: Any) -> Any:
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] != home:
            return None
        if event == "line":
            counter.step()
        return lines

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        opens = event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITES
        if counting and (event in _EVENTS or opens):
            counter.step()

    sys.addaudithook(audit)
    counting = True
    sys.settrace(lines)
    try:
        moment.write()
    finally:
        sys.settrace(None)
    counter.step()  # written, but not yet committed by Spark
    counting = False
    return counter


def _files(folder: str) -> list[tuple[Any, ...]]:
    """The content of a folder: a different list after each change to its files."""
    files = []
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                stat = Path(parent, name).stat()
                files.append((parent, name, stat.st_ino, stat.st_size, stat.st_mtime_ns))
    return sorted(files)
