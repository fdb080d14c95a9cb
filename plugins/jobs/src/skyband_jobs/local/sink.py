"""The sinks of the local engine: a file in the sink's folder, complete or absent, a table, or the console."""

import sys
from pathlib import Path
from typing import IO

import pyarrow as pa
from skyband import text_tables
from skyband.errors import ConfigError, Problem
from skyband.instants import python_values
from skyband.queries.presentation import presentation_of
from skyband.queries.query import Query

from skyband_jobs.formats import BatchSink, names_of_formats
from skyband_jobs.formats.net_changes import last_changes
from skyband_jobs.job.engine import JobEngine
from skyband_jobs.job.progress import Progress
from skyband_jobs.local.sink_parts import PartFile, holds_something
from skyband_jobs.local.sink_writer import Writer
from skyband_jobs.tables.model import Job, KeyedSink, local_path
from skyband_jobs.tables.table_location import ability_of, place_of
from skyband_jobs.tables.table_sink import is_free, sink_of, told_of_sink

QUERY = "skyband.query"
"""The key in a Parquet file's metadata that names the query of its answers."""


def open_writer(job: Job, engine: JobEngine, schema: pa.Schema, progress: Progress) -> Writer | None:
    """The writer of a job's sink; None where answers exist and `mode` says to keep them."""
    if job.sink.format == "console":
        return Console(job.query, progress, together=not job.source.stream)
    if job.sink.format in names_of_formats(ability_of(job.sink)):
        return _table_writer(job, progress)
    check_free(job, engine)
    folder = local_path(job.sink.path or "")
    if folder is None:
        raise ConfigError(Problem("sink.path", f"the local engine writes only to this machine (got {job.sink.path!r})"))
    if job.sink.mode == "ignore" and holds_something(folder):
        progress.note(f'{folder} already has rows and sink.mode is "ignore": nothing is written')
        return None
    return PartFile(folder, job.sink, schema, progress)


def _table_writer(job: Job, progress: Progress) -> Writer | None:
    with told_of_sink():
        sink = sink_of(job.sink)
        if is_free(job, sink, _starts_over(job)):
            replaces = job.sink.mode == "overwrite"
            return _Newest(sink, replaces, job.sink.key) if isinstance(job.sink, KeyedSink) else _Table(sink, replaces)
    progress.note(f'{place_of(job.sink)} already has rows and sink.mode is "ignore": nothing is written')
    return None


def check_free(job: Job, engine: JobEngine) -> None:
    """Raise ConfigError where the sink has answers that a run would mix with its own or silently not write."""
    folder = local_path(job.sink.path) if job.sink.of_files and job.sink.path is not None else None
    if folder is None:
        return
    if folder.exists() and not folder.is_dir():
        raise ConfigError(Problem("sink.path", f"{str(folder)!r} is a file: name a folder"))
    if job.source.stream and engine.resumes:
        checkpoint = local_path(job.sink.checkpoint or "")
        if checkpoint is not None and job.sink.checkpoint is not None:
            engine.check_belong(checkpoint, folder)
    elif job.sink.mode == "overwrite":
        _check_replaceable(folder, f".{job.sink.format}", engine)
    elif job.sink.mode in (None, "errorifexists") and holds_something(folder):
        what = _starts_over(job)
        choices = '"append"' if job.source.stream else '"overwrite" or "append"'
        message = f"{str(folder)!r} already exists{what}: choose another path, or set sink.mode to {choices}"
        raise ConfigError(Problem("sink.path", message))


def _starts_over(job: Job) -> str:
    if not job.source.stream:
        return ""
    resumes = "; `skyband serve` resumes one from sink.checkpoint" if job.sink.checkpoint else ""
    return f", and the local engine starts each stream from the beginning{resumes}"


def check_not_again(job: Job) -> None:
    """Raise ConfigError where another engine's stream may have added answers that a run would add again."""
    if not job.source.stream or job.sink.checkpoint is None or job.sink.mode != "append":
        return
    from skyband_jobs.running.checkpoint_record import engine_of

    checkpoint = local_path(job.sink.checkpoint)
    engine = None if checkpoint is None else engine_of(checkpoint)
    if engine is None:
        return
    command = "`skyband serve`" if engine == "serve" else f"`skyband run --engine {engine}`"
    message = f"{command} resumes from it: the local engine would add all answers again"
    raise ConfigError(Problem("sink.checkpoint", f"{message}; to start over, remove the key (--set=-sink.checkpoint)"))


def _check_replaceable(folder: Path, suffix: str, engine: JobEngine) -> None:
    """Raise ConfigError where overwriting would delete files that Skyband did not write, or mix them with answers."""
    if not folder.is_dir():
        return
    others, what = engine.foreign_files(folder, suffix)
    if others:
        named = ", ".join(path.name for path in others[:3]) + (", …" if len(others) > 3 else "")
        message = f"{str(folder)!r} has files that {what} ({named}): move them away, or choose another path"
        raise ConfigError(Problem("sink.path", message))


class Console(Writer):
    """Writes answers to stdout: all as one table, or line by line as they arrive."""

    def __init__(self, query: Query, progress: Progress, together: bool, out: IO[str] | None = None) -> None:
        self._presentation = presentation_of(query)
        self._progress = progress
        self._together = together
        self._out = out
        self._widths: list[int] = []

    def write(self, answers: pa.Table) -> None:
        out = self._out or sys.stdout
        self._progress.wipe()
        answers = self._presentation.readable(answers)
        rows = list(zip(*map(python_values, answers.columns), strict=True))
        if self._together:
            text_tables.table(answers.column_names, rows, out)
            return
        texts = [[text_tables.text(value) for value in row] for row in rows]
        if not self._widths and texts:
            texts = [[text_tables.visible(name) for name in answers.column_names], *texts]
            self._widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
        for row in texts:
            line = "  ".join(cell.ljust(width) for cell, width in zip(row, self._widths, strict=True))
            print(line.rstrip(), file=out, flush=True)


class _Table(Writer):
    """Writes all answers in one commit, when they are complete."""

    def __init__(self, sink: BatchSink, replaces: bool) -> None:
        self._sink, self._replaces = sink, replaces
        self._answers: list[pa.Table] = []

    def write(self, answers: pa.Table) -> None:
        if len(answers) or not self._answers:  # the first has the columns
            self._answers.append(answers)

    def commit(self) -> None:
        if self._answers:
            with told_of_sink():
                self._sink.append(pa.concat_tables(self._answers), self._replaces)


class _Newest(_Table):
    """Writes the last change of each row in one commit, when the answers are complete."""

    _MANY = 100_000

    def __init__(self, sink: BatchSink, replaces: bool, key: tuple[str, ...]) -> None:
        super().__init__(sink, replaces)
        self._key, self._limit = key, self._MANY

    def write(self, answers: pa.Table) -> None:
        super().write(answers)
        if sum(map(len, self._answers)) > self._limit:
            last = last_changes(pa.concat_tables(self._answers), self._key)
            self._answers, self._limit = [last], 2 * len(last) + self._MANY
