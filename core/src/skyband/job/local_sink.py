"""Where the local engine writes answers: a file in the sink's folder, complete or not there at all; or the console."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from skyband import text_tables
from skyband.errors import ConfigError, Problem
from skyband.instants import python_values
from skyband.job import local_sink_manifest
from skyband.job.engine import Engine
from skyband.job.model import Job, Sink, local_path, option_text
from skyband.job.progress import Progress
from skyband.job.spark_sink_log import check_belong
from skyband.job.table_location import place_of
from skyband.job.table_sink import is_free, sink_of, told_of_sink
from skyband.job.text_files import unwritable_in_csv
from skyband.queries.query import Query
from skyband.tables import FORMATS as TABLES
from skyband.tables import BatchSink
from skyband.tables.json_rows import json_rows

STATES_TOGETHER = 1 << 20
"""Bytes of states in a row group of Parquet."""


class Writer(ABC):
    """Takes answers as they come. `commit` makes them visible, `abandon` leaves nothing."""

    @abstractmethod
    def write(self, answers: pa.Table) -> None: ...

    def commit(self) -> None: ...  # noqa: B027 - the console has nothing to finish

    def abandon(self) -> None: ...  # noqa: B027


def open_writer(job: Job, engine: Engine, schema: pa.Schema, progress: Progress) -> Writer | None:
    """The writer of a job's sink; None where answers are there already and `mode` says to leave them."""
    if job.sink.format == "console":
        return Console(job.query, progress, together=not job.source.stream)
    if job.sink.format in TABLES:
        return _table_writer(job, progress)
    check_free(job, engine)
    folder = local_path(job.sink.path or "")
    if folder is None:
        raise ConfigError(Problem("sink.path", f"the local engine writes to this machine (got {job.sink.path!r})"))
    if job.sink.mode == "ignore" and _holds_something(folder):
        progress.note(f'{folder} holds answers already and sink.mode is "ignore": nothing was done')
        return None
    return _File(folder, job.sink, schema)


def _table_writer(job: Job, progress: Progress) -> Writer | None:
    with told_of_sink():
        sink = sink_of(job)
        if is_free(job, sink):
            return _Table(sink, job.sink.mode == "overwrite")
    progress.note(f'{place_of(job.sink)} holds answers already and sink.mode is "ignore": nothing was done')
    return None


def check_free(job: Job, engine: Engine) -> None:
    """Raise ConfigError where the sink holds answers that a run would mix with its own or silently not write."""
    folder = local_path(job.sink.path) if job.sink.of_files and job.sink.path is not None else None
    if folder is None:
        return
    if folder.exists() and not folder.is_dir():
        raise ConfigError(Problem("sink.path", f"{str(folder)!r} is a file: name a folder for the answers"))
    if job.source.stream and engine.resumes:
        checkpoint = local_path(job.sink.checkpoint or "")
        if checkpoint is not None and job.sink.checkpoint is not None:
            check_belong(checkpoint, folder)
    elif job.sink.mode == "overwrite":
        _check_replaceable(folder, f".{job.sink.format}", engine)
    elif job.sink.mode in (None, "errorifexists") and _holds_something(folder):
        what = "the local engine starts a stream anew each time; " if job.source.stream else ""
        choices = '"append"' if job.source.stream else '"overwrite" or "append"'
        message = f"{str(folder)!r} exists already: {what}choose another path, or set sink.mode to {choices}"
        raise ConfigError(Problem("sink.path", message))


def _check_replaceable(folder: Path, suffix: str, engine: Engine) -> None:
    """Raise ConfigError where overwriting would delete, or mix with new answers, what Skyband did not write."""
    if not folder.is_dir():
        return
    others, what = engine.foreign_files(folder, suffix)
    if others:
        named = ", ".join(path.name for path in others[:3]) + (", …" if len(others) > 3 else "")
        message = f"{str(folder)!r} holds files that {what} ({named}): move them away, or choose another path"
        raise ConfigError(Problem("sink.path", message))


def _holds_something(folder: Path) -> bool:
    return folder.exists() and (folder.is_file() or any(folder.iterdir()))


class Console(Writer):
    """Answers on stdout, all together as one table, or line by line as they come."""

    def __init__(self, query: Query, progress: Progress, together: bool, out: IO[str] | None = None) -> None:
        self._query = query
        self._progress = progress
        self._together = together
        self._out = out
        self._widths: list[int] = []

    def write(self, answers: pa.Table) -> None:
        out = self._out or sys.stdout
        self._progress.wipe()
        answers = self._query.in_whole_numbers(answers)
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


@contextmanager
def _writing(folder: Path, sink: Sink) -> Iterator[None]:
    """What the system, or the format, says against writing there, as the sink's problem."""
    try:
        yield
    except pa.ArrowException as error:  # such as a type that Parquet has not
        said = f"{sink.format} cannot hold these answers: {' '.join(str(error).split())}: choose another format"
        raise ConfigError(Problem("sink.format", said)) from error
    except OSError as error:
        said = f"{str(folder)!r} cannot be written: {error.strerror or error}: make room there or choose another path"
        raise ConfigError(Problem("sink.path", said)) from error


class _Table(Writer):
    """All answers as one commit, when they are complete."""

    def __init__(self, sink: BatchSink, replaces: bool) -> None:
        self._sink, self._replaces = sink, replaces
        self._answers: list[pa.Table] = []

    def write(self, answers: pa.Table) -> None:
        if len(answers) or not self._answers:  # the first says the columns
            self._answers.append(answers)

    def commit(self) -> None:
        if self._answers:
            with told_of_sink():
                self._sink.append(pa.concat_tables(self._answers), self._replaces)


class _File(Writer):
    def __init__(self, folder: Path, sink: Sink, schema: pa.Schema) -> None:
        self._sink = sink
        with _writing(folder, sink):
            folder.mkdir(parents=True, exist_ok=True)
            self._open(folder, sink, schema)

    def _open(self, folder: Path, sink: Sink, schema: pa.Schema) -> None:
        self._folder = folder
        self._replaces = local_sink_manifest.own_files(folder) if sink.mode == "overwrite" else []
        suffix = f".{sink.format}"
        taken = {path.name for path in folder.iterdir()} - {path.name for path in self._replaces}
        number = next(n for n in range(len(taken) + 1) if f"part-{n:05}{suffix}" not in taken)
        self._name = f"part-{number:05}{suffix}"
        self._partial = folder / f"_{self._name}.partial"  # readers skip names that begin with an underscore
        try:
            self._write, self._close = _format_writer(self._partial, sink, schema)
        except pa.ArrowException:
            self._partial.unlink(missing_ok=True)
            raise

    def write(self, answers: pa.Table) -> None:
        if len(answers):
            with _writing(self._folder, self._sink):
                self._write(answers)

    def commit(self) -> None:
        """The new answers are there before any old ones go: a crash in between loses none."""
        with _writing(self._folder, self._sink):
            self._close()
            local_sink_manifest.record(self._folder, self._partial, self._name)
            self._partial.replace(self._folder / self._name)
            for path in self._replaces:
                if path.name != self._name:
                    path.unlink(missing_ok=True)
            local_sink_manifest.forget_replaced(self._folder, self._name)

    def abandon(self) -> None:
        with suppress(OSError, pa.ArrowException):  # what is left open of a full disk is removed all the same
            self._close()
        self._partial.unlink(missing_ok=True)


def _format_writer(path: Path, sink: Sink, schema: pa.Schema) -> Any:
    """How to write answers to a new file and how to close it."""
    if sink.format == "json":
        return _json_writer(path)
    if sink.format == "csv":
        unwritable = unwritable_in_csv(schema)
        if unwritable:
            raise ConfigError(*unwritable)
        header = next(value for name, value in sink.with_defaults.items() if name.lower() == "header")
        options = pyarrow.csv.WriteOptions(include_header=option_text(header) == "true", quoting_style="needed")
        csv_file = pyarrow.csv.CSVWriter(str(path), schema, write_options=options)
        return csv_file.write_table, csv_file.close
    parquet_file = pyarrow.parquet.ParquetWriter(str(path), schema)
    if not any(pa.types.is_binary(kind) for kind in schema.types):
        return parquet_file.write_table, parquet_file.close

    def write(states: pa.Table) -> None:
        """States of 100 KB each are asked a few at a time: who reads one row group reads little."""
        rows = len(states) * STATES_TOGETHER // max(states.nbytes, 1)
        parquet_file.write_table(states, max(rows, 1))

    return write, parquet_file.close


def _json_writer(path: Path) -> Any:
    lines = path.open("w", encoding="utf-8")

    def write(answers: pa.Table) -> None:
        for line in json_rows(answers):
            lines.write(line + "\n")

    return write, lines.close
