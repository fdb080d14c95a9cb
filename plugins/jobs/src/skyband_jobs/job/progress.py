"""Reports a run's progress: a live line on a terminal, otherwise a line now and then, and a summary at the end."""

import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

from attrs import define, field
from skyband import text_tables
from skyband.config.durations import length_text
from skyband.config.redaction import redact
from skyband.queries.query import BAD

if TYPE_CHECKING:
    from skyband_jobs.tables.model import Job

_SECOND, _MINUTE = 1_000_000, 60_000_000
EVERY_TERMINAL = 0.2
EVERY_PLAIN = 5.0
_KEEP_BAD_ROWS = 'query.bad_rows = { format = "json", path = "bad" } keeps them, with the reason'
_LINES = "\n\t"
"""Control characters allowed in text of several lines."""


@define
class Totals:
    """What a run has done so far."""

    rows_in: int = 0
    rows_late: int = 0
    late_by: int = 0
    """The `delay` that would have accepted the latest row, in microseconds or rows."""
    files_back: int = 0
    """The number of a stream's files that were read after one with newer rows."""
    dropped: dict[str, int] = field(factory=dict)
    """Rows left out, by reason."""
    answered_reasons: tuple[str, ...] = ()
    """The reasons whose rows are answered, with nulls."""
    answers: int = 0
    retained: int = 0
    groups: int = 0
    state_bytes: int | None = None
    watermark: int | None = None
    """Microseconds since the epoch; None before the first row."""
    micro_batches: int | None = None
    seconds: float = 0.0
    compiling: float = 0.0
    """Seconds of these spent compiling kernels."""
    in_rows: bool = False
    """Whether windows are counted in rows, so the watermark is a row's number."""
    recent_rate: float | None = None
    """Rows a second in the last micro-batch; None where unknown."""
    batch_seconds: float | None = None
    """How long the last micro-batch took; None where the engine does not report it."""
    bad_rows_in: str | None = None
    """The place of rows that the query cannot take, if it is set."""
    late_rows_in: str | None = None
    """The place of late rows, if it is set."""
    stopped: bool = False
    """The run was interrupted, and stopped cleanly."""
    reader: str | None = None
    """What reads the files, where there is a choice."""
    may_be_empty: bool = False
    """Whether having no answers is normal: a stream resumes from a checkpoint, or the sink already has answers."""
    where: str | None = None
    """The source's `where` condition, which rows meet before they count as rows in; None: all rows count."""

    @classmethod
    def of(cls, job: "Job", **figures: Any) -> "Totals":
        """The totals of a new run of this job."""
        return cls(in_rows=job.query.rows, where=job.source.where, **figures)

    def count_dropped(self, counts: Mapping[str, int]) -> None:
        """Count rows left out, by reason."""
        for reason, count in counts.items():
            self.dropped[reason] = self.dropped.get(reason, 0) + count

    @property
    def rate(self) -> float:
        """Rows a second since the engine was ready, apart from the compiling of kernels."""
        running = self.seconds - self.compiling
        return self.rows_in / running if running > 0 else 0.0


class Progress:
    """Writes a run's progress to `out` (stderr)."""

    def __init__(self, out: IO[str] | None = None) -> None:
        self._out: IO[str] | None = sys.stderr if out is None else out
        self._live = text_tables.is_terminal(self._out)
        self._started = self._ready = self._last_report = time.monotonic()
        self._last = ""
        self._line = False
        self.about: dict[str, str] = {}
        """The run's job and the kind of its query, by name."""
        self.listeners: list[Callable[[Totals, bool], None]] = []
        """Called with the totals after each micro-batch, and at the end of the run."""

    def ready(self) -> None:
        """Mark the engine as started: rates count from now."""
        self._ready = time.monotonic()

    def seconds(self) -> float:
        """Seconds since the engine was ready."""
        return time.monotonic() - self._ready

    def note(self, text: str) -> None:
        """Write a line that stays."""
        self.wipe()
        self._write(f"{text_tables.visible(text, keep=_LINES)}\n")

    def show(self, totals: Totals, always: bool = False) -> None:
        """Write the run's progress, unless that was a moment ago; `always`: unless it is a terminal."""
        totals.seconds = self.seconds()
        if totals.micro_batches == 0:
            self.waiting(f"waiting for the first micro-batch, {totals.seconds:.0f} s")
        else:
            self._say(status(totals), key=str(totals.rows_in), always=always)

    def micro_batch(self, totals: Totals, always: bool = False) -> None:
        """Show the progress after a micro-batch, or a batch of rows, and call the listeners."""
        self.show(totals, always)
        self._tell(totals, ended=False)

    def _tell(self, totals: Totals, ended: bool) -> None:
        for listener in list(self.listeners):  # one that fails removes itself
            listener(totals, ended)

    def waiting(self, text: str) -> None:
        """Show what is happening while there are no metrics."""
        self._say(text, key="waiting")

    def summary(self, totals: Totals, where: str) -> None:
        """Write the summary of a run."""
        totals.seconds = self.seconds()
        self.wipe()
        for line in summary(totals, where, self._ready - self._started):
            self._write(f"{text_tables.visible(line)}\n")
        self._tell(totals, ended=True)

    def warnings(self, totals: Totals) -> list[str]:
        """Likely mistakes in the rows or the job, as at the end of `summary`."""
        return _warnings(totals)

    def _say(self, line: str, key: str, always: bool = False) -> None:
        """Redraw the line of a terminal; elsewhere write a line if something is new."""
        line = text_tables.visible(line)
        now = time.monotonic()
        if self._live and self._out is not None:
            if not self._line or now - self._last_report >= EVERY_TERMINAL:
                self._write(f"\r\x1b[2K{line[: text_tables.width() - 1]}")
                self._last_report, self._line = now, True
        elif always or (now - self._last_report >= EVERY_PLAIN and key != self._last):
            self._write(f"{line}\n")
            self._last_report, self._last = now, key

    def wipe(self) -> None:
        """Clear the live line, so that other output has the screen."""
        if self._line:
            self._write("\r\x1b[2K")
            self._line = False

    def _write(self, text: str) -> None:
        if self._out is None:  # a program without a stderr
            return
        with suppress(OSError):  # a closed stderr must not end a run
            self._out.write(redact(text))
            self._out.flush()


def status(totals: Totals) -> str:
    """One line: rows, rows a second, watermark, late rows, state."""
    rate = totals.rate if totals.recent_rate is None else totals.recent_rate
    parts = [f"{text_tables.count(totals.rows_in)} rows", f"{text_tables.count(rate)} rows/s"]
    if totals.watermark is not None:
        mark = text_tables.count(totals.watermark) if totals.in_rows else text_tables.moment(totals.watermark)
        parts.append(f"watermark {mark}")
    parts += [f"{text_tables.count(totals.rows_late)} late", _retained(totals)]
    return " · ".join(parts) if text_tables.can_show("·", sys.stderr) else " | ".join(parts)


def summary(totals: Totals, where: str, starting: float = 0.0) -> list[str]:
    """Lines: rows in, rows left out and why, answers, state, and time taken.

    starting: the seconds until the engine was ready, which are not part of the run's own.
    """
    seconds = f"{totals.seconds - totals.compiling:.1f} s, {text_tables.count(totals.rate)} rows/s"
    if totals.micro_batches is not None:
        seconds += f", {_plural(totals.micro_batches, 'micro-batch', 'micro-batches')}"
    if totals.compiling >= 1:
        seconds += f", apart from {totals.compiling:.1f} s to compile kernels, once on this machine"
    if starting >= 1:
        seconds += f", after {starting:.1f} s to start"
    lines = [
        ("rows in", text_tables.count(totals.rows_in)),
        ("late", f"{text_tables.count(totals.rows_late)} ({_late_destination(totals)}{_by(totals)})"),
    ]
    lines += [
        (reason, f"{text_tables.count(number)} ({_destination(reason, totals)})")
        for reason, number in totals.dropped.items()
        if number
    ]
    lines += [("read by", totals.reader)] if totals.reader is not None else []
    lines += [
        ("answers", f"{text_tables.count(totals.answers)} {where}"),
        ("state", _retained(totals)),
        ("took", seconds),
    ]
    wide = max(len(name) for name, _ in lines)
    return [*(f"{name:<{wide}}  {value}" for name, value in lines), *_warnings(totals)]


def _destination(reason: str, totals: Totals) -> str:
    if reason in totals.answered_reasons:
        return "answered with nulls"
    if reason != BAD:
        return "left out"
    return f"left out; {_KEEP_BAD_ROWS}" if totals.bad_rows_in is None else f"in {totals.bad_rows_in}"


def _late_destination(totals: Totals) -> str:
    return "dropped" if totals.late_rows_in is None else f"in {totals.late_rows_in}"


def _by(totals: Totals) -> str:
    if not totals.late_by or totals.in_rows:
        return ""
    if totals.files_back:
        files = _plural(totals.files_back, "file was", "files were")
        message = f"{files} read after newer ones, by their modification times"
        return f"; {message}: put these in order (cp -p keeps them), or remove source.stream"
    unit = next((unit for unit in (60 * _MINUTE, _MINUTE) if totals.late_by >= 2 * unit), _SECOND)
    return f'; delay = "{length_text(-(-totals.late_by // unit) * unit, False)}" would have kept them'


def _warnings(totals: Totals) -> list[str]:
    """Likely mistakes in the rows or the job, where most or all rows were left out."""
    left_out = (count for reason, count in totals.dropped.items() if reason not in totals.answered_reasons)
    lost = totals.rows_late + sum(left_out)
    if totals.rows_in and totals.rows_late > totals.rows_in / 2:
        message = "most rows were older than the watermark: one row may have a time far ahead of the others"
        return [f'warning: {message}; ahead = "1 hour" leaves out such a row, and `delay` waits for late ones']
    if totals.rows_in and lost == totals.rows_in and not totals.answers:
        return ["warning: every row was left out for the reasons above, so there are no answers"]
    return [] if totals.answers or totals.may_be_empty or totals.stopped else [_no_answers(totals)]


def _no_answers(totals: Totals) -> str:
    if not totals.rows_in:
        if totals.where is None:
            return "warning: the source has no rows, so there are no answers: check source.path"
        message = "warning: no rows came in, so there are no answers: the source is empty, or no row meets"
        return f'{message} source.where = "{totals.where}": run without it to see which'
    if totals.micro_batches is None:
        message = "warning: there are no answers, although rows came in: none met the conditions of [query]"
        return f"{message}; lower its thresholds, such as a share, or check source.where"
    remedy = "source.finish = true answers the last windows at the end of a run"
    return f"warning: there are no answers yet: no row is new enough to end a window; {remedy}"


def _retained(totals: Totals) -> str:
    phrase = f"{text_tables.count(totals.retained)} retained"
    if totals.groups > 1:
        phrase += f" in {text_tables.count(totals.groups)} groups"
    return phrase if totals.state_bytes is None else f"{phrase}, {text_tables.size(totals.state_bytes)}"


def _plural(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
