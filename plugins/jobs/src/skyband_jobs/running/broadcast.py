"""The second table of a job's query, a source in addition to `[source]`, such as `query.rules`."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from attrs import evolve
from skyband.config.parameters import build
from skyband.errors import ConfigError, InputError, PluginError, Problem

from skyband_jobs.files.file_listing import data_files
from skyband_jobs.files.source_files import open_files
from skyband_jobs.job.checking import open_checked
from skyband_jobs.job.engine import JobEngine
from skyband_jobs.tables.model import Source, local_path

if TYPE_CHECKING:
    import pyarrow as pa
    from skyband.queries.query import Query

_OF_THE_ROWS = ("finish", "idle_after")
"""Keys of `[source]` that also apply to this one."""


def broadcast_key(table: Any) -> str | None:
    """The key of a query's table that names its second source; None where the kind or the job has none."""
    from skyband.queries import load_query

    try:
        key = load_query(table["kind"], table.get("distribution")).broadcast
    except (ConfigError, PluginError, KeyError, TypeError, AttributeError):
        return None  # reported as the query's own problem
    return key if key is not None and key in table else None


def broadcast_source(table: Mapping[str, Any], key: str, stream: bool) -> Source:
    """The second source of a query; stream: whether the first is one. Raises ConfigError where it is malformed."""
    value = table[key]
    if not isinstance(value, Mapping):
        example = '{ path = "rules/", format = "json" }'
        raise ConfigError(Problem("", f"must be a source, such as {key} = {example} (got {value!r:.80})"))
    problems = [Problem(name, "is taken from [source]: remove it") for name in _OF_THE_ROWS if name in value]
    if value.get("stream") is True and not stream:
        problems.append(Problem("stream", "must be false, as in [source]: a batch reads all rows before it starts"))
    if problems:
        raise ConfigError(*problems)
    return build(Source, {"stream": stream, **value})


def broadcast_problems(
    source: Source, query: "Query | None", engine: JobEngine, zone: str | None, schema: "pa.Schema | None"
) -> list[Problem]:
    """Problems with the second source, and with its rows if it is not a stream; fields are relative to its key.

    schema: of the first source, where it could be read.
    """
    source = as_read(source, engine)
    whole = source if query is None else all_columns(source, query)
    if whole is not source and whole.format == source.format and not _is_empty(source):
        whole = source  # look at what its files contain
    opened, problems = open_checked(whole, engine, zone)
    if problems or query is None or opened.schema is None:
        return of_second(problems)
    try:
        table = None if source.stream or opened.rows is None else read_broadcast(source, query)
        return rows_problems(query, opened.schema.empty_table() if table is None else table, schema)
    except ConfigError as error:
        return list(error.problems)
    except InputError as error:  # a row that cannot be read
        return [Problem("", str(error))]


def of_second(problems: Iterable[Problem]) -> list[Problem]:
    """Problems of a source, with fields relative to it."""
    return [evolve(one, field=one.field.removeprefix("source").removeprefix(".")) for one in problems]


def as_read(source: Source, engine: JobEngine) -> Source:
    """A second source as an engine reads it: one of this process whose streams start over reads all of it first."""
    return evolve(source, stream=False) if engine.in_process and not engine.resumes else source


def all_columns(source: Source, query: "Query") -> Source:
    """The second table with all its columns: JSON as lines, which the query parses itself, so that a value of another
    type is a bad row on every engine.

    If a JSON line is not a row as it is, the schema has all columns, as the first files may lack one.
    """
    from skyband.groups.execution import execution_of

    from skyband_jobs.files.text_files import OPTIONS
    from skyband_jobs.tables.spark_ddl import ddl_of

    state = execution_of(query).broadcast_state()
    of_json = {name.lower() for name in OPTIONS["json"]} & {name.lower() for name in source.options}
    shaped = source.schema is not None or source.where is not None or source.select is not None
    if state is not None and source.format == "json" and state.reads_json and not of_json and not shaped:
        return evolve(source, format="text", schema="value STRING" if _is_empty(source) else None)
    if state is None or source.format != "json" or source.schema is not None:
        return source
    return evolve(source, schema=ddl_of(state.schema))


def rows_problems(query: "Query", rows: "pa.Table", schema: "pa.Schema | None") -> list[Problem]:
    """Problems with this second table next to a source of this schema: its columns, and rows that would end the run."""
    from skyband.groups.execution import check_broadcast
    from skyband.queries.query import FAIL

    try:
        refused = check_broadcast(query, rows, schema)
    except ConfigError as error:
        return [evolve(one, field="") for one in error.problems]
    except InputError as error:
        return [Problem("", str(error))]
    return [Problem("", str(error)) for error, _ in refused] if query.bad_rows == FAIL else []


def _is_empty(source: Source) -> bool:
    path = None if source.path is None else local_path(source.path)
    return path is not None and path.exists() and not data_files(path)


def read_broadcast(source: Source, query: "Query") -> "pa.Table":
    """All rows of the second table. Raises ConfigError where they cannot be read in this process."""
    import pyarrow as pa

    opened = open_files(all_columns(source, query))
    if opened is None:
        message = "is read in this process, so it must be files of this machine, or a table of an installed format"
        raise ConfigError(Problem("", f"{message} (got {source.format!r} at {source.path or source.table!r})"))
    batches = opened.batches(opened.schema.names, refuse=None)
    return pa.Table.from_batches(list(batches), schema=opened.schema)
