"""Files that Spark distributes and Python reads, as the local engine does: one reader on every engine.

Spark keeps its log of files, its options for them and its exactly once: it reads their names, not what is in them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from attrs import evolve, frozen

from skyband.config.parameters import build
from skyband.engines.spark.file_rows import FileRows
from skyband.errors import ConfigError, Problem
from skyband.job.model import Source, absolute, local_path, option_text
from skyband.job.sources.file_parts import FilePart, tasks_of
from skyband.job.sources.row_location import PlacedBatches
from skyband.job.sources.source_files import READABLE, Files, layout_of, open_files
from skyband.job.sources.spark_ddl import ZONE_SETTING, parse_ddl
from skyband.job.sources.table_source import Table
from skyband.job.sources.text_files import FILE_OPTIONS, OPTIONS, beyond_readers
from skyband.job.sources.where_and_select import Shape

_NAMES = "path string, modificationTime timestamp, length long, content binary"
UTC = ("UTC", "Etc/UTC", "GMT", "Z", "+00:00")
_SETTINGS = ("spark.sql.files.ignoreMissingFiles", "spark.sql.files.ignoreCorruptFiles", "spark.sql.caseSensitive",
             "spark.sql.parquet.mergeSchema")  # fmt: skip
"""What Spark's own readers do otherwise where one of these is true."""


def why_spark(source: Source, settings: Mapping[str, Any]) -> str | None:
    """Why Spark's own reader is taken for a source; None where the files are read in Python.

    settings: those of the session, as far as they are known.
    """
    if source.reader == "spark":
        return 'source.reader = "spark"'
    if source.format not in READABLE:
        return f"{source.format} is not read in Python"
    if source.path is None or local_path(source.path) is None:
        return "the path is not of this machine"
    return _beyond(source, settings) or (None if source.reader == "files" else _unsure(source, settings))


def _beyond(source: Source, settings: Mapping[str, Any]) -> str | None:
    """What keeps Python from reading files as Spark would."""
    beyond = beyond_readers(source) or next((name for name in source.options if not _is_of_files(source, name)), None)
    if beyond is not None:
        return f"source.options.{beyond} is known to Spark only"
    zone = settings.get(ZONE_SETTING)
    if source.format in OPTIONS and zone not in (None, *UTC):
        return f"times are written in the zone {zone}"
    is_set = next((name for name in _SETTINGS if str(settings.get(name)).lower() == "true"), None)
    return None if is_set is None else f"{is_set} is set"


def _is_of_files(source: Source, option: str) -> bool:
    """Whether an option is known here; those of text were looked at before."""
    return source.format in OPTIONS or option.lower() in FILE_OPTIONS or option.lower().startswith("max")


def _unsure(source: Source, settings: Mapping[str, Any]) -> str | None:
    """Why it is not certain that Python reads the same rows, so that it must be asked for."""
    if source.format == "parquet":
        return 'Parquet, unless source.reader = "files"'
    master = settings.get("spark.master")
    if master is not None and not str(master).startswith("local"):
        return 'executors may be elsewhere; where they reach the path too, source.reader = "files" is quicker'
    return None


def file_frame(
    session: Any, source: Source, columns: Iterable[str] | None = None, rows: Files | Table | None = None
) -> tuple[Any, Source] | None:
    """The rows of a source as a DataFrame, and what is left for Spark to do: `where` and `select` in its own SQL.

    columns: those that are needed, unless more is left to do; None: all. rows: the source, where it is open.

    None where Spark's reader is to be taken. Raises ConfigError where `source.reader` says "files" and they cannot be.
    """
    names = (ZONE_SETTING, "spark.master", *_SETTINGS)
    choice = choose_reader(source, {name: session.conf.get(name, None) for name in names}, columns, rows)
    if isinstance(choice, str):
        if source.reader == "files" or source.format == "arrow":
            raise ConfigError(Problem("source.reader", f"files cannot be read in Python: {choice}"))
        return None
    files, rest = choice
    return _rows(session, files, _schema(files, rest, columns)).frame(), rest


def frame_of(session: Any, path: str, format: str, stream: bool, schema: str | None, options: Mapping[str, Any]) -> Any:
    """`spark.files`: the rows of files for a program, read in Python or refused with ConfigError."""
    keys = {"format": format, "path": absolute(path, Path()), "stream": stream, "options": options, "reader": "files"}
    source = build(Source, keys if schema is None else {**keys, "schema": schema})
    frame = file_frame(session, source)
    assert frame is not None  # a reader that was asked for is taken, or refused
    return frame[0]


def reader_of(
    source: Source, settings: Mapping[str, Any], columns: Iterable[str], rows: Files | Table | None = None
) -> str:
    """Who reads a source's files, and why, in a word or two."""
    try:
        choice = choose_reader(source, settings, columns, rows)
    except ConfigError:
        return "Spark"  # which says itself what is wrong
    return f"Spark ({choice})" if isinstance(choice, str) else "Python, where rows are packed"


def choose_reader(
    source: Source,
    settings: Mapping[str, Any],
    columns: Iterable[str] | None = None,
    rows: Files | Table | None = None,
) -> tuple[Files, Source] | str:
    """The files as Python reads them and what of the source is left to Spark, or why its own reader is taken.

    Raises ConfigError where there are no files.
    """
    why = why_spark(source, settings)
    if why is not None:
        return why
    files, rest = _files(source, rows)
    if source.reader == "auto" or files.layout is None:
        if _in_key_folders(files):
            return "folders named key=value are columns"
        if files.layout is not None and (rest.where is not None or rest.select is not None):
            return "where or select is known to Spark only"
    differs = source.reader == "auto" and _declared_otherwise(files)
    for name in _needed(files, rest, columns):
        if differs:
            return "its files have other types than source.schema"
        if name not in files.schema.names:
            return f"column {name!r} is not in its files"
        kind = files.schema.field(name).type
        if files.layout is not None and as_spark(kind) is None:
            return f"column {name!r} is {kind}, which Spark has in its own way"
    return files, rest


def _declared_otherwise(files: Files) -> bool:
    """Whether Parquet or Arrow files have a column of another type than the schema that was given for them."""
    if files.layout is None or files.source.schema is None or not files.paths:
        return False
    there = {
        field.name: field.type for path in {files.paths[0], files.paths[-1]} for field in files.layout.read_schema(path)
    }
    pairs = [(field.type, there[field.name]) for field in files.raw if field.name in there]
    return any(as_spark(declared) != as_spark(kind) for declared, kind in pairs)


def _needed(files: Files, rest: Source, columns: Iterable[str] | None) -> Sequence[str]:
    """The columns that are read; all where Spark is to make others of them."""
    all_of_them: list[str] = files.schema.names
    return all_of_them if columns is None or rest.where is not None or rest.select is not None else list(columns)


def _schema(files: Files, rest: Source, columns: Iterable[str] | None) -> pa.Schema:
    """The columns that are read, in Spark's types."""
    kinds = [files.schema.field(name) for name in _needed(files, rest, columns)]
    return pa.schema([(field.name, as_spark(field.type) or field.type) for field in kinds])


def spark_defaults(source: Source) -> dict[str, str]:
    """Options under which Spark's own reader reads CSV most like the one here: RFC 4180, and names before places."""
    if source.format != "csv":
        return {}
    names = {name.lower() for name in source.options}
    defaults = {"escape": '"', "multiLine": "true", "enforceSchema": "false", "nullValue": "\0"}
    return {name: value for name, value in defaults.items() if name.lower() not in names}


def _files(source: Source, rows: Files | Table | None) -> tuple[Files, Source]:
    """The files, with `where` and `select` done by the reader where it knows them, else left."""
    plain = evolve(source, where=None, select=None)
    if isinstance(rows, Files):
        return rows, plain
    for here, rest in ((source, plain), (plain, source)):
        try:
            files = open_files(here)
            if not isinstance(files, Files):
                raise ConfigError(Problem("source.path", "only Spark can read it"))
            return files, rest
        except ConfigError as error:
            refusal = error
        if source.stream and source.schema is not None:  # which may begin in an empty folder
            raw = parse_ddl(source.schema)
            try:
                shape = Shape.parse(here.where, here.select)
                return Files(here, (), raw, shape, shape.schema(raw), layout_of(source)), rest
            except ConfigError as error:
                refusal = error
    raise ConfigError(*(problem.within("source") for problem in refusal.problems)) from refusal


def _in_key_folders(files: Files) -> bool:
    """Whether files lie in folders whose names are columns, of which Spark finds the types in its own way."""
    above = len(Path(files.source.path or "").parts)
    return any("=" in part for path in files.paths for part in path.parts[above:-1])


def _rows(session: Any, files: Files, schema: pa.Schema) -> FileRows:
    """As they are given out: by Spark's log in a stream, else by tasks that share the work."""
    source = files.source
    known = () if source.format not in OPTIONS else tuple(name.lower() for name in OPTIONS[source.format])
    options = {name: option_text(value) for name, value in source.options.items() if name.lower() not in known}
    reader = session.readStream if source.stream else session.read
    plain = evolve(files, paths=())
    if source.stream or any(name.lower() in FILE_OPTIONS for name in options):
        names = reader.format("binaryFile").options(**options).schema(_NAMES).load(source.path).select("path")
    if source.stream:
        return FileRows(names, PartReader(plain), schema)
    paths = files.paths
    if any(name.lower() in FILE_OPTIONS for name in options):
        paths = tuple(path for row in names.collect() if (path := local_path(row["path"])) is not None)
    tasks = tasks_of(paths, source.format, session.sparkContext.defaultParallelism)
    numbers = session.range(0, len(tasks), 1, max(len(tasks), 1))
    return FileRows(numbers, PartReader(plain, tuple(tasks)), schema)


@frozen
class PartReader:
    """Reads the files that come by their names, or by the numbers of tasks, in a worker of Spark."""

    files: Files
    tasks: tuple[tuple[FilePart, ...], ...] | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch], columns: Sequence[str]) -> PlacedBatches:
        return self.files.batches(columns, self._parts(batches))

    def _parts(self, batches: Iterator[pa.RecordBatch]) -> Iterator[FilePart]:
        for batch in batches:
            for name in batch.column(0).to_pylist():
                if self.tasks is not None:
                    yield from self.tasks[name]
                else:
                    path = local_path(name)
                    assert path is not None
                    yield FilePart(path)


def as_spark(kind: pa.DataType) -> pa.DataType | None:
    """The type in which Spark has the same values; None where it has them as others, or not at all."""
    types = pa.types
    if types.is_dictionary(kind):
        return as_spark(kind.value_type)
    if types.is_large_string(kind) or types.is_string_view(kind):
        return pa.string()
    if types.is_large_binary(kind) or types.is_binary_view(kind):
        return pa.binary()
    if types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz) if kind.unit != "ns" else None
    if types.is_list(kind) or types.is_large_list(kind):
        within = as_spark(kind.value_type)
        return None if within is None else pa.list_(within)
    same = types.is_boolean, types.is_signed_integer, types.is_string, types.is_binary, types.is_date32
    floats = types.is_float32(kind) or types.is_float64(kind)
    return kind if floats or _is_decimal(kind) or any(test(kind) for test in same) else None


def _is_decimal(kind: pa.DataType) -> bool:
    return pa.types.is_decimal128(kind) and kind.scale >= 0
