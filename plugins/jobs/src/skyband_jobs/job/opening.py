"""Opens a job's source once, for its check and for the run: its columns, rows and SQL."""

from typing import TYPE_CHECKING

from attrs import evolve, frozen
from skyband.errors import ConfigError, InputError, Problem

from skyband_jobs.files.file_listing import is_pattern
from skyband_jobs.files.source_files import Files, open_all_columns
from skyband_jobs.files.table_source import Table
from skyband_jobs.tables.model import Source, file_path
from skyband_jobs.tables.store_paths import OutOfReachError

if TYPE_CHECKING:
    import pyarrow as pa
    from skyband.queries.query import Query

    from skyband_jobs.files.where_and_select import Shape


@frozen
class OpenSource:
    """What this process knows of a source before reading it."""

    schema: "pa.Schema | None" = None
    """Its columns after `where` and `select`; None where only Spark knows them."""
    rows: Files | Table | None = None
    """The open source; None where only Spark reads it, or a stream has no file yet."""


def parse_sql(source: Source, knows_all_sql: bool) -> "Shape | None":
    """Parse `where` and `select`; None where Skyband cannot, and the engine knows all SQL.

    Raises ConfigError where the engine does not.
    """
    from skyband_jobs.files.where_and_select import Shape

    try:
        return Shape.of(source)
    except ConfigError:
        if not knows_all_sql:
            raise
    return None


def open_source(source: Source, shape: "Shape", knows_all_sql: bool) -> OpenSource:
    """Open a source as far as this process can. Raises ConfigError where it cannot be read this way."""
    from skyband_jobs.files.where_and_select import OnlySparkError

    try:
        return _opened(source, shape)
    except OutOfReachError:
        if not knows_all_sql or source.reader == "files":
            raise
        return OpenSource()
    except OnlySparkError:
        if not knows_all_sql:
            raise
    if source.where is None:
        return OpenSource()
    try:
        unfiltered = evolve(source, where=None)
        return evolve(_opened(unfiltered, evolve(shape, where=None)), rows=None)
    except OnlySparkError:
        return OpenSource()


def _opened(source: Source, shape: "Shape") -> OpenSource:
    from skyband_jobs.tables.spark_ddl import parse_ddl

    try:
        rows = open_all_columns(source)
    except ConfigError:
        if source.stream and source.schema is not None and not _is_missing(source):
            return OpenSource(shape.schema(parse_ddl(source.schema)))  # a stream may start with an empty folder
        raise
    if rows is not None:
        rows = rows.shaped(shape)
        return OpenSource(_in_known_zones(rows.schema), rows)
    if source.format in ("csv", "json") and source.schema is not None:
        return OpenSource(shape.schema(parse_ddl(source.schema)))
    return OpenSource()


def first_rows_problems(opened: OpenSource, query: "Query") -> list[Problem]:
    """Problems with the first rows of text, which has no types: often a header option that was forgotten.

    None where the query counts such rows as bad rows, even if it is all of them.
    """
    from skyband.queries.query import FAIL

    if query.bad_rows != FAIL or not isinstance(opened.rows, Files):
        return []
    try:
        if opened.rows.layout is None or not opened.rows.shape.is_plain:
            next(iter(opened.rows.batches(query.columns)), None)
    except InputError as error:
        return [_blamed(error)]
    return []


def _blamed(error: InputError) -> Problem:
    """A row's problem under the key to change: that of an expression, else the source's path."""
    from skyband_jobs.files.where_and_select import ExpressionError

    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ExpressionError):
        cause = cause.__cause__
    return Problem("source.path" if cause is None else f"source.{cause.place}", str(error))


def _in_known_zones(schema: "pa.Schema") -> "pa.Schema":
    """Raise ConfigError where a column has a time zone that this machine does not know."""
    import pyarrow as pa

    for field in schema:
        zone = field.type.tz if pa.types.is_timestamp(field.type) else None
        try:
            if zone is not None:
                pa.lib.string_to_tzinfo(zone)
        except (KeyError, ValueError, OSError) as error:  # zoneinfo's own error is a KeyError
            message = f"column {field.name!r} is in the time zone {zone!r}, which is unknown here: write it in UTC"
            raise ConfigError(Problem("path", message)) from error
    return schema


def _is_missing(source: Source) -> bool:
    path = file_path(source.path or "")
    return path is not None and not is_pattern(path) and not path.exists()
