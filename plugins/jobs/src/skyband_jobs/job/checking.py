"""Checks of a job that go beyond single keys: keys that depend on each other, and the source's columns."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen
from skyband.config.parameters import build, parameters_of
from skyband.errors import NO_COLUMN, TEXT_COLUMN, ConfigError, PluginError, Problem
from skyband.registry import Binding

from skyband_jobs.files.source_files import TEXT_FORMATS
from skyband_jobs.job.column_name_clashes import names_alike
from skyband_jobs.job.engine import JobEngine
from skyband_jobs.job.opening import OpenSource, first_rows_problems, open_source, parse_sql
from skyband_jobs.job.output_folders import output_problems
from skyband_jobs.job.path_overlap import overlaps
from skyband_jobs.tables.model import AVAILABLE_NOW, KeyedSink, Sink, Source
from skyband_jobs.tables.table_location import in_process, keys_of, location_problems

if TYPE_CHECKING:
    import pyarrow as pa

_HEADER = "; if its first line names the columns, set source.options = { header = true }"


@frozen
class Findings:
    """The problems of a job, and what was built while checking it."""

    source: OpenSource
    backends: Mapping[str, Any]
    bindings: Mapping[str, Binding]
    problems: Sequence[Problem]


ChooseBackends = Callable[[Any, OpenSource], Mapping[str, Any]]
"""Names the backends of a query over a source, where a job gives limits instead. Raises ConfigError."""


def check_job(
    tables: Mapping[str, Any],
    source: Source | None,
    query: Any,
    backends: Mapping[str, Any],
    choose_backends: ChooseBackends,
    sink: Sink | None,
    engine: JobEngine,
    zone: str | None = None,
    job_file: Path | None = None,
    case_sensitive: bool = False,
) -> Findings:
    """Find every problem, and return it with what was built on the way. What could not be built is None.

    zone: the session's time zone, in which Spark reads times written without one. job_file: where the job was read;
    its answers must not be written around it. case_sensitive: whether the session distinguishes `At` from `at`.
    """
    problems: list[Problem] = []
    opened, bindings = OpenSource(), dict[str, Binding]()
    if source is not None:
        opened, unreadable = open_checked(source, engine, zone)
        problems += unreadable
    if sink is not None:
        problems += _sink(sink, engine, None if source is None else source.stream)
    if source is not None and sink is not None:
        problems += overlaps(source, sink, job_file)
    if source is not None:
        problems += _ends(source, sink)
    if source is not None and source.spine is not None:
        opened, misfit = _with_spine(opened, source, query, engine, zone, bool(problems))
        problems += misfit
    if query is None:
        problems += _unbound(tables.get("query"), opened.schema, backends)
        return Findings(opened, backends, bindings, problems)
    problems += [] if sink is None else _states_in_text(query, sink)
    try:
        backends = choose_backends(query, opened)
    except ConfigError as error:
        unanswerable = _with_hints(error.problems, source, opened.schema)
    else:
        bindings, unanswerable = _bound(query, opened, backends, source)
    problems += unanswerable
    if sink is not None and opened.schema is not None and not unanswerable:
        answers = query.result_schema(opened.schema)
        problems += [] if case_sensitive else names_alike(sink, answers.names)
        problems += [] if query.gives_states else _beyond_csv(sink, answers)
        problems += [] if problems else _columns(sink, answers)
    problems += engine.query_problems(query, tables)
    return Findings(opened, backends, bindings, problems)


def _with_spine(
    opened: OpenSource, source: Source, query: Any, engine: JobEngine, zone: str | None, is_wrong: bool
) -> tuple[OpenSource, list[Problem]]:
    """The source with the moments of its spine, and the problems of these."""
    if query is not None and query.broadcast is not None:
        message = f"cannot be combined with {query.kind}, which takes a second table: remove it"
        return OpenSource(), [Problem("source.spine", message)]
    try:
        spine = source.spine_source
    except ConfigError as error:
        return OpenSource(), [problem.within("source.spine") for problem in error.problems]
    assert spine is not None
    moments, problems = open_checked(spine, engine, zone)
    if problems or is_wrong or query is None:
        return OpenSource(), [evolve(one, field="source.spine" + one.field.removeprefix("source")) for one in problems]
    from skyband_jobs.job.spine_rows import with_moments  # on use, as few jobs have one

    try:
        return with_moments(opened, moments, query, source.stream), []
    except ConfigError as error:
        return OpenSource(), list(error.problems)


def _states_in_text(query: Any, sink: Sink) -> list[Problem]:
    if not query.gives_states or sink.format not in TEXT_FORMATS:
        return []
    message = f"cannot hold states, which are bytes: use parquet (got {sink.format!r})"
    return [Problem("sink.format", message)]


def _beyond_csv(sink: Sink, answers: "pa.Schema") -> list[Problem]:
    """The answers' columns that CSV cannot hold."""
    if sink.format != "csv":
        return []
    from skyband_jobs.files.csv_columns import unwritable_in_csv

    return unwritable_in_csv(answers)


def open_checked(source: Source, engine: JobEngine, zone: str | None) -> tuple[OpenSource, list[Problem]]:
    """Open a source whose keys are right; returns it with its problems."""
    problems = _source(source, engine, zone)
    try:
        shape = parse_sql(source, engine.knows_all_sql)
        if problems or shape is None:
            return OpenSource(), problems
        return open_source(source, shape, engine.knows_all_sql), []
    except ConfigError as error:
        return OpenSource(), problems + [problem.within("source") for problem in error.problems]


def _source(source: Source, engine: JobEngine, zone: str | None) -> list[Problem]:
    problems = []
    if source.of_files and source.path is None:
        problems.append(Problem("source.path", f"is required for {source.format}: a file, a folder or a pattern"))
    problems += [one.within("source") for one in location_problems(source, engine.name == "spark")]
    return problems + engine.source_problems(source, zone)


def _ends(source: Source, sink: Sink | None) -> list[Problem]:
    """Problems with how a stream's last windows are answered: by its end, or by the clock."""
    trigger = None if sink is None else sink.trigger
    if not source.stream:
        return _for_streams(source, sink)
    problems = []
    if source.finish and trigger != AVAILABLE_NOW:
        message = f'is only for streams that end: set sink.trigger = "{AVAILABLE_NOW}", or use source.idle_after'
        problems.append(Problem("source.finish", message))
    if source.idle_after is not None and trigger == AVAILABLE_NOW:
        message = f'is only for streams that never end, but sink.trigger is "{AVAILABLE_NOW}": use source.finish = true'
        problems.append(Problem("source.idle_after", message))
    return problems


def _for_streams(source: Source, sink: Sink | None) -> list[Problem]:
    """Problems with keys that only streams have, reported together because they share one remedy."""
    keys = [f"sink.{name}" for name in ("checkpoint", "trigger") if getattr(sink, name, None) is not None]
    keys += [f"source.{name}" for name in ("finish", "idle_after") if getattr(source, name)]
    if not keys:
        return []
    others = f", and so {'is' if len(keys) == 2 else 'are'} {', '.join(keys[1:])}" if keys[1:] else ""
    them = "them" if others else "it"
    return [Problem(keys[0], f"is for streams{others}: set source.stream = true, or remove {them}")]


def _sink(sink: Sink, engine: JobEngine, stream: bool | None) -> list[Problem]:
    """Problems of the sink. stream: None where the source could not be built, so that the sink is not blamed."""
    problems = []
    if sink.of_files and sink.path is None:
        problems.append(Problem("sink.path", f"is required for {sink.format}: the folder for the answers"))
    problems += [one.within("sink") for one in location_problems(sink, engine.name == "spark")]
    problems += output_problems(sink)
    problems += engine.sink_problems(sink, stream)
    problems += [] if problems or not stream else _unstreamed(sink, engine)
    if stream and sink.mode not in (None, "append"):
        problems.append(Problem("sink.mode", f"a stream only appends: use append, or remove it (got {sink.mode!r})"))
    return problems


def _unstreamed(sink: Sink, engine: JobEngine) -> list[Problem]:
    """Refuses a format whose sink cannot recognize a repeated micro-batch, on an engine that may repeat one."""
    bound = in_process(sink)
    if bound is None or not engine.resumes or "streams" in bound.info.can or isinstance(sink, KeyedSink):
        return []
    message = f"{bound.name} can only write a batch's answers: set source.stream = false, or write to another format"
    return [Problem("sink.format", message)]


def _columns(sink: Sink, answers: "pa.Schema") -> list[Problem]:
    """Problems where the table for the answers already exists and has other columns."""
    bound = in_process(sink)
    if bound is None or bound.check(keys_of(sink), on_spark=False):
        return []
    from skyband_jobs.tables.table_sink import check_columns, told_of_sink

    try:
        with told_of_sink():
            check_columns(sink, answers)
    except ConfigError as error:
        return list(error.problems)
    return []


def _bound(
    query: Any, opened: OpenSource, backends: Mapping[str, Any], source: Source | None
) -> tuple[dict[str, Binding], list[Problem]]:
    """Bind the backends of a query; returns them with what the query cannot answer over the source."""
    from skyband.operator.bind_backends import bind

    try:
        bindings = bind(query, opened.schema, backends)
    except ConfigError as error:
        return {}, _with_hints(error.problems, source, opened.schema)
    except PluginError as error:
        return {}, [Problem("query", str(error))]
    return bindings, first_rows_problems(opened, query)


def _missing_columns(query: type, table: Mapping[str, Any], schema: "pa.Schema") -> list[Problem]:
    from skyband.queries.composite_ids import COLUMNS
    from skyband.queries.shared_keys import no_column

    named = [parameter.name for parameter in parameters_of(query) if parameter.type in ("column", COLUMNS)]
    columns_by_key = {name: table[name] if isinstance(table.get(name), list) else [table.get(name)] for name in named}
    columns = [(name, column) for name in named for column in columns_by_key[name] if isinstance(column, str)]
    return [
        Problem(f"query.{name}", no_column(column, schema), NO_COLUMN)
        for name, column in columns
        if column not in schema.names
    ]


def _with_hints(problems: Sequence[Problem], source: Source | None, schema: "pa.Schema | None") -> list[Problem]:
    """Add remedies to problems; one that several share is given once."""
    unnamed = [problem for problem in problems if _lacks_header(problem, source, schema)]
    return [_with_hint(problem, source, problem in unnamed) for problem in problems if problem not in unnamed[1:]]


def _lacks_header(problem: Problem, source: Source | None, schema: "pa.Schema | None") -> bool:
    """Whether a column is missing from a CSV file whose columns are numbered because it has no header option."""
    numbered = schema is not None and "_c0" in schema.names
    return problem.code == NO_COLUMN and source is not None and source.format == "csv" and numbered


def _with_hint(problem: Problem, source: Source | None, unnamed: bool) -> Problem:
    """Columns of text files have no types, and in CSV no names: say which key gives them."""
    if unnamed:
        return evolve(problem, message=f"{problem.message}{_HEADER}")
    untyped = source is not None and source.format in ("csv", "json") and source.schema is None
    if untyped and problem.code == TEXT_COLUMN:
        message = problem.message.removesuffix("; cast it first")
        return evolve(problem, message=f"{message}; set the columns' types with source.schema")
    return problem


def _unbound(table: Any, schema: "pa.Schema | None", backends: Mapping[str, Any]) -> list[Problem]:
    """Further problems where the query could not be made: missing columns, and backends.

    Parameters that the query would have passed to its backends are not reported as missing.
    """
    from skyband.queries import load_query
    from skyband.registry import choose

    try:
        query = load_query(table["kind"], table.get("distribution"))
    except (ConfigError, PluginError, KeyError, TypeError):
        return []  # reported as the query's own problem
    problems = [] if schema is None else _missing_columns(query, table, schema)
    try:
        bindings = choose(query.roles, backends)
    except ConfigError as error:
        return problems + [problem.within("backends") for problem in error.problems]
    for role, binding in bindings.items():
        try:
            cls = binding.backend_class
            optional = {parameter.name for parameter in parameters_of(cls) if not parameter.required}
            build(cls, dict(binding.parameters))
        except ConfigError as error:
            expected = [problem for problem in error.problems if problem.field in (*optional, *binding.parameters)]
            problems += [problem.within(f"backends.{role}") for problem in expected]
        except PluginError as error:
            problems.append(Problem(f"backends.{role}", str(error)))
    return problems
