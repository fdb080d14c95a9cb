"""Locates the answers to draw: the sink of a job, or a table by its path. Only their files are read."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
from attrs import frozen
from skyband.config.literals import literal
from skyband.errors import ConfigError, Problem, problems_within
from skyband_jobs.files.file_listing import data_files
from skyband_jobs.files.source_files import READABLE, open_files
from skyband_jobs.files.text_files import beyond_readers
from skyband_jobs.formats import format_at, names_of_formats
from skyband_jobs.job.job_error import JobError
from skyband_jobs.local.sink import QUERY
from skyband_jobs.programs.parsing import read_sink
from skyband_jobs.tables.model import Sink, Source, local_path, option_text
from skyband_jobs.tables.table_location import in_process, keys_of, location_problems

_SUFFIXES = {".parquet": "parquet", ".csv": "csv", ".json": "json", ".jsonl": "json", ".arrow": "arrow"}


@frozen
class Answered:
    """A local table of answers.

    name: its name. kind: of the query, if it is a job's or its files name it. by: the grouping columns, if known.
    argument: the parameter with its location, for errors.
    """

    name: str
    kind: str | None
    by: tuple[str, ...]
    source: Source
    argument: str

    def read(self) -> pa.Table:
        """Its current rows. Raises ConfigError if there are none, InputError if a file is damaged."""
        with problems_within(self.argument):
            files = open_files(self.source)
        if files is None:
            beyond = beyond_readers(self.source)
            raise ConfigError(Problem(f"sink.options.{beyond}", "is for Spark only: remove it to draw its answers"))
        return pa.Table.from_batches(files.batches(files.schema.names), files.schema)

    def version(self) -> tuple[object, ...]:
        """A value that changes with new answers: a table's version, or the files with sizes and times. Empty: none."""
        bound = in_process(self.source)
        if bound is not None:
            version = bound.read(keys_of(self.source)).version
            return () if version is None else (version,)
        files = []
        for path in data_files(Path(str(self.source.path))):
            stat = path.stat()
            files.append((path.name, stat.st_size, stat.st_mtime_ns))
        return tuple(files)


def answers_at(place: str, sets: Iterable[str] = ()) -> Answered:
    """The sink of the job in a TOML file, changed by `sets`, or the table at a path.

    Raises JobError or ConfigError if there is none, or it cannot be read.
    """
    if Path(place).suffix != ".toml":
        if tuple(sets):
            raise ConfigError(Problem("--set", f"changes a job, and {place!r} is a table"))
        source = _source(_format_at(Path(place)), place, "table")
        return Answered(Path(place).resolve().name, _query_of(source), (), source, "table")
    name, query, sink = read_sink(place, sets)
    try:
        if query.gives_states:
            message = "emits states, and only answers are drawn: `skyband ask` answers windows of states"
            raise ConfigError(Problem("query.emit", message))
        options = dict(sink.with_defaults) if sink.format == "csv" else {}
        if any(name.lower() == "header" and option_text(value) != "true" for name, value in options.items()):
            message = "is false, so its files do not name their columns: remove it to draw the job"
            raise ConfigError(Problem("sink.options.header", message))
        source = (
            _tabled(sink)
            if sink.format in names_of_formats("reads")
            else _source(sink.format, sink.path, "sink", options)
        )
    except ConfigError as error:
        raise JobError(place, *error.problems) from error
    return Answered(name, query.kind, query.by, source, "sink")


def _query_of(source: Source) -> str | None:
    """The query named in the files of a table; the local engine writes it to Parquet files."""
    if source.format != "parquet":
        return None
    from skyband_jobs.files.columnar_files import footer_of

    with suppress(OSError, pa.ArrowException):  # an unreadable file is reported when its rows are read
        metadata = footer_of(data_files(Path(str(source.path)))[0]).metadata or {}
        return metadata.get(QUERY.encode(), b"").decode(errors="replace") or None
    return None


def _source(format: str, path: str | None, field: str, options: dict[str, object] | None = None) -> Source:
    readable = (*READABLE, *names_of_formats("reads"))
    if format not in readable:
        message = f"answers can be read from files of {', '.join(readable)} (got {literal(format)})"
        raise ConfigError(Problem(f"{field}.format", f"{message}: write them there, or pass their table"))
    local = None if path is None else local_path(path)
    if local is None:
        raise ConfigError(Problem(f"{field}.path", f"only local files are read (got {path!r})"))
    header = {"header": True} if format == "csv" else {}
    source = Source(format=format, path=str(local.absolute()), options=options or header)
    return source if format in READABLE else _checked(source, field)


def _tabled(sink: Sink) -> Source:
    """The source for a sink in a plugin's format."""
    if sink.path is not None and local_path(sink.path) is None:
        raise ConfigError(Problem("sink.path", f"only local files are read (got {sink.path!r})"))
    keys = {
        name: getattr(sink, name) for name in ("format", "path", "table", "url", "catalog", "options", "distribution")
    }
    return _checked(Source(**keys), "sink")


def _checked(source: Source, field: str) -> Source:
    """The source, checked by its format. Raises ConfigError under `field`."""
    wrong = location_problems(source, on_spark=False)
    if wrong:
        raise ConfigError(*(problem.within(field) for problem in wrong))
    return source


def _format_at(path: Path) -> str:
    """The format of the files at a path, by their names."""
    if not path.exists():
        raise ConfigError(Problem("table", f"{str(path)!r} does not exist"))
    tabled = format_at(path)
    if tabled is not None:
        return tabled
    for file in data_files(path):
        formats = [_SUFFIXES[suffix] for suffix in file.suffixes if suffix in _SUFFIXES]
        if formats:
            return formats[-1]
    message = f"{str(path)!r} contains no file that ends in {', '.join(_SUFFIXES)}"
    raise ConfigError(Problem("table", f"{message}; the name of a job must end in .toml"))
