"""The table of a job's source or sink: its keys as its format sees them, and problems with them."""

from collections.abc import Callable

from skyband.errors import ConfigError, EngineError, PluginError, Problem
from skyband.registry.install_hints import format_comes_with

from skyband_jobs.formats import InstalledFormat, TableKeys, format_named, names_of_formats
from skyband_jobs.tables.model import KeyedSink, Sink, Source, local_path, namespace_problem, option_text
from skyband_jobs.tables.spark_ddl import parse_ddl

SPARK_TABLE = "table"
"""The format of tables that Spark's own catalogues know by name."""


def place_key(table: Source | Sink) -> str:
    """The key that says where a job's table is."""
    return "path" if table.table is None else "table"


def place_of(table: Source | Sink) -> str:
    """The value of that key."""
    return str(getattr(table, place_key(table)) or table.format)


def format_of(table: Source | Sink) -> InstalledFormat | None:
    """The plugin's format of a job's source or sink; None for formats that engines know themselves.

    Raises PluginError where it is not usable, or two distributions claim it and the job does not choose one.
    """
    return format_named(table.format, table.distribution)


def keys_of(table: Source | Sink) -> TableKeys:
    """The keys of a source or sink as its format takes them."""
    path = None if table.path is None else local_path(table.path)
    schema = table.schema if isinstance(table, Source) else None
    return TableKeys(
        path=table.path if path is None else str(path),
        table=table.table,
        catalog={name: option_text(value) for name, value in table.catalog.items()},
        options={name: option_text(value) for name, value in table.options.items()},
        schema=None if schema is None else parse_ddl(schema),
        stream=isinstance(table, Source) and table.stream,
        writes=isinstance(table, Sink),
        url=table.url,
        key=table.key if isinstance(table, KeyedSink) else (),
    )


def in_process(table: Source | Sink, setting: Callable[[str], str] = lambda _: "") -> InstalledFormat | None:
    """The format that reads or writes a job's table in this process; None where an engine does it itself.

    setting: of the Spark session, by name.
    """
    bound = format_of(table)
    if bound is None or ability_of(table) not in bound.info.can:
        return None
    return bound if bound.in_process(keys_of(table), setting) else None


def location_problems(table: Source | Sink, on_spark: bool) -> list[Problem]:
    """A format's problems with a source's or sink's keys; for other formats, keys that only such a format has."""
    if isinstance(table, KeyedSink) and table.format not in names_of_formats("current"):
        return [_adds_only(table)]
    if table.format == SPARK_TABLE:
        return _of_spark_table(table)
    try:
        bound = format_of(table)
        if bound is not None and ability_of(table) in bound.info.can:
            return bound.check(keys_of(table), on_spark)
    except (EngineError, PluginError) as error:
        return [Problem("format", str(error))]
    except ConfigError as error:
        return list(error.problems)
    keys = [name for name in ("url", "table", "catalog") if getattr(table, name, None)]
    home = format_comes_with(table.format)
    if bound is None and home and (keys or not on_spark):
        return [Problem("format", f"{table.format} is not installed{home}")]
    problems = [Problem(name, f"{_home(name, bound)}: remove it (got format {table.format!r})") for name in keys]
    if bound is None and table.distribution is not None:
        message = f"is only for formats that plugins bring: remove it (got format {table.format!r})"
        problems.append(Problem("distribution", message))
    return problems


def _home(key: str, bound: InstalledFormat | None) -> str:
    if bound is not None:
        return f"is not a key of {bound.name}"
    return "is only for databases" if key == "url" else "is only for formats with a catalogue"


def _adds_only(sink: KeyedSink) -> Problem:
    """A sink that cannot hold the newest answers; names those that can."""
    comes_with = format_comes_with(sink.format)
    if comes_with and sink.format not in names_of_formats():
        return Problem("format", f"{sink.format} is not installed{comes_with}")
    able = ", ".join(names_of_formats("current"))
    elsewhere = f"write to {able}" if able else "install a format that can"
    message = f"{sink.format} only adds rows, so it cannot hold the newest answers"
    return Problem("format", f'{message}: {elsewhere}, or set query.answers = "changes", a log of them')


def _of_spark_table(table: Source | Sink) -> list[Problem]:
    """Problems with a table of Spark's catalogues; an engine without such tables says so itself."""
    problems = [] if table.table is not None else [Problem("table", "is required: its name, such as main.sales.orders")]
    if table.table is not None and (wrong := namespace_problem(table.table)):
        problems.append(Problem("table", wrong))
    remedies = {
        "url": "is only for databases: remove it",
        "path": "is set by the catalogue: remove it",
        "catalog": 'belongs in Spark\'s settings, such as [spark] "spark.sql.catalog.main" = "…": remove it',
        "schema": "is the table's own: remove it",
        "distribution": "is only for formats that plugins bring: remove it",
    }
    return problems + [Problem(name, remedy) for name, remedy in remedies.items() if getattr(table, name, None)]


def ability_of(table: Source | Sink) -> str:
    """The ability that a job's source or sink needs of its format."""
    if isinstance(table, KeyedSink):
        return "current"
    return "writes" if isinstance(table, Sink) else "reads"
