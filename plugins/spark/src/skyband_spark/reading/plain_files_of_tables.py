"""Reads tables that Spark has no connector for: their plain files, found through their log."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from attrs import evolve
from skyband.errors import ConfigError, EngineError, Problem
from skyband_jobs.files.source_files import Files, layout_of
from skyband_jobs.files.where_and_select import Shape
from skyband_jobs.formats import TablePart, TableRows
from skyband_jobs.tables.model import Sink, Source, local_path
from skyband_jobs.tables.table_location import in_process, keys_of

from skyband_spark.reading.arrow_types import as_spark
from skyband_spark.reading.python_file_reader import MASTER, Choice, choose_reader, file_frame, settings_of
from skyband_spark.reading.table_parts import TableParts


def is_ours(session: Any, table: Source | Sink) -> bool:
    """Whether a plugin's format reads or writes a table in this process, rather than a connector of Spark."""
    return in_process(table, lambda name: str(session.conf.get(name, ""))) is not None


def table_frame(session: Any, source: Source, columns: Iterable[str] | None = None) -> tuple[Any, Choice]:
    """The rows of a table as it is now, as a DataFrame, and the choice of its reader; its `rest` is still to do.

    Raises EngineError for a stream, which only a connector reads, ConfigError where the table is more than its files
    and Python cannot read it.
    """
    if source.stream:
        raise EngineError(
            f"Spark reads a stream from {source.format} only with its connector: configure it under [spark], read the "
            "table as a batch (source.stream = false), or use --engine local"
        )
    bound = in_process(source)
    assert bound is not None, source.format
    try:
        table = bound.read(keys_of(source))
        choice, names = _choice(source, table, lambda folder: settings_of(session, _plain(source, folder)), columns)
        schema = table.schema
    except ConfigError as error:
        raise ConfigError(*(one.within("source") for one in error.problems)) from error
    if choice.files is not None:
        return file_frame(session, choice, columns), choice
    spark_schema = _spark_schema(schema)
    return session.read.schema(spark_schema).parquet(*names) if names else session.createDataFrame(
        [], spark_schema
    ), choice


def table_choice(source: Source, settings: Mapping[str, str], columns: Iterable[str]) -> Choice | None:
    """The choice of a table's reader on Spark; None where a connector reads it, or it cannot be read.

    settings: those of the session that are known.
    """
    bound = in_process(source, lambda name: str(settings.get(name, "")))
    if bound is None or source.stream:
        return None
    try:
        return _choice(source, bound.read(keys_of(source)), lambda _: settings, columns)[0]
    except ConfigError:  # reported by a run
        return None


def _choice(
    source: Source, table: TableRows, settings: Callable[[str], Mapping[str, Any]], columns: Iterable[str] | None
) -> tuple[Choice, Sequence[str]]:
    """The choice of a table's reader, and its files if they are the whole table.

    settings: those of the session, by the folder of the files. Raises ConfigError where the table is more than its
    files, and nothing here can read it.
    """
    names: Sequence[str] = ()
    why = ""
    try:
        names = table.plain_files()
        parts = None if source.reader == "spark" or _are_here(names) else table.parts()
    except ConfigError as error:
        parts = None if source.reader == "spark" else table.parts()
        if parts is None:
            raise
        why = error.problems[0].message.partition(", which Spark")[0]
    if parts:
        return _by_parts(source, parts, table.schema, settings, why), ()
    return _by_files(source, names, table.schema, settings(_folder(names)), columns), names


def _are_here(names: Sequence[str]) -> bool:
    return all(local_path(name) is not None for name in names)


def _by_parts(
    source: Source,
    parts: Sequence[TablePart],
    schema: Any,
    settings: Callable[[str], Mapping[str, Any]],
    why: str,
) -> Choice:
    """A table whose parts Python reads, because Spark's reader does not see everything besides its files: `why`.

    Remote parts are reached with the table's own settings, which each part has.
    """
    local_parts = [part.place for part in parts if local_path(part.place) is not None]
    if source.reader == "auto" and local_parts and not _is_local(settings(_folder(local_parts[:1]))):
        message = (
            'executors might not reach its files, and only Python reads them; if all do, set source.reader = "files"'
        )
        raise ConfigError(Problem("reader", f"{why}: {message}"))
    plain = evolve(source, explode=None, where=None, select=None)
    try:
        shape, rest = Shape.of(source), plain
        columns = shape.schema(schema)
    except ConfigError:
        shape, rest, columns = Shape(), source, schema
    return Choice(TableParts(tuple(parts), schema, shape, columns), rest, why)


def _is_local(settings: Mapping[str, Any]) -> bool:
    """Whether all readers are on this machine, or reach its files."""
    return str(settings.get(MASTER) or "local").startswith("local")


def _by_files(
    source: Source, names: Sequence[str], schema: Any, settings: Mapping[str, Any], columns: Iterable[str] | None
) -> Choice:
    """The choice for the files of a table: like a folder of Parquet files, but in the table's order.

    Raises ConfigError where `source.reader` is "files" and Python cannot read them.
    """
    import pyarrow as pa

    paths = [path for path in map(local_path, names) if path is not None and path.exists()]
    if not paths or len(paths) < len(names):
        return Choice(None, source, "its files are not on this machine" if names else "it has no files")
    plain = _plain(source, _folder(names))
    columns_there = pa.schema([(field.name, as_spark(field.type) or field.type) for field in schema])
    files = Files(plain, tuple(paths), columns_there, Shape(), columns_there, layout_of(plain))
    try:
        files = files.shaped(Shape.of(source))
    except ConfigError:
        if source.reader == "files":
            raise
        return Choice(None, source, "only Spark knows where or select")
    choice = choose_reader(plain, settings, columns, files)
    return choice if choice.files is not None else Choice(None, source, choice.why)


def _plain(source: Source, folder: str) -> Source:
    """A source of only the files of a table."""
    return evolve(source, format="parquet", path=folder, table=None, catalog={}, options={})


def _folder(names: Sequence[str]) -> str:
    """The folder that contains all files."""
    return os.path.commonpath([os.path.dirname(name) for name in names]) if names else ""  # noqa: PTH120 - or an address


def _spark_schema(schema: Any) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)
