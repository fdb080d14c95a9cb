"""The files of a source on this machine: found, in the order Spark would take them, and read batch by batch."""

import glob
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import frozen

from skyband.errors import ConfigError, Problem
from skyband.job.ddl import parse_ddl
from skyband.job.model import Source, local_path

if TYPE_CHECKING:
    import pyarrow as pa

READABLE = ("parquet", "csv", "json", "arrow")
_BATCH = 100_000


@frozen
class Files:
    """The files of a source, at least one, oldest first, with their schema."""

    source: Source
    base: Path
    paths: tuple[Path, ...]
    schema: "pa.Schema"

    def batches(self, columns: Iterable[str]) -> "Iterator[pa.RecordBatch]":
        """Their rows, file by file, only the columns named. Raises InputError where a value is not of its type."""
        wanted = list(columns)
        schema = _pa().schema([self.schema.field(name) for name in wanted])
        if self.source.format in ("csv", "json"):
            from skyband.job import text_files

            for path in self.paths:
                yield from text_files.read(path, self.source, self.schema, schema)
            return
        for path in self.paths:
            dataset = _dataset(self.source, self.base, [path])
            yield from dataset.replace_schema(self.schema).to_batches(columns=wanted, batch_size=_BATCH)


def open_files(source: Source) -> Files | None:
    """The files of a source, or None where only Spark can look: elsewhere, or in a format Arrow does not read.

    Raises ConfigError where there is nothing to read, or it cannot be read.
    """
    path = None if source.path is None else local_path(source.path)
    if path is None or source.format not in READABLE:
        return None
    paths = _found(path)
    if not paths:
        raise ConfigError(Problem("path", _nothing_at(path, source)))
    try:
        return Files(source, _base(path), tuple(paths), _schema(source, _base(path), paths))
    except (OSError, ValueError) as error:  # Arrow's own errors are ValueErrors
        detail = " ".join(str(error).split())
        raise ConfigError(Problem("path", f"cannot be read as {source.format}: {detail}")) from error


def _schema(source: Source, base: Path, paths: list[Path]) -> "pa.Schema":
    if source.schema is not None:
        return parse_ddl(source.schema)
    if source.format in ("csv", "json"):
        from skyband.job import text_files

        return text_files.schema_of(paths[0], source)
    return _dataset(source, base, paths).schema.remove_metadata()


def _dataset(source: Source, base: Path, paths: list[Path]) -> Any:
    import pyarrow.dataset as ds

    folder = str(base if base.is_dir() else base.parent)
    files = [str(path) for path in paths]
    # Compression and the like are read from the files themselves.
    return ds.dataset(files, format=source.format, partitioning="hive", partition_base_dir=folder)


def _found(path: Path) -> list[Path]:
    """Data files by time of change, then name, as Spark's file source takes them; hidden ones are not data."""
    roots = map(Path, glob.glob(str(path))) if _is_pattern(path) else [path]  # noqa: PTH207 - it may be absolute
    files = [file for root in roots for file in _below(root)]
    return sorted(files, key=lambda file: (file.stat().st_mtime_ns, str(file)))


def _below(root: Path) -> Iterator[Path]:
    if root.is_file():
        yield root
    elif root.is_dir():
        committed = _committed(root / "_spark_metadata")
        for entry in root.iterdir():
            if entry.name.startswith(("_", ".")):
                continue
            if entry.is_file() and (committed is None or entry.name in committed):
                yield entry
            elif entry.is_dir() and "=" in entry.name:
                yield from _below(entry)


def _committed(log: Path) -> set[str] | None:
    """The names a streaming sink has committed: a crash can leave other files beside them."""
    if not log.is_dir():
        return None
    entries = [
        json.loads(line)
        for batch in log.iterdir()
        if batch.name.partition(".")[0].isdigit()
        for line in batch.read_text("utf-8").splitlines()[1:]
    ]
    return {Path(entry["path"]).name for entry in entries if entry.get("action", "add") == "add"}


def _is_pattern(path: Path) -> bool:
    return any(mark in str(path) for mark in "*?[")


def _base(path: Path) -> Path:
    """The folder below which `key=value` folders are columns."""
    fixed = [part for part in path.parts if not any(mark in part for mark in "*?[")]
    return Path(*fixed) if len(fixed) < len(path.parts) else path


def _nothing_at(path: Path, source: Source) -> str:
    if _is_pattern(path):
        return f"no file matches {str(path)!r}"
    if not path.exists():
        return f"{str(path)!r} does not exist"
    if source.stream:
        remedy = "; put a first file there, or say its columns with source.schema" if source.schema is None else ""
        return f"{str(path)!r} holds no file yet{remedy}"
    return f"{str(path)!r} holds no file"


def _pa() -> Any:
    import pyarrow

    return pyarrow
