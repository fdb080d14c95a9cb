"""The sinks for rows that are in no answer: `query.bad_rows` and `query.late_rows`."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import evolve
from skyband.config.literals import literal
from skyband.config.parameters import build
from skyband.errors import ConfigError, Problem
from skyband.queries.query import COUNT

from skyband_jobs.formats import names_of_formats
from skyband_jobs.job.engine import JobEngine
from skyband_jobs.job.path_overlap import clash, overlaps
from skyband_jobs.tables.model import Job, Sink, Source
from skyband_jobs.tables.table_location import place_of

if TYPE_CHECKING:
    import pyarrow as pa
    from skyband.operator.bad_rows import RefuseUnreadable
    from skyband.queries.query import Query

BAD, LATE = "bad_rows", "late_rows"
PLACES = (BAD, LATE)
"""Keys of [query] that may name a sink."""
_SINKS = ("checkpoint", "mode", "trigger")
"""Keys of `[sink]` that also apply to these sinks."""


def key_of(name: str) -> str:
    """The key's full name, for messages."""
    return f"query.{name}"


def query_keys(table: Mapping[str, Any]) -> tuple[dict[str, Any], list[Problem]]:
    """The keys of a job's query without what is the job's, and what is wrong with that; rows with a place are counted.

    `late_rows` is a job's alone: a query counts late rows always.
    """
    late = table.get(LATE, COUNT)
    bad = {BAD: COUNT} if isinstance(table.get(BAD), Mapping) else {}
    wrong = [] if late == COUNT or isinstance(late, Mapping) else [f'must be "{COUNT}" (got {literal(late)})']
    keys = {name: value for name, value in table.items() if name != LATE}
    return {**keys, **bad}, [Problem(LATE, message) for message in wrong]


def with_places(problem: Problem) -> Problem:
    """A problem with one of these keys, with a hint that a job may also name a place."""
    if problem.field not in PLACES:
        return problem
    place = f'{{ format = "json", path = "{problem.field.removesuffix("_rows")}" }}'
    return evolve(problem, message=f"{problem.message}; or set a place: {problem.field} = {place}")


def aside_sink(tables: Mapping[str, Any], name: str) -> Sink | None:
    """The sink that a job's query names by this key, or None. Raises ConfigError where it is malformed."""
    query = tables.get("query")
    table = query.get(name) if isinstance(query, Mapping) else None
    if not isinstance(table, Mapping):
        return None
    problems = [Problem(key, "is taken from [sink]: remove it") for key in _SINKS if key in table]
    if problems:
        raise ConfigError(*problems)
    return build(Sink, table)


def problems_of(
    name: str,
    aside: Sink,
    source: Source,
    others: Mapping[str, Sink | None],
    engine: JobEngine,
    query: "Query | None",
    schema: "pa.Schema | None",
    job_file: Path | None,
) -> list[Problem]:
    """Problems with the place beyond its single keys; `others`: the job's other sinks, by key."""
    key = key_of(name)
    if not aside.of_files and aside.format not in names_of_formats("writes"):
        return [Problem(f"{key}.format", f"must be a file format, or a plugin's tables (got {aside.format!r})")]
    problems = engine.sink_problems(evolve(aside, checkpoint="beside the answers'"), source.stream)
    if aside.of_files and aside.path is None:
        problems.append(Problem("sink.path", f"is required for {aside.format}: a folder for such rows"))
    if source.stream:
        problems += engine.problems_of_tasks(aside, name.replace("_", " "))
    problems += overlaps(source, aside, job_file)
    for place, other in _paths(others):
        if aside.path is not None and clash(other, aside.path, aside.format) is not None:
            message = f"{aside.path!r} is, contains or is inside {place}, {other!r}: choose another folder"
            problems.append(Problem("sink.path", message))
    if query is not None and schema is not None and set(query.columns) <= set(schema.names):
        problems += _column_problems(aside, query, schema)
    return [_theirs(key, problem) for problem in problems]


def _paths(sinks: Mapping[str, Sink | None]) -> Iterator[tuple[str, str]]:
    for key, sink in sinks.items():
        for name in ("path", "checkpoint"):
            path = None if sink is None else getattr(sink, name)
            if path is not None:
                yield f"{key}.{name}", path


def _column_problems(aside: Sink, query: "Query", schema: "pa.Schema") -> list[Problem]:
    from skyband.operator.bad_rows import FIELD, REASON, VALUE, bad_rows_schema

    from skyband_jobs.files.csv_columns import unwritable_in_csv

    clashing = [name for name in query.columns if name in (REASON, FIELD, VALUE)]
    if clashing:
        return [Problem("", f"the source has a column {clashing[0]!r}, which bad and late rows need: rename it")]
    return list(unwritable_in_csv(bad_rows_schema(query, schema))) if aside.format == "csv" else []


def as_job(job: Job, name: str = BAD) -> Job:
    """The job with such rows as its answers, for code that opens and checks a sink."""
    sink = getattr(job, name)
    assert sink is not None
    return evolve(job, sink=evolve(sink, mode=job.sink.mode), bad_rows=None, late_rows=None)


def unread(query: "Query") -> "RefuseUnreadable | None":
    """Ignores unreadable rows where rows are only inspected; None where they end the run."""
    from skyband.queries.query import FAIL

    return None if query.bad_rows == FAIL else lambda _: None


def place(job: Job, name: str) -> str | None:
    """Where such rows go, for the summary."""
    sink = getattr(job, name)
    return None if sink is None else place_of(sink)


@contextmanager
def told_of(name: str = BAD) -> Iterator[None]:
    """Turn problems of the sink into problems of this place."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(*(_theirs(key_of(name), problem) for problem in error.problems)) from error


def _theirs(key: str, problem: Problem) -> Problem:
    rest = problem.field.removeprefix("sink").removeprefix(".")
    return evolve(problem, field=f"{key}.{rest}".rstrip("."))
