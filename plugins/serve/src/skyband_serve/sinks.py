"""Sinks that take each turn of a stream once, by its number."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from attrs import frozen
from skyband.atomic_files import replacing
from skyband.errors import ConfigError, Problem
from skyband_jobs.formats import BatchSink, names_of_formats
from skyband_jobs.job.progress import Progress
from skyband_jobs.local.sink import Console
from skyband_jobs.local.sink_parts import holds_something, write_table
from skyband_jobs.running.savepoint import make_folder, sync_folder
from skyband_jobs.tables.model import Job, Sink, local_path
from skyband_jobs.tables.table_location import ability_of, place_of
from skyband_jobs.tables.table_sink import check_columns, is_free, sink_of, told_of_sink

_OWNER = "_skyband-stream.json"
"""In a folder of answers: the stream that writes it. Readers skip names that begin with an underscore."""


class TurnSink(ABC):
    """Takes the rows of a turn. A turn that is done again has the same rows."""

    @abstractmethod
    def write(self, rows: pa.Table, number: int) -> None:
        """Write the rows of a turn unless they are there. Raises ConfigError where they cannot be written."""

    def latest(self) -> int | None:
        """The last turn whose rows are there; None where that is not known, or none are."""
        return None


def open_sink(job: Job, stream: str, is_new: bool, schema: pa.Schema, progress: Progress) -> TurnSink:
    """The sink of a job, for rows of this schema. stream: the stream's id; is_new: whether it has done no turn yet.

    Raises ConfigError where others' answers are there, or the table has other columns.
    """
    sink = job.sink
    if sink.format == "console":
        return ConsoleSink(Console(job.query, progress, together=False))
    if sink.format not in names_of_formats(ability_of(sink)):
        return FolderSink.of(sink, stream, schema)
    with told_of_sink():
        check_columns(sink, schema)
        return TableSink.of(job, stream, is_new)


@frozen
class ConsoleSink(TurnSink):
    """Prints rows; those of a turn that is done again are printed again."""

    console: Console

    def write(self, rows: pa.Table, number: int) -> None:  # noqa: ARG002
        self.console.write(rows)


@frozen
class TableSink(TurnSink):
    """Writes to a table with the turn's number in the same commit."""

    table: BatchSink
    stream: str

    @classmethod
    def of(cls, job: Job, stream: str, is_new: bool) -> "TableSink":
        """Raises ConfigError where the table has rows of others, and `mode` does not say to append to them."""
        table = sink_of(job.sink)
        if is_new and not is_free(job, table):
            message = f'{place_of(job.sink)!r} already has rows: choose another, or set sink.mode to "append"'
            raise ConfigError(Problem("sink.mode", message))
        return cls(table, stream)

    def write(self, rows: pa.Table, number: int) -> None:
        with told_of_sink():
            latest = self.table.latest(self.stream)
            if latest is None or number > latest:
                self.table.write(rows, self.stream, number)

    def latest(self) -> int | None:
        with told_of_sink():
            return self.table.latest(self.stream)


@frozen
class FolderSink(TurnSink):
    """Writes a file for each turn, named after its number: complete, or absent."""

    folder: Path
    sink: Sink

    @classmethod
    def of(cls, sink: Sink, stream: str, schema: pa.Schema) -> "FolderSink":
        """Raises ConfigError where the folder has rows of others, or the format cannot hold these columns."""
        folder = local_path(sink.path or "")
        assert folder is not None  # checked with the job
        own = cls(folder, sink)
        with own._system_errors():
            make_folder(folder)
            owner = own._owner()
            if owner is None and holds_something(folder):
                what = "has files that this stream did not write"
            elif owner not in (None, stream):
                what = "has the answers of another stream"
            else:
                write_table(schema.empty_table(), pa.BufferOutputStream(), sink)
                if owner is None:
                    with replacing(folder / _OWNER) as file:
                        file.write(json.dumps({"id": stream}).encode())
                    sync_folder(folder)
                for name in ("part-*", _OWNER):  # of a process of this stream that was killed
                    for unfinished in folder.glob(f"_{name}.*.partial"):
                        unfinished.unlink()
                return own
        raise ConfigError(Problem("sink.path", f"{str(folder)!r} {what}: choose another path, or move them away"))

    def _owner(self) -> str | None:
        try:
            return str(json.loads((self.folder / _OWNER).read_text("utf-8"))["id"])
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            message = f"{str(self.folder / _OWNER)!r} is damaged ({error}): restore it, or choose another path"
            raise ConfigError(Problem("sink.path", message)) from error

    def write(self, rows: pa.Table, number: int) -> None:
        place = self.folder / f"part-{number:010}.{self.sink.format}"
        with self._system_errors():
            if place.exists():
                return
            with replacing(place) as file:
                write_table(rows, file, self.sink)
            sync_folder(self.folder)

    def latest(self) -> int | None:
        with self._system_errors():
            names = [path.stem.removeprefix("part-") for path in self.folder.glob(f"part-*.{self.sink.format}")]
        return max((int(name) for name in names if name.isdecimal()), default=None)

    @contextmanager
    def _system_errors(self) -> Iterator[None]:
        try:
            yield
        except pa.ArrowException as error:
            message = f"{self.sink.format} cannot hold these rows: {' '.join(str(error).split())}"
            raise ConfigError(Problem("sink.format", f"{message}: choose another format")) from error
        except OSError as error:
            message = f"{str(self.folder)!r} cannot be written: {error.strerror or error}"
            raise ConfigError(Problem("sink.path", f"{message}: choose another path, or free some space")) from error
