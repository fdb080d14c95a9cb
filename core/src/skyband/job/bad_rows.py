"""Where a job puts rows that its query cannot take: `query.bad_rows`, a sink beside that of the answers."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import evolve

from skyband.config.parameters import build
from skyband.errors import ConfigError, Problem
from skyband.job.engine import Engine
from skyband.job.model import Job, Sink, Source
from skyband.job.path_overlap import clash, overlaps
from skyband.job.table_location import place_of
from skyband.tables import names_of_formats

if TYPE_CHECKING:
    import pyarrow as pa

    from skyband.queries.query import Query

KEY = "query.bad_rows"
_SINKS = ("checkpoint", "mode", "trigger")
"""Keys of the sink of the answers that hold for this one too."""


def query_keys(table: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a job's query: rows that have a place of their own are counted."""
    named = isinstance(table.get("bad_rows"), Mapping)
    return {**table, **({"bad_rows": "count"} if named else {})}


def bad_rows_sink(tables: Mapping[str, Any]) -> Sink | None:
    """The place that a job's query names; None where it names none. Raises ConfigError where it is none."""
    query = tables.get("query")
    table = query.get("bad_rows") if isinstance(query, Mapping) else None
    if not isinstance(table, Mapping):
        return None
    problems = [Problem(name, "is as [sink] has it: drop it") for name in _SINKS if name in table]
    if problems:
        raise ConfigError(*problems)
    return build(Sink, table)


def problems_of(
    bad: Sink, source: Source, sink: Sink | None, engine: Engine, query: "Query | None", schema: "pa.Schema | None",
    job_file: Path | None,
) -> list[Problem]:  # fmt: skip
    """What is wrong with the place, beside its keys each for itself."""
    if not bad.of_files and bad.format not in names_of_formats("writes"):
        return [Problem(f"{KEY}.format", f"must be of files, or of a plugin's tables (got {bad.format!r})")]
    problems = engine.sink_problems(evolve(bad, checkpoint="beside the answers'"), source.stream)
    if bad.of_files and bad.path is None:
        problems.append(Problem("sink.path", f"is required for {bad.format}: a folder for such rows"))
    problems += overlaps(source, bad, job_file)
    for name, other in () if sink is None else (("path", sink.path), ("checkpoint", sink.checkpoint)):
        if bad.path is not None and other is not None and clash(other, bad.path, bad.format) is not None:
            message = f"{bad.path!r} is, holds or lies in sink.{name}, {other!r}: choose a folder of its own"
            problems.append(Problem("sink.path", message))
    if query is not None and schema is not None and set(query.columns) <= set(schema.names):
        problems += _column_problems(bad, query, schema)
    return [_ours(problem) for problem in problems]


def _column_problems(bad: Sink, query: "Query", schema: "pa.Schema") -> list[Problem]:
    from skyband.job.sources.text_files import unwritable_in_csv
    from skyband.queries.bad_rows import FIELD, REASON, VALUE, bad_rows_schema

    clashing = [name for name in query.columns if name in (REASON, FIELD, VALUE)]
    if clashing:
        return [Problem("", f"the source has a column {clashing[0]!r}, as such rows have: give it another name")]
    return list(unwritable_in_csv(bad_rows_schema(query, schema))) if bad.format == "csv" else []


def as_job(job: Job) -> Job:
    """The job whose answers are the bad rows, for what opens and checks a sink."""
    assert job.bad_rows is not None
    return evolve(job, sink=evolve(job.bad_rows, mode=job.sink.mode), bad_rows=None)


def place(job: Job) -> str | None:
    """Where they go, as a summary says it."""
    return None if job.bad_rows is None else place_of(job.bad_rows)


@contextmanager
def told_of_bad_rows() -> Iterator[None]:
    """What is wrong with the sink, as the place's problem."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(*map(_ours, error.problems)) from error


def _ours(problem: Problem) -> Problem:
    rest = problem.field.removeprefix("sink").removeprefix(".")
    return evolve(problem, field=f"{KEY}.{rest}".rstrip("."))
