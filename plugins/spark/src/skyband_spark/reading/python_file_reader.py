"""Reads files in Python that Spark distributes, with the local engine's reader: one reader on every engine.

Spark keeps its log of files, its options for them and its exactly-once: it reads their names, not their contents.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from attrs import evolve, frozen
from skyband.config.parameters import build
from skyband.errors import ConfigError, InputError, Problem
from skyband.operator.bad_rows import RefuseUnreadable
from skyband_jobs.files.columnar_files import Layout
from skyband_jobs.files.csv_dialect import ONLY_PYTHON
from skyband_jobs.files.file_listing import data_files, is_pattern
from skyband_jobs.files.file_parts import FilePart, share_of, stamp_of, tasks_of
from skyband_jobs.files.json_files import has_map
from skyband_jobs.files.row_location import PlacedBatches
from skyband_jobs.files.source_files import READABLE, Files, layout_of, open_files
from skyband_jobs.files.table_source import Table
from skyband_jobs.files.text_files import FILE_OPTIONS, OPTIONS, beyond_readers
from skyband_jobs.files.text_files import ranges as text_ranges
from skyband_jobs.files.where_and_select import Shape
from skyband_jobs.tables.model import SHAPING, Source, absolute, file_path, local_path, option_text
from skyband_jobs.tables.spark_ddl import ZONE_SETTING, parse_ddl
from skyband_jobs.tables.store_paths import OutOfReachError, StorePath, check_reach

from skyband_spark.frames.file_rows import FileRows
from skyband_spark.reading.arrow_types import as_spark
from skyband_spark.reading.table_parts import TableParts

_NAMES = "path string, modificationTime timestamp, length long, content binary"
UTC = ("UTC", "Etc/UTC", "GMT", "Z", "+00:00")
_SETTINGS = ("spark.sql.files.ignoreMissingFiles", "spark.sql.files.ignoreCorruptFiles", "spark.sql.caseSensitive",
             "spark.sql.parquet.mergeSchema", "spark.sql.parquet.binaryAsString")  # fmt: skip
"""Settings that change what Spark's own readers do, if true."""

_ANSI = "spark.sql.ansi.enabled"
MASTER = "spark.master"
_TASKS_A_CORE = 4
"""The most tasks per core in a micro-batch."""
_TASKS_ELSEWHERE = 200
_SHARE = 1 << 24
"""Bytes of a large Parquet file in a stream that are one share of its work."""
BY_PYTHON = "Python"
_NOT_HADOOP = (".xz", ".zst", ".lz4")
"""Hadoop has no codec for the first, needs libraries for the second, and has another format for the third."""


@frozen
class Choice:
    """The choice of a source's reader."""

    files: Files | TableParts | None
    """The files as Python reads them; None where Spark's own reader is used."""
    rest: Source
    """What is left for Spark: `explode`, `where` and `select` in SQL that only Spark knows."""
    why: str = ""
    """Why Spark's own reader is used, or cannot be."""

    def __str__(self) -> str:
        if self.files is None:
            return f"Spark ({self.why})"
        sql = [name for name in SHAPING if getattr(self.rest, name) is not None]
        how = (
            f"{BY_PYTHON}, where rows are packed" if not sql else f"{BY_PYTHON}, but {' and '.join(sql)} by Spark's SQL"
        )
        return f"{how} ({self.why})" if self.why else how


def choose_reader(
    source: Source,
    settings: Mapping[str, Any],
    columns: Iterable[str] | None = None,
    rows: Files | Table | None = None,
) -> Choice:
    """Choose the reader of a source's files: the one place that decides.

    settings: those of the session that are known. columns: those that are needed, unless Spark makes others from them;
    None: all. rows: the source, if it is open.
    Raises ConfigError where there are no files, or `source.reader` is "files" and they cannot be read that way.
    """
    why = _why_spark(source, settings)
    if why is None:
        try:
            files, rest = _files(source, rows)
        except OutOfReachError as error:
            if source.reader == "files":
                raise ConfigError(*(one.within("source") for one in error.problems)) from error
            why = f"Python cannot reach it: {error.problems[0].message}"
        else:
            why = _differing(files, rest, columns)
            if why is None:
                return Choice(files, rest)
    if source.reader == "files" or (source.format == "arrow" and source.reader != "spark"):
        remedy = 'source.reader = "spark" or, in a program, session.read'
        raise ConfigError(Problem("source.reader", f"files cannot be read in Python: {why}; use Spark's: {remedy}"))
    strange = _unknown_to_spark(source)
    if strange is not None:
        message = f"Spark's own reader does not know {strange.suffix} ({strange.name}), but is used because {why}"
        raise ConfigError(Problem("source.reader", f"{message}: compress with gzip, or let Python read it"))
    skips = next((name for name in source.options if name.lower() == ONLY_PYTHON and source.format == "csv"), None)
    if skips is not None:
        message = f"Spark's own reader does not know {skips}, but is used because {why}"
        remedy = "let Python read the files, or remove these lines"
        raise ConfigError(Problem(f"source.options.{skips}", f"{message}: {remedy}"))
    return Choice(None, source, why)


def loaded_path(source: Source) -> str:
    """The path of a source that has one; for a stream of one file, a pattern that only it matches, because Spark's
    streams only take folders and patterns."""
    assert source.path is not None
    path = local_path(source.path)
    if not source.stream or path is None or is_pattern(path) or not path.is_file():
        return source.path
    place = next((place for place, mark in enumerate(path.name) if mark.isalnum()), None)
    if place is None:
        return source.path
    return str(path.with_name(f"{path.name[:place]}[{path.name[place]}]{path.name[place + 1 :]}"))


def _unknown_to_spark(source: Source) -> Path | None:
    """A text file with a compression that Hadoop does not know, which Spark's own reader would misread."""
    path = None if source.path is None else local_path(source.path)
    if path is None or source.format not in OPTIONS:
        return None
    return next((file for file in data_files(path) if file.suffix in _NOT_HADOOP), None)


def _why_spark(source: Source, settings: Mapping[str, Any]) -> str | None:
    """Why Spark's own reader is used, whatever the files contain; None where it is not."""
    if source.reader == "spark":
        return 'source.reader = "spark"'
    if source.format not in READABLE:
        return f"Python does not read {source.format}"
    if source.path is None or file_path(source.path) is None:
        return "the path is not on this machine"
    if source.stream and local_path(source.path) is None and source.reader == "auto":
        return "Spark lists the files of a stream, so it must reach them itself"
    beyond = beyond_readers(source) or next((name for name in source.options if not _is_of_files(source, name)), None)
    if beyond is not None:
        return f"only Spark knows source.options.{beyond}"
    zone = settings.get(ZONE_SETTING)
    if source.format in OPTIONS and zone not in (None, *UTC):
        return f"times are written in the zone {zone}"
    if source.where is not None or source.select is not None:
        if zone not in (None, *UTC):
            return f"where and select are in the zone {zone}"
        if str(settings.get(_ANSI)).lower() == "false":
            return f"{_ANSI} is not set"
    is_set = next((name for name in _SETTINGS if str(settings.get(name)).lower() == "true"), None)
    if is_set is not None:
        return f"{is_set} is set"
    if source.reader == "auto" and not str(settings.get(MASTER) or "local").startswith("local"):
        return 'executors might not reach the path; if all do, set source.reader = "files"'
    return None


def _is_of_files(source: Source, option: str) -> bool:
    """Whether an option is known here; those of text were checked before."""
    return source.format in OPTIONS or option.lower() in FILE_OPTIONS or option.lower().startswith("max")


def _differing(files: Files, rest: Source, columns: Iterable[str] | None) -> str | None:
    """Why Python's reader would return other rows than Spark's, or be no faster; else None."""
    if files.source.reader == "auto" and files.layout is not None:
        if _is_left(rest):
            return "only Spark knows where or select"
        if _declared_otherwise(files):
            return "its files have other types than source.schema"
    needed = _needed(files, rest, columns)
    if files.source.format == "json":
        raw_names = {*files.shape.reads(needed)}
        maps = [field.name for field in files.raw if field.name in raw_names and has_map(field.type)]
        if maps:
            return f"column {maps[0]!r} is a MAP, which Python cannot read from JSON"
    for name in needed:
        if name not in files.schema.names:
            return f"column {name!r} is not in its files"
        kind = files.schema.field(name).type
        if files.layout is not None and as_spark(kind) is None:
            return f"column {name!r} is {kind}, which Spark stores differently"
    return None


def file_frame(session: Any, choice: Choice, columns: Iterable[str] | None = None) -> Any:
    """The rows of a source that Python reads, as a DataFrame; `where` and `select` of `choice.rest` are still to do."""
    assert choice.files is not None
    schema = _schema(choice.files, choice.rest, columns)
    if isinstance(choice.files, TableParts):
        return choice.files.file_rows(session, schema).frame()
    return _rows(session, choice.files, schema).frame()


def settings_of(session: Any, source: Source) -> dict[str, Any]:
    """The session's settings that matter; on a cluster, they depend on whether its executors reach the path."""
    settings = {name: session.conf.get(name, None) for name in (ZONE_SETTING, _ANSI, MASTER, *_SETTINGS)}
    elsewhere = not str(settings[MASTER] or "local").startswith("local")
    if elsewhere and source.reader == "auto" and source.of_files and source.path is not None:
        path = file_path(source.path)
        if path is not None and all_executors_reach(session, path):
            del settings[MASTER]
    return settings


def all_executors_reach(session: Any, path: Path) -> bool:
    """Whether tasks, several per core, see the newest file of a path exactly as this machine does: a shared folder."""
    try:
        if isinstance(path, StorePath):
            check_reach(path)
        files = data_files(path)
    except OutOfReachError:
        return False
    newest = str(files[-1] if files else path)

    def look(place: str) -> tuple[int, int] | None:
        try:
            there = (file_path(place) or Path(place)).stat()
        except OSError:
            return None
        return there.st_size, there.st_mtime_ns

    here, context = look(newest), session.sparkContext
    tasks = 2 * context.defaultParallelism
    return here is not None and context.parallelize([newest] * tasks, tasks).map(look).distinct().collect() == [here]


def frame_of(
    session: Callable[[], Any], path: str, format: str, stream: bool, schema: str | None, options: Mapping[str, Any]
) -> Any:
    """`spark.files`: the rows of files for a program, read in Python or refused with ConfigError.

    session: called once the files are open, because it may have to start Java.
    """
    keys = {"format": format, "path": absolute(path, Path()), "stream": stream, "options": options, "reader": "files"}
    source = build(Source, keys if schema is None else {**keys, "schema": schema})
    try:
        files = None if _why_spark(source, {}) is not None else _files(source, None)[0]
    except OutOfReachError:
        files = None  # the session knows how to reach it
    except ConfigError as error:
        problems = [evolve(one, field=one.field.removeprefix("source.")) for one in error.problems]
        raise ConfigError(*problems) from None
    active = session()
    return file_frame(active, choose_reader(source, settings_of(active, source), rows=files))


def _declared_otherwise(files: Files) -> bool:
    """Whether Parquet or Arrow files have a column of another type than the declared schema."""
    if files.layout is None or files.source.schema is None or not files.paths:
        return False
    declared = dict(zip(files.raw.names, files.raw.types, strict=True))
    there = [field for path in {files.paths[0], files.paths[-1]} for field in _fields(files.layout, path)]
    return any(as_spark(declared[field.name]) != as_spark(field.type) for field in there if field.name in declared)


def _fields(layout: Layout, path: Path) -> Iterable[pa.Field]:
    """The columns of a file; none if it cannot be read, which its reader reports."""
    try:
        return layout.read_schema(path)
    except (InputError, OSError, ValueError, pa.ArrowException):
        return ()


def _needed(files: Files | TableParts, rest: Source, columns: Iterable[str] | None) -> Sequence[str]:
    """The columns that are read; all if Spark makes others from them."""
    all_of_them: list[str] = files.schema.names
    return all_of_them if columns is None or _is_left(rest) else list(columns)


def _is_left(rest: Source) -> bool:
    """Whether Spark has to make other rows or columns."""
    return any(getattr(rest, name) is not None for name in SHAPING)


def _schema(files: Files | TableParts, rest: Source, columns: Iterable[str] | None) -> pa.Schema:
    """The columns that are read, in Spark's types."""
    kinds = [files.schema.field(name) for name in _needed(files, rest, columns)]
    return pa.schema([(field.name, as_spark(field.type) or field.type) for field in kinds])


def _files(source: Source, rows: Files | Table | None) -> tuple[Files, Source]:
    """The files, with `where` and `select` applied by the reader if it knows them, else left to Spark."""
    plain = evolve(source, explode=None, where=None, select=None)
    if isinstance(rows, Files):
        return rows, plain
    for here, rest in ((source, plain), (plain, source)):
        try:
            files = open_files(here)
            if not isinstance(files, Files):
                raise ConfigError(Problem("source.path", "only Spark can read it"))
            return files, rest
        except OutOfReachError:
            raise
        except ConfigError as error:
            refusal = error
        if source.stream and source.schema is not None:  # it may start with an empty folder
            raw = parse_ddl(source.schema)
            try:
                shape = Shape.of(here)
                return Files(here, (), raw, shape, shape.schema(raw), layout_of(source)), rest
            except ConfigError as error:
                refusal = error
    raise ConfigError(*(problem.within("source") for problem in refusal.problems)) from refusal


def _rows(session: Any, files: Files, schema: pa.Schema) -> FileRows:
    """The rows, distributed by Spark's log in a stream, else by tasks that share the work."""
    source = files.source
    option_names = () if source.format not in OPTIONS else tuple(name.lower() for name in OPTIONS[source.format])
    options = {name: option_text(value) for name, value in source.options.items() if name.lower() not in option_names}
    reader = session.readStream if source.stream else session.read
    plain = evolve(files, paths=())
    if source.stream or any(name.lower() in FILE_OPTIONS for name in options):
        names = (
            reader.format("binaryFile")
            .options(**options)
            .schema(_NAMES)
            .load(loaded_path(source))
            .select("path", "length")
        )
    cores = session.sparkContext.defaultParallelism
    if source.stream:
        shared = _shared(names, files, options, cores)
        return FileRows(shared or names.coalesce(_most_tasks(session, cores)), PartReader(plain, share=_SHARE), schema)
    paths = files.paths
    if any(name.lower() in FILE_OPTIONS for name in options):
        paths = tuple(path for row in names.collect() if (path := file_path(row["path"])) is not None)
    tasks = tasks_of(paths, source.format, cores, lambda path, size: text_ranges(path, source, size))
    numbers = session.range(0, len(tasks), 1, max(len(tasks), 1))
    return FileRows(numbers, PartReader(plain, tuple(map(pickle.dumps, tasks))), schema)


def _shared(names: Any, files: Files, options: Mapping[str, str], cores: int) -> Any | None:
    """The files of a stream, large ones once for each share of their work, so that any core may read a share.

    None where micro-batches have files for all cores, or no present file is large: distributing shares costs each
    micro-batch an additional step.
    """
    from pyspark.sql import functions as sql

    most = {name.lower(): value for name, value in options.items()}.get("maxfilespertrigger", "")
    if files.source.format != "parquet" or not most.isdigit() or int(most) >= cores:
        return None
    if max((stamp_of(path)[0] for path in files.paths), default=0) <= 2 * _SHARE:
        return None
    shares = sql.ceil(sql.col("length") / _SHARE).cast("int")
    numbers = sql.sequence(sql.lit(0), sql.greatest(shares, sql.lit(1)) - 1)
    each = names.select("path", "length", sql.explode(numbers).alias("share"))
    return each.repartition(_TASKS_A_CORE * cores)


def _most_tasks(session: Any, cores: int) -> int:
    """The most tasks of a micro-batch: Spark makes one of each 32 small files, as it counts opening one as 4 MB.

    On a cluster there may be more cores later than now.
    """
    alone = str(session.conf.get(MASTER, None) or "local").startswith("local")
    return _TASKS_A_CORE * cores if alone else max(_TASKS_A_CORE * cores, _TASKS_ELSEWHERE)


@frozen
class PartReader:
    """Reads files given by names, or by numbers of tasks, in a worker of Spark."""

    files: Files
    tasks: tuple[bytes, ...] | None = None
    """The parts of each task, pickled: all are sent to each task, which unpickles its own."""
    share: int = 0
    """Bytes of a share of a large file, where shares are distributed."""

    def __call__(
        self, batches: Iterator[pa.RecordBatch], columns: Sequence[str], refuse: RefuseUnreadable | None = None
    ) -> PlacedBatches:
        return self.files.batches(columns, self._parts(batches), dictionaries=True, together=True, refuse=refuse)

    def _parts(self, batches: Iterator[pa.RecordBatch]) -> Iterator[FilePart]:
        for batch in batches:
            for name, *share in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                if self.tasks is not None:
                    yield from pickle.loads(self.tasks[name])
                    continue
                path = file_path(name)
                assert path is not None
                if len(share) < 2:
                    yield FilePart(path)
                else:
                    size, number = share
                    yield from share_of(path, self.files.source.format, size, self.share, number)
