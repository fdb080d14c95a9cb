"""Where the local engine writes answers: a file in the sink's folder, complete or not there at all; or the console."""

import json
import sys
from abc import ABC, abstractmethod
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from skyband import report
from skyband.errors import ConfigError, Problem
from skyband.job.model import Job, Sink, local_path, option_text
from skyband.job.progress import Progress


class Writer(ABC):
    """Takes answers as they come. `commit` makes them visible, `abandon` leaves nothing."""

    @abstractmethod
    def write(self, answers: pa.Table) -> None: ...

    def commit(self) -> None: ...  # noqa: B027 - the console has nothing to finish

    def abandon(self) -> None: ...  # noqa: B027


def open_writer(job: Job, schema: pa.Schema, progress: Progress) -> Writer | None:
    """The writer of a job's sink; None where answers are there already and `mode` says to leave them."""
    if job.sink.format == "console":
        return Console(progress, together=not job.source.stream)
    check_free(job, "local")
    folder = local_path(job.sink.path or "")
    if folder is None:
        raise ConfigError(Problem("sink.path", f"the local engine writes to this machine (got {job.sink.path!r})"))
    if job.sink.mode == "ignore" and _holds_something(folder):
        progress.note(f'{folder} holds answers already and sink.mode is "ignore": nothing was done')
        return None
    return _File(folder, job.sink, schema)


def check_free(job: Job, engine: str) -> None:
    """Raise ConfigError where the sink holds answers that a run would mix with its own or silently not write."""
    folder = local_path(job.sink.path) if job.sink.of_files and job.sink.path is not None else None
    if folder is None:
        return
    if job.source.stream and engine == "spark":
        checkpoint = local_path(job.sink.checkpoint or "")
        if checkpoint is not None and not checkpoint.exists() and (folder / "_spark_metadata").exists():
            message = (
                f"{str(folder)!r} holds the answers of another stream, and {str(checkpoint)!r} is no checkpoint of it: "
                "choose another path, or bring the checkpoint back"
            )
            raise ConfigError(Problem("sink.path", message))
    elif job.sink.mode in (None, "errorifexists") and _holds_something(folder):
        what = "the local engine starts a stream anew each time; " if job.source.stream else ""
        choices = '"append"' if job.source.stream else '"overwrite" or "append"'
        message = f"{str(folder)!r} exists already: {what}choose another path, or set sink.mode to {choices}"
        raise ConfigError(Problem("sink.path", message))


def _holds_something(folder: Path) -> bool:
    return folder.exists() and (folder.is_file() or any(folder.iterdir()))


class Console(Writer):
    """Answers on stdout, all together as one table, or line by line as they come."""

    def __init__(self, progress: Progress, together: bool, out: IO[str] | None = None) -> None:
        self._progress = progress
        self._together = together
        self._out = out
        self._widths: list[int] = []

    def write(self, answers: pa.Table) -> None:
        out = self._out or sys.stdout
        self._progress.wipe()
        rows = list(zip(*(column.to_pylist() for column in answers.columns), strict=True))
        if self._together:
            report.table(answers.column_names, rows, out)
            return
        texts = [[report.text(value) for value in row] for row in rows]
        if not self._widths and texts:
            self._widths = [max(map(len, column)) for column in zip(answers.column_names, *texts, strict=True)]
            texts = [list(answers.column_names), *texts]
        for row in texts:
            line = "  ".join(cell.ljust(width) for cell, width in zip(row, self._widths, strict=True))
            print(line.rstrip(), file=out, flush=True)


class _File(Writer):
    def __init__(self, folder: Path, sink: Sink, schema: pa.Schema) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._replaces = [path for path in folder.iterdir() if path.is_file()] if sink.mode == "overwrite" else []
        suffix = f".{sink.format}"
        taken = {path.name for path in folder.iterdir()} - {path.name for path in self._replaces}
        number = next(n for n in range(len(taken) + 1) if f"part-{n:05}{suffix}" not in taken)
        self._name = f"part-{number:05}{suffix}"
        self._partial = folder / f"_{self._name}.partial"  # readers skip names that begin with an underscore
        self._write, self._close = _format_writer(self._partial, sink, schema)

    def write(self, answers: pa.Table) -> None:
        if len(answers):
            self._write(answers)

    def commit(self) -> None:
        self._close()
        for path in self._replaces:
            path.unlink()
        self._partial.replace(self._folder / self._name)

    def abandon(self) -> None:
        self._close()
        self._partial.unlink(missing_ok=True)


def _format_writer(path: Path, sink: Sink, schema: pa.Schema) -> Any:
    """How to write answers to a new file and how to close it."""
    if sink.format == "json":
        return _json_writer(path)
    if sink.format == "csv":
        header = any(name.lower() == "header" and option_text(value) == "true" for name, value in sink.options.items())
        options = pyarrow.csv.WriteOptions(include_header=header, quoting_style="needed")
        csv_file = pyarrow.csv.CSVWriter(str(path), schema, write_options=options)
        return csv_file.write_table, csv_file.close
    parquet_file = pyarrow.parquet.ParquetWriter(str(path), schema)
    return parquet_file.write_table, parquet_file.close


def _json_writer(path: Path) -> Any:
    lines = path.open("w", encoding="utf-8")

    def write(answers: pa.Table) -> None:
        lines.writelines(json.dumps(row, default=_json, ensure_ascii=False) + "\n" for row in answers.to_pylist())

    return write, lines.close


def _json(value: Any) -> str:
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
