"""The second table of a job's query, a source beside `[source]`: `query.rules` of a query that takes rules."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from skyband.config.parameters import build
from skyband.errors import ConfigError, PluginError, Problem
from skyband.job.engine import Engine
from skyband.job.model import Source
from skyband.job.sources.source_files import open_files

if TYPE_CHECKING:
    import pyarrow as pa

    from skyband.queries.query import Query

_OF_THE_ROWS = ("stream", "finish", "idle_after", "reader")
"""Keys of the source of the rows that hold for this one too."""


def broadcast_key(table: Any) -> str | None:
    """The key of a query's table that names its second source; None where its kind has none, or it names none."""
    from skyband.queries import load_query

    try:
        key = load_query(table["kind"], table.get("distribution")).broadcast
    except (ConfigError, PluginError, KeyError, TypeError, AttributeError):
        return None  # told as the query's own problem
    return key if key is not None and key in table else None


def broadcast_source(table: Mapping[str, Any], key: str) -> Source:
    """The second source of a query. Raises ConfigError where it is none."""
    value = table[key]
    if not isinstance(value, Mapping):
        example = '{ path = "rules/", format = "json" }'
        raise ConfigError(Problem("", f"must be a source, such as {key} = {example} (got {value!r:.80})"))
    problems = [Problem(name, "is as [source] has it: drop it") for name in _OF_THE_ROWS if name in value]
    if problems:
        raise ConfigError(*problems)
    return build(Source, value)


def broadcast_problems(source: Source, rows: Source, query: "Query | None", engine: Engine) -> list[Problem]:
    """What is wrong with the second source, `rows` being the first; fields as seen from its key."""
    if rows.stream and not engine.in_process:
        remedy = "call skyband.spark.apply with rules = a stream, list them as `queries`, or run it as a batch"
        return [Problem("", f"jobs on Spark read it beside a batch only: {remedy}")]
    try:
        table = read_broadcast(source)
        if query is not None:
            check_columns(query, table.schema)
    except ConfigError as error:
        return list(error.problems)
    return []


def check_columns(query: "Query", schema: "pa.Schema") -> None:
    """Raise ConfigError where the query takes no second table, or none with these columns."""
    from skyband.errors import InputError
    from skyband.groups.execution import execution_of

    state = execution_of(query).broadcast_state()
    if state is None:
        raise ConfigError(Problem("", f"{query.kind}, as it is asked here, takes none: see its page for what it needs"))
    try:
        state.take(schema.empty_table(), None)
    except InputError as error:
        raise ConfigError(Problem("", str(error))) from error


def read_broadcast(source: Source) -> "pa.Table":
    """All its rows. Raises ConfigError where they cannot be read in this process."""
    import pyarrow as pa

    opened = open_files(source)
    if opened is None:
        message = "is read in this process: files of this machine, or a table of an installed format"
        raise ConfigError(Problem("", f"{message} (got {source.format!r} at {source.path or source.table!r})"))
    batches = opened.batches(opened.schema.names, refuse=None)
    return pa.Table.from_batches(list(batches), schema=opened.schema)
