"""The model of a job: the tables of its file as classes whose fields are the keys."""

import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import NOTHING, define, evolve, field, fields, frozen
from attrs.converters import optional
from skyband.config.durations import Duration, clock_problem, parse, parsed
from skyband.config.literals import literal
from skyband.config.parameters import build, checked, choice, flag
from skyband.errors import ConfigError, Problem, SkybandError, suggest
from skyband.registry.info import ENGINE_FORMATS, FILE_FORMATS
from skyband.registry.install_hints import known_formats

from skyband_jobs.formats import format_named, names_of_formats
from skyband_jobs.tables.spark_ddl import parse_ddl
from skyband_jobs.tables.store_paths import store_path

if TYPE_CHECKING:
    from skyband.queries.query import Query

MODES = ("append", "errorifexists", "ignore", "overwrite")
READERS = ("auto", "files", "spark")
SHAPING = ("explode", "where", "select")
"""The keys of a source that change its rows and columns, in the order they apply."""
AVAILABLE_NOW = "available-now"

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


def _format_problem(value: Any) -> str | None:
    if not isinstance(value, str) or not value:
        return f"must be the name of a format, such as parquet (got {literal(value)})"
    if value in ENGINE_FORMATS:
        return None
    formats = {*ENGINE_FORMATS, *known_formats(), *names_of_formats()}
    # Spark's plugins have formats too, so only names close to a known one count as typos.
    if value not in formats and difflib.get_close_matches(value.lower(), formats, 1, 0.75):
        return f"unknown format {value!r}; {suggest(value.lower(), formats)}"
    return None


def _text_problem(value: Any) -> str | None:
    return None if isinstance(value, str) and value else f"must be text (got {literal(value)})"


MOST_BYTES, MOST_BYTES_A_NAME = 1000, 255
"""Limits of a path, and of one name in it: what usual file systems hold, with room for the job's folder."""


def _path_problem(value: Any) -> str | None:
    if _text_problem(value) is not None:
        return _text_problem(value)
    if "\0" in value:
        return f"must be text without a NUL character (got {literal(value)})"
    sizes = [len(name.encode(errors="replace")) for name in value.split("/")]
    if sum(sizes) + len(sizes) > MOST_BYTES or max(sizes) > MOST_BYTES_A_NAME:
        message = f"at most {MOST_BYTES:,} bytes, {MOST_BYTES_A_NAME} between two slashes"
        return f"must be {message} (got {sum(sizes) + len(sizes) - 1:,} and {max(sizes):,}: {value!r:.80}…)"
    return None


def _schema_problem(value: Any) -> str | None:
    if not isinstance(value, str):
        return f'must be columns and types, such as "ts TIMESTAMP, client STRING" (got {literal(value)})'
    try:
        parse_ddl(value)
    except ValueError as error:
        return str(error)
    return None


def _select_problem(value: Any) -> str | None:
    if isinstance(value, tuple) and value and all(isinstance(entry, str) and entry for entry in value):
        return None
    return f'must be SQL expressions, such as ["CAST(value AS STRING) AS client"] (got {literal(value)})'


def _spine_problem(value: Any) -> str | None:
    if isinstance(value, Mapping) and "spine" not in value:
        return None
    example = '{ path = "labels/", format = "parquet" }'
    return f"must be a source, such as spine = {example} (got {literal(value)})"


def _options_problem(value: Any) -> str | None:
    if not isinstance(value, Mapping):
        return f"must be a table such as {{ header = true }} (got {literal(value)})"
    wrong = [name for name, entry in value.items() if not isinstance(entry, str | int | float | bool)]
    return f"{wrong[0]}: must be text, a number, true or false (got {literal(value[wrong[0]])})" if wrong else None


def namespace_problem(value: Any) -> str | None:
    """The problem with the name of a table in a catalogue, or None."""
    namespace, _, name = value.rpartition(".") if isinstance(value, str) else ("", "", "")
    return None if namespace and name else f"must be a name in a namespace, such as db.answers (got {literal(value)})"


def _trigger_problem(value: Any) -> str | None:
    if value == AVAILABLE_NOW:
        return None
    try:
        parse(value)
    except ValueError:
        return f'must be "{AVAILABLE_NOW}" or a duration such as "10 seconds" (got {literal(value)})'
    return clock_problem(value)


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else (value,) if isinstance(value, str) else value


def _text(default: Any = NOTHING, *, help: str) -> Any:
    return checked(default, type="str", check=_text_problem, help=help)


def _path(default: Any = NOTHING, *, help: str) -> Any:
    return checked(default, type="str", check=_path_problem, help=help)


def _table() -> Any:
    message = 'for format = "table" and formats with a catalogue: the table\'s name there, such as db.answers'
    return checked(None, type="str", check=_text_problem, help=f"{message}; for databases, as the database names it")


def _url() -> Any:
    return _text(None, help="for databases: where the database is, such as ${BOARD_URL}; never shown")


def _catalog() -> Any:
    message = "for formats with a catalogue: its properties; files and folders are relative to the job file"
    return checked(
        {},
        type="table",
        check=_options_problem,
        help=f'{message}, as in {{ uri = "sqlite:///lake.db", warehouse = "lake/" }}',
    )


def _distribution() -> Any:
    return _text(None, help="the distribution of the format, if two installed ones have a format of this name")


def _options(and_then: str = "") -> Any:
    message = f"further options, passed on to Spark{and_then}"
    return checked({}, type="table", check=_options_problem, help=message)


@define
class Source:
    """Where the rows come from."""

    format: str = checked(type="str", check=_format_problem, help="parquet, csv, json, or any other source of Spark")
    path: str | None = _path(None, help="a file, folder or pattern; relative to the job file")
    stream: bool = flag(False, help="read it as a stream, which continues as files or messages arrive")
    schema: str | None = checked(
        None, type="ddl", check=_schema_problem, help='columns and types, such as "ts TIMESTAMP, client STRING"'
    )
    explode: str | None = _text(
        None, help="a column of lists of structs: each element becomes a row, its fields the columns, as for GeoJSON"
    )
    where: str | None = _text(
        None, help="an SQL condition on the columns read: only rows for which it is true are kept"
    )
    select: tuple[str, ...] | None = checked(
        None,
        type="expressions",
        check=_select_problem,
        converter=_as_tuple,
        help="SQL expressions for the columns, applied to the rows that `where` keeps",
    )
    finish: bool = flag(
        False, help="once everything is read, treat it as complete and answer the last windows too; later rows are late"
    )
    idle_after: Duration | None = checked(
        None,
        type="duration",
        check=clock_problem,
        converter=optional(parsed),
        help="after this long without rows, time follows the clock, so that the last windows are answered",
    )
    spine: Mapping[str, Any] | None = checked(
        None,
        type="source",
        check=_spine_problem,
        help="a second table of moments for a query with `asks`: each is answered with the features just before it",
    )
    reader: str = choice(
        *READERS,
        default="auto",
        help="on Spark, what reads files: Python where the rows are packed, as on the local engine, or Spark",
    )
    table: str | None = _table()
    url: str | None = _url()
    catalog: Mapping[str, Any] = _catalog()
    distribution: str | None = _distribution()
    options: Mapping[str, Any] = _options()

    @property
    def of_files(self) -> bool:
        """Whether it is read from files."""
        return self.format in FILE_FORMATS

    @property
    def spine_source(self) -> "Source | None":
        """The source of the moments, a stream if this is one. Raises ConfigError where its keys are wrong."""
        if self.spine is None:
            return None
        theirs = [name for name in ("stream", "finish", "idle_after") if name in self.spine]
        if theirs:
            raise ConfigError(*(Problem(name, "is taken from [source]: remove it") for name in theirs))
        return build(Source, {**self.spine, "stream": self.stream})


@define
class Sink:
    """Where the answers go."""

    format: str = checked(
        type="str", check=_format_problem, help="parquet, csv, json, console, or another sink of Spark"
    )
    path: str | None = _path(None, help="the folder for the answers; relative to the job file")
    checkpoint: str | None = _path(
        None, help="the folder from which a stopped stream resumes; relative to the job file"
    )
    mode: str | None = choice(*MODES, default=None, help="what to do if there are already answers")
    trigger: str | None = checked(
        None, type="trigger", check=_trigger_problem, help=f'"{AVAILABLE_NOW}" or a duration: when micro-batches start'
    )
    url: str | None = _url()
    table: str | None = _table()
    catalog: Mapping[str, Any] = _catalog()
    distribution: str | None = _distribution()
    options: Mapping[str, Any] = _options("; CSV files start with the column names unless `header = false`")

    @property
    def with_defaults(self) -> Mapping[str, Any]:
        """The options, with a header line in CSV files unless they say otherwise."""
        names_header = any(name.lower() == "header" for name in self.options)
        return {"header": True, **self.options} if self.format == "csv" and not names_header else self.options

    @property
    def of_files(self) -> bool:
        """Whether it is written to files."""
        return self.format in FILE_FORMATS


@define
class KeyedSink(Sink):
    """A sink that holds the newest answers: a row replaces the one with its key, and is deleted with its answer."""

    key: tuple[str, ...] = field(default=(), kw_only=True)
    """The columns that identify a row, including those of `by`."""

    @classmethod
    def of(cls, sink: Sink, key: tuple[str, ...]) -> "KeyedSink":
        """A job's sink, for answers that these columns identify."""
        return cls(**{entry.name: getattr(sink, entry.name) for entry in fields(Sink)}, key=key)


@frozen
class Job:
    """The tables of a job, with absolute paths."""

    name: str
    source: Source
    query: "Query"
    backends: Mapping[str, Any]
    """By role, a name or a table: from --set, the job file, or the job file's Spark settings, in this order."""
    sink: Sink
    spark: Mapping[str, str]
    shards: int | None
    bad_rows: Sink | None = field(default=None, kw_only=True)
    """Where rows go that the query cannot take, if they are kept."""
    late_rows: Sink | None = field(default=None, kw_only=True)
    """Where rows go that arrive after the watermark, if they are kept."""
    broadcast: Source | None = field(default=None, kw_only=True)
    """The second table of the query, whose rows are the questions, if it has one."""
    limits: Mapping[str, Any] = field(factory=dict, kw_only=True)
    """By role, the limits in the job file by which its entry in `backends` was chosen."""
    own: Mapping[str, Any] = field(factory=dict, kw_only=True)
    """By name, the tables that engines add, built: all those of this engine, and others that the file has."""
    metrics: str | None = field(default=None, kw_only=True)
    """A loopback port, or a file, where Prometheus finds the metrics of the run."""

    @property
    def second(self) -> tuple[str, Source] | None:
        """The other source of a stream, and the key that names it: the query's second table, if that is a stream, or a
        spine. None if it has only one."""
        if self.broadcast is not None and self.broadcast.stream:
            return f"query.{self.query.broadcast}", self.broadcast
        spine = self.source.spine_source if self.source.stream else None
        return None if spine is None else ("source.spine", spine)


def option_text(value: Any) -> str:
    """An option's value in Spark's notation."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def placed(table: Any, folder: Path) -> Any:
    """A Source or Sink with its paths resolved against `folder`."""
    names = [name for name in ("path", "checkpoint") if getattr(table, name, None)]
    changes: dict[str, Any] = {name: absolute(getattr(table, name), folder) for name in names}
    spine = getattr(table, "spine", None)
    if spine is not None and isinstance(spine.get("path"), str):
        changes["spine"] = {**spine, "path": absolute(spine["path"], folder)}
    if getattr(table, "url", None) is not None:
        changes |= _placed(table, {"url": table.url}, folder)
    return evolve(table, catalog=_placed(table, table.catalog, folder), **changes)


def _placed(table: Any, properties: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
    """A catalogue's properties with paths resolved against `folder`, if the format that knows them is installed."""
    if not properties:
        return {}
    try:
        bound = format_named(table.format, table.distribution)
        return properties if bound is None else bound.absolute(properties, folder)
    except SkybandError:  # reported when the table is checked
        return properties


def local_path(path: str) -> Path | None:
    """The path on this machine, or None where it is elsewhere."""
    if path.startswith("file:"):
        return Path("/" + path.removeprefix("file:").lstrip("/"))
    return None if _SCHEME.match(path) else Path(path)


def file_path(path: str) -> Path | None:
    """The path of files that this process may be able to read, on this machine or in a store; else None."""
    return local_path(path) or store_path(path)


def absolute(path: str, folder: Path) -> str:
    """A job's path resolved against the job's folder; paths elsewhere are unchanged."""
    return path if _SCHEME.match(path) else str(folder.absolute() / path)
