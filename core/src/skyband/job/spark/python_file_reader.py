"""Files that Spark distributes and Python reads, as the local engine does: one reader on every engine.

Spark keeps its log of files, its options for them and its exactly once: it reads their names, not what is in them.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from attrs import evolve

from skyband.errors import ConfigError, Problem
from skyband.job.model import Source, local_path, option_text
from skyband.job.sources.source_files import READABLE, Files, open_files
from skyband.job.sources.spark_ddl import ZONE_SETTING, parse_ddl
from skyband.job.sources.text_files import OPTIONS, beyond_readers
from skyband.job.sources.where_and_select import Shape

_NAMES = "path string, modificationTime timestamp, length long, content binary"
UTC = ("UTC", "Etc/UTC", "GMT", "Z", "+00:00")


def why_spark(source: Source, zone: str | None, master: str | None) -> str | None:
    """Why Spark's own reader is taken for a source; None where the files are read in Python.

    zone: that of the session. master: where Spark runs, None where that is not known yet.
    """
    if source.reader == "spark":
        return 'source.reader = "spark"'
    if source.format not in READABLE or source.path is None or local_path(source.path) is None:
        return f"{source.format} is not read from files of this machine"
    beyond = beyond_readers(source)
    if beyond is not None:
        return f"source.options.{beyond} is known to Spark only"
    if source.format in OPTIONS and zone not in (None, *UTC):
        return f"times are written in the zone {zone}"
    if source.reader == "files":
        return None
    if master is not None and not master.startswith("local"):
        return "executors may be elsewhere"
    return None if source.format in OPTIONS else f"{source.format} is read by Spark unless source.reader says otherwise"


def file_frame(session: Any, source: Source, columns: Iterable[str]) -> tuple[Any, Source] | None:
    """The rows of a source as a DataFrame, and what is left for Spark to do: `where` and `select` in its own SQL.

    None where Spark's reader is to be taken. Raises ConfigError where `source.reader` says "files" and they cannot be.
    """
    why = why_spark(source, session.conf.get(ZONE_SETTING), session.conf.get("spark.master", None))
    if why is None:
        files, left = _files(source)
        if not _in_key_folders(files):
            return _frame(session, files, list(files.schema.names if left.where or left.select else columns)), left
        why = "folders named key=value are columns"
    if source.reader == "files":
        raise ConfigError(Problem("source.reader", f'cannot be "files": {why}'))
    return None


def spark_defaults(source: Source) -> dict[str, str]:
    """Options under which Spark's own reader reads CSV most like the one here: RFC 4180, and names before places."""
    if source.format != "csv":
        return {}
    names = {name.lower() for name in source.options}
    defaults = {"escape": '"', "multiLine": "true", "enforceSchema": "false", "nullValue": "\0"}
    return {name: value for name, value in defaults.items() if name.lower() not in names}


def _files(source: Source) -> tuple[Files, Source]:
    """The files, with `where` and `select` done by the reader where it knows them, else left."""
    plain = evolve(source, where=None, select=None)
    for here, left in ((source, plain), (plain, source)):
        try:
            files = open_files(here)
            if not isinstance(files, Files):
                raise ConfigError(Problem("source.path", "only Spark can read it"))
            return files, left
        except ConfigError as error:
            refusal = error
        if source.stream and source.schema is not None:  # which may begin in an empty folder
            raw = parse_ddl(source.schema)
            try:
                shape = Shape.of(here.where, here.select)
                return Files(here, (), raw, shape, shape.schema(raw), None), left
            except ConfigError as error:
                refusal = error
    raise ConfigError(*(problem.within("source") for problem in refusal.problems)) from refusal


def _in_key_folders(files: Files) -> bool:
    """Whether text lies in folders whose names are columns, which its reader here does not know."""
    above = len(Path(files.source.path or "").parts)
    return files.layout is None and any("=" in part for path in files.paths for part in path.parts[above:-1])


def _frame(session: Any, files: Files, columns: list[str]) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    source = files.source
    known = () if source.format not in OPTIONS else tuple(name.lower() for name in OPTIONS[source.format])
    options = {name: option_text(value) for name, value in source.options.items() if name.lower() not in known}
    reader = session.readStream if source.stream else session.read
    names = reader.format("binaryFile").options(**options).schema(_NAMES).load(source.path).select("path")
    schema = pa.schema([(f"c{place}", _as_spark(files.schema.field(name).type)) for place, name in enumerate(columns)])
    rows = names.mapInArrow(_reader(files, columns, schema), from_arrow_schema(schema))
    return rows.toDF(*columns)


def _reader(
    files: Files, columns: list[str], schema: pa.Schema
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Reads the files whose names come, in a worker of Spark."""

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for name in batch.column(0).to_pylist():
                path = local_path(name)
                assert path is not None
                for rows in evolve(files, paths=(path,)).batches(columns):
                    yield rows.rename_columns(schema.names).cast(schema, safe=False)

    return read


def _as_spark(kind: pa.DataType) -> pa.DataType:
    """The type in which Spark takes it: instants in microseconds, no dictionaries."""
    if pa.types.is_dictionary(kind):
        return _as_spark(kind.value_type)
    return pa.timestamp("us", kind.tz) if pa.types.is_timestamp(kind) else kind
