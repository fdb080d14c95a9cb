"""Tables that Spark reads without a connector of its own: their plain files, found through their log."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import evolve

from skyband.errors import ConfigError, EngineError
from skyband.job.model import Sink, Source, local_path
from skyband.job.sources.source_files import Files, layout_of
from skyband.job.sources.where_and_select import Shape
from skyband.job.spark.python_file_reader import Choice, as_spark, choose_reader, file_frame, settings_of
from skyband.job.table_location import in_process, keys_of


def is_ours(session: Any, table: Source | Sink) -> bool:
    """Whether a table is read or written in this process, by a plugin's format, and not by a connector of Spark's."""
    return in_process(table, lambda name: str(session.conf.get(name, ""))) is not None


def table_frame(session: Any, source: Source, columns: Iterable[str] | None = None) -> tuple[Any, Choice]:
    """The rows of a table as it is now, as a DataFrame, and who reads its files: `rest` of it is still to do.

    Raises EngineError for a stream, which only a connector reads, ConfigError where the table is more than its files.
    """
    if source.stream:
        raise EngineError(
            f"Spark reads a stream from {source.format} with its connector only: configure it under [spark], read the "
            "table as a batch (source.stream = false), or use --engine local"
        )
    bound = in_process(source)
    assert bound is not None, source.format
    try:
        table = bound.read(keys_of(source))
        names = table.plain_files()
    except ConfigError as error:
        raise ConfigError(*(one.within("source") for one in error.problems)) from error
    plain = evolve(source, format="parquet", path=_folder(names), table=None, catalog={}, options={})
    choice = _choice(source, names, table.schema, settings_of(session, plain), columns)
    if choice.files is not None:
        return file_frame(session, choice, columns), choice
    schema = _spark_schema(table.schema)
    return session.read.schema(schema).parquet(*names) if names else session.createDataFrame([], schema), choice


def table_choice(source: Source, settings: Mapping[str, str], columns: Iterable[str]) -> Choice | None:
    """Who will read the files of a table on Spark; None where that is a connector's, or there is none to read.

    settings: those of the session, as far as they are known.
    """
    bound = in_process(source, lambda name: str(settings.get(name, "")))
    if bound is None or source.stream:
        return None
    try:
        table = bound.read(keys_of(source))
        return _choice(source, table.plain_files(), table.schema, settings, columns)
    except ConfigError:  # which a run tells
        return None


def _choice(
    source: Source, names: Sequence[str], schema: Any, settings: Mapping[str, Any], columns: Iterable[str] | None
) -> Choice:
    """Who reads the files that a table consists of: as those of a folder of Parquet files, in its own order.

    Raises ConfigError where `source.reader` says "files" and they cannot be read so.
    """
    import pyarrow as pa

    paths = [path for path in map(local_path, names) if path is not None and path.exists()]
    if not paths or len(paths) < len(names):
        return Choice(None, source, "its files are not of this machine" if names else "it has no files")
    plain = evolve(source, format="parquet", path=_folder(names), table=None, catalog={}, options={})
    columns_there = pa.schema([(field.name, as_spark(field.type) or field.type) for field in schema])
    files = Files(plain, tuple(paths), columns_there, Shape(), columns_there, layout_of(plain))
    try:
        files = files.shaped(Shape.of(source))
    except ConfigError:
        if source.reader == "files":
            raise
        return Choice(None, source, "where or select is known to Spark only")
    choice = choose_reader(plain, settings, columns, files)
    return choice if choice.files is not None else Choice(None, source, choice.why)


def _folder(names: Sequence[str]) -> str:
    """The folder that all files are in."""
    return os.path.commonpath([os.path.dirname(name) for name in names]) if names else ""  # noqa: PTH120 - or an address


def _spark_schema(schema: Any) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)
