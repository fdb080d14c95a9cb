"""The rows of a job's source as a DataFrame of Spark, shaped by `where` and `select`."""

from collections.abc import Sequence
from typing import Any

from skyband.errors import ConfigError, InputError, Problem
from skyband_jobs.files.source_files import Files, open_files
from skyband_jobs.files.table_source import Table
from skyband_jobs.files.where_and_select import OnlySparkError
from skyband_jobs.job.checked_job import CheckedJob
from skyband_jobs.tables.model import Source, option_text

from skyband_spark import catalog_table
from skyband_spark.errors import sql_of
from skyband_spark.reading.plain_files_of_tables import is_ours, table_frame
from skyband_spark.reading.python_file_reader import choose_reader, file_frame, loaded_path, settings_of


def source_frame(session: Any, job: CheckedJob) -> Any:
    """The DataFrame of a job's source."""
    return open_source(session, job)[0]


def open_source(session: Any, job: CheckedJob) -> tuple[Any, str | None]:
    """The DataFrame of a job's source, and the reader of its files, if there is a choice."""
    rows, columns = rows_to_read(job)
    frame, reader = _open(session, job.source, columns, rows)
    spine = job.source.spine_source
    if spine is None:
        return frame, reader
    from skyband_expressions.spine import with_spine  # on use, as few jobs have one

    try:
        return with_spine(frame, _open(session, spine)[0], job.query), reader
    except InputError as error:
        raise ConfigError(Problem("source.spine", error.message)) from error


def rows_to_read(job: CheckedJob) -> tuple[Files | Table | None, Sequence[str] | None]:
    """The open source of a job without its spine, and the columns to read; None for all."""
    if job.source.spine is None:
        return job.rows, job.query.columns
    from skyband_jobs.job.spine_rows import SpineRows  # on use, as few jobs have one

    return (job.rows.rows, job.rows.union.of_rows) if isinstance(job.rows, SpineRows) else (None, None)


def second_table(session: Any, job: CheckedJob) -> Any:
    """The second table of a job's query: a streaming DataFrame, or all its rows; None if there is none.

    Raises ConfigError if it cannot be read.
    """
    from skyband_jobs.running.broadcast import all_columns, of_second, read_broadcast

    if job.broadcast is None:
        return None
    try:
        if not job.broadcast.stream and _is_read_here(all_columns(job.broadcast, job.query)):
            return read_broadcast(job.broadcast, job.query)
        return _open(session, all_columns(job.broadcast, job.query))[0]
    except ConfigError as error:
        raise ConfigError(*(one.within(f"query.{job.query.broadcast}") for one in of_second(error.problems))) from error


def _is_read_here(source: Source) -> bool:
    """Whether this process can read all of a source, including its `where` and `select`."""
    try:
        return open_files(source) is not None
    except OnlySparkError:
        return False


def _open(
    session: Any, source: Source, columns: Sequence[str] | None = None, rows: Files | Table | None = None
) -> tuple[Any, str | None]:
    if is_ours(session, source):
        frame, choice = table_frame(session, source, columns)
        return shaped(frame, choice.rest), str(choice)
    if catalog_table.is_named(source):
        return shaped(catalog_table.table_frame(session, source, text_options(source.options)), source), None
    if not source.of_files:
        return shaped(read_by_spark(session, source), source), None
    choice = choose_reader(source, settings_of(session, source), columns, rows)
    if choice.files is None:
        return shaped(read_by_spark(session, source), source), str(choice)
    return shaped(file_frame(session, choice, columns), choice.rest), str(choice)


def spark_defaults(source: Source) -> dict[str, str]:
    """Options with which Spark's own CSV reader behaves most like ours: RFC 4180, and columns by name."""
    if source.format != "csv":
        return {}
    names = {name.lower() for name in source.options}
    defaults = {"escape": '"', "multiLine": "true", "enforceSchema": "false", "nullValue": "\0"}
    return {name: value for name, value in defaults.items() if name.lower() not in names}


def read_by_spark(session: Any, source: Source) -> Any:
    """The rows of a source from Spark's own reader, before `explode`, `where` and `select`."""
    defaults = spark_defaults(source)
    reader = session.read.format(source.format).options(**defaults, **text_options(source.options))
    path = [] if source.path is None else [loaded_path(source)]
    if source.stream:
        schema = source.schema
        if schema is None and source.of_files:
            schema = reader.load(*path).schema  # as a batch, because streams of files do not infer it
        reader = session.readStream.format(source.format).options(**defaults, **text_options(source.options))
        reader = reader.schema(schema) if schema is not None else reader
    elif source.schema is not None:
        reader = reader.schema(source.schema)
    return reader.load(*path)


def shaped(rows: Any, source: Source) -> Any:
    """The rows of `explode`, filtered by `where`, with the columns of `select`."""
    if source.explode is not None:
        with sql_of("source.explode"):
            rows = rows.selectExpr(f"inline(`{source.explode.replace('`', '``')}`)")
    if source.where is not None:
        with sql_of("source.where"):
            rows = rows.where(source.where)
    if source.select is None:
        return rows
    for place, column in enumerate(source.select):
        with sql_of(f"source.select[{place}]"):
            rows.selectExpr(column)
    return rows.selectExpr(*source.select)


def text_options(options: Any) -> dict[str, str]:
    """Options as text, for Spark."""
    return {name: option_text(value) for name, value in options.items()}
