"""A file of answers in a folder that other runs may also write to: complete, or absent."""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from skyband.atomic_files import new_file, to_disk
from skyband.errors import ConfigError, Problem

from skyband_jobs.files.csv_columns import unwritable_in_csv
from skyband_jobs.formats.json_rows import json_rows
from skyband_jobs.job.progress import Progress
from skyband_jobs.local import sink_manifest as local_sink_manifest
from skyband_jobs.local.sink_writer import Writer
from skyband_jobs.running.folder_lock import try_lock, turn_in
from skyband_jobs.tables.model import Sink, option_text

STATES_TOGETHER = 1 << 20
"""Bytes of states in a Parquet row group."""

_PARTIAL = re.compile(r"(_part(-\d{5,})?\.\w+|__?skyband\.sha256|__skyband-stream\.json)(\.[0-9a-f]{16})?\.partial")
"""Files that a run writes until its answers are complete, and leaves behind if it is killed."""


def holds_something(folder: Path) -> bool:
    """Whether a folder has anything other than unfinished files of runs that were killed or are running."""
    if not folder.is_dir():
        return folder.exists()
    return any(not (_is_unfinished(path) or _notes_nothing(path)) for path in folder.iterdir())


def _is_unfinished(path: Path) -> bool:
    return _PARTIAL.fullmatch(path.name) is not None and path.is_file() and not path.is_symlink()


def _notes_nothing(path: Path) -> bool:
    return path.name == local_sink_manifest.NAME and not local_sink_manifest.own_files(path.parent)


class PartFile(Writer):
    """Writes answers to a file with a random name, and renames it to the first free number.

    Runs that write to one folder take turns when they start and end: none removes, replaces or leaves out of the
    manifest what another wrote. `mode = "overwrite"` replaces the old answers once the new ones are complete.
    """

    def __init__(self, folder: Path, sink: Sink, schema: pa.Schema, progress: Progress) -> None:
        self._folder, self._sink, self._progress = folder, sink, progress
        with _told_of(folder, sink):
            folder.mkdir(parents=True, exist_ok=True)
            with turn_in(folder):
                busy = _remove_unfinished(folder)
                if busy and sink.mode in (None, "errorifexists"):
                    _refuse(folder, "is being written to by another run")
                self._partial, self._file = new_file(folder, f"part.{sink.format}")
                try_lock(self._file.fileno())  # shows other runs that this one is alive
            try:
                self._write, self._close = _format_writer(self._file, sink, schema)
            except BaseException:
                self._file.close()
                self._partial.unlink(missing_ok=True)
                raise

    def write(self, answers: pa.Table) -> None:
        if len(answers):
            with _told_of(self._folder, self._sink):
                self._write(answers)

    def commit(self) -> None:
        """Put the new answers in place before removing old ones: a crash in between loses none."""
        with _told_of(self._folder, self._sink):
            self._close()
            to_disk(self._file)
            with turn_in(self._folder):
                if self._is_wanted():
                    self._take_place()
        self._file.close()
        self._partial.unlink(missing_ok=True)

    def _is_wanted(self) -> bool:
        """Whether the mode still allows these answers, after what other runs have written since this one started."""
        if self._sink.mode in ("append", "overwrite") or not holds_something(self._folder):
            return True
        if self._sink.mode == "ignore":
            message = 'now has rows of another run and sink.mode is "ignore": these were left out'
            self._progress.note(f"{self._folder} {message}")
            return False
        _refuse(self._folder, "now has rows of another run")
        return False

    def _take_place(self) -> None:
        overwrites = self._sink.mode == "overwrite"
        replaced = local_sink_manifest.own_files(self._folder) if overwrites else []
        name = self._named({path.name for path in replaced})
        for path in replaced:
            if path.name != name:
                path.unlink(missing_ok=True)
        local_sink_manifest.forget_replaced(self._folder, name)

    def _named(self, replaced: set[str]) -> str:
        """Rename the answers to the first free number in the folder; returns the name."""
        suffix = f".{self._sink.format}"
        names = {path.name for path in self._folder.iterdir()} - replaced
        number = 0
        while True:
            name = f"part-{number:05}{suffix}"
            number += 1
            if name in names:
                continue
            local_sink_manifest.record(self._folder, self._partial, name)
            if name in replaced:
                self._partial.replace(self._folder / name)
                return name
            with suppress(FileExistsError):  # a program that does not lock was faster
                _link(self._partial, self._folder / name)
                return name

    def abandon(self) -> None:
        with suppress(OSError, pa.ArrowException):  # on a full disk, closing fails; the file is removed anyway
            self._close()
        with suppress(OSError):
            self._file.close()
        self._partial.unlink(missing_ok=True)


@contextmanager
def _told_of(folder: Path, sink: Sink) -> Iterator[None]:
    """Turn errors of the system or the format into problems of the sink."""
    try:
        yield
    except pa.ArrowException as error:  # such as a type that Parquet lacks
        message = f"{sink.format} cannot hold these rows: {' '.join(str(error).split())}: choose another format"
        raise ConfigError(Problem("sink.format", message)) from error
    except OSError as error:
        message = (
            f"{str(folder)!r} cannot be written: {error.strerror or error}: choose another path, or free some space"
        )
        raise ConfigError(Problem("sink.path", message)) from error


def _refuse(folder: Path, what: str) -> None:
    message = f'{str(folder)!r} {what}: choose another path, or set sink.mode to "append"'
    raise ConfigError(Problem("sink.path", message))


def _remove_unfinished(folder: Path) -> bool:
    """Remove files of runs that were killed; returns whether another run is writing now."""
    busy = False
    for path in filter(_is_unfinished, list(folder.iterdir())):
        with suppress(OSError):  # another user's, or gone: nothing reads it
            busy |= not _remove_unless_locked(path)
    return busy


def _remove_unless_locked(path: Path) -> bool:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        free = stat.S_ISREG(os.fstat(handle).st_mode) and try_lock(handle)
        if free:
            path.unlink()
        return free is not False
    finally:
        os.close(handle)


def _link(partial: Path, place: Path) -> None:
    """Give a file its name, which must be free. Without hard links, an empty file reserves the name first."""
    try:
        place.hardlink_to(partial)
    except FileExistsError:
        raise
    except OSError:
        place.open("xb").close()
        partial.replace(place)


def _format_writer(file: BinaryIO, sink: Sink, schema: pa.Schema) -> Any:
    """Functions that write answers to a new file, and that finish it; the file stays open."""
    if sink.format == "json":
        return _json_writer(file)
    if sink.format == "csv":
        unwritable = unwritable_in_csv(schema)
        if unwritable:
            raise ConfigError(*unwritable)
        header = next(value for name, value in sink.with_defaults.items() if name.lower() == "header")
        options = pyarrow.csv.WriteOptions(include_header=option_text(header) == "true", quoting_style="needed")
        csv_file = pyarrow.csv.CSVWriter(file, schema, write_options=options)
        return csv_file.write_table, csv_file.close
    parquet_file = pyarrow.parquet.ParquetWriter(file, schema)
    if not any(pa.types.is_binary(kind) for kind in schema.types):
        return parquet_file.write_table, parquet_file.close

    def write(states: pa.Table) -> None:
        """Keep row groups small: states have 100 KB each and are read a few at a time."""
        rows = len(states) * STATES_TOGETHER // max(states.nbytes, 1)
        parquet_file.write_table(states, max(rows, 1))

    return write, parquet_file.close


def write_table(rows: pa.Table, file: BinaryIO, sink: Sink) -> None:
    """Write a complete file of a sink's format; the file stays open."""
    write, close = _format_writer(file, sink, rows.schema)
    write(rows)
    close()


def _json_writer(file: BinaryIO) -> Any:
    def write(answers: pa.Table) -> None:
        for line in json_rows(answers):
            file.write(line.encode() + b"\n")

    return write, file.flush
