"""Builds a Job from a TOML file and `--set`, and reports every problem at once."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import evolve
from skyband.config.literals import literal
from skyband.config.parameters import build, parameters_of
from skyband.errors import NO_TABLE, ConfigError, PluginError, Problem, closest, suggest
from skyband.registry import installed
from skyband.registry.discovery import Plugin
from skyband.registry.module_import import cause

from skyband_jobs.job.checked_job import CheckedJob
from skyband_jobs.job.checking import check_job
from skyband_jobs.job.column_name_clashes import tells_case
from skyband_jobs.job.engine import JobEngine
from skyband_jobs.job.job_error import JobError, secrets_hidden
from skyband_jobs.job.job_file import Edit, assignments, tables_of
from skyband_jobs.job.opening import OpenSource
from skyband_jobs.metrics.place import place_of as metrics_place
from skyband_jobs.metrics.place import problems_of as metrics_problems
from skyband_jobs.programs.engines import engine_named, own_tables, own_tables_of_all
from skyband_jobs.running import bad_rows
from skyband_jobs.running.backend_choice import Choice, choose_for_job
from skyband_jobs.running.broadcast import broadcast_key, broadcast_problems, broadcast_source
from skyband_jobs.running.limits import limited
from skyband_jobs.tables.model import Job, KeyedSink, Sink, Source, absolute, placed
from skyband_jobs.tables.spark_ddl import ZONE_SETTING

if TYPE_CHECKING:
    from skyband.queries.query import Query


T = TypeVar("T")

TABLES = {
    "source": "where the rows come from",
    "query": "what is asked",
    "backends": "how it is answered",
    "sink": "where the answers go",
    "spark": "settings of Spark",
}
KEYS = ("name", "shards", "metrics", *TABLES)


@secrets_hidden()
def read_job(path: str | Path, sets: Iterable[str] = (), engine: str = "spark", edit: Edit | None = None) -> CheckedJob:
    """The job in a TOML file, changed by `sets` ("query.k=5") and then by `edit`, to run on `engine`.

    If the source is on this machine, its columns are checked too, without Spark or Java.
    Raises JobError with every problem at once.
    """
    typed = dict[str, Any]()
    sets = tuple(sets)
    try:
        typed = assignments(sets)
        return _job(tables_of(Path(path), typed, edit), Path(path), sets, engine_named(engine))
    except JobError:
        raise
    except ConfigError as error:
        raise JobError(str(path), *error.problems, typed=typed) from error


@secrets_hidden()
def read_sink(path: str | Path, sets: Iterable[str] = ()) -> "tuple[str, Query, Sink]":
    """The name, query and sink of a job, which may no longer be able to run: the rest is ignored.

    Raises JobError with every problem at once.
    """
    typed: dict[str, Any] = {}
    try:
        typed = assignments(sets)
        tables = tables_of(Path(path), typed)
        tabled = {key: tables.get(key, {}) for key in ("sink", "query")}
        wrong = [
            Problem(key, f"must be a table, [{key}]") for key, table in tabled.items() if not isinstance(table, dict)
        ]
        if wrong:
            raise ConfigError(*wrong)
        problems: list[Problem] = []
        sink = _tried(problems, "sink", lambda: _table(tables, "sink", Sink))
        query = _tried(problems, "query", lambda: _query(tables, Path(path).parent))
        if problems or sink is None or query is None:
            raise ConfigError(*problems)
        return str(tables.get("name", Path(path).stem)), query, placed(sink, Path(path).parent)
    except JobError:
        raise
    except ConfigError as error:
        raise JobError(str(path), *error.problems, typed=typed) from error


def _job(tables: Mapping[str, Any], path: Path, sets: tuple[str, ...], engine: JobEngine) -> CheckedJob:
    of_engine = own_tables(engine, KEYS)
    of_engines, problems = _tables_of_engines(tables, of_engine)
    misspelt = {closest(problem.field, (*KEYS, *of_engines)) for problem in problems} - set(tables)
    not_tables = [
        Problem(key, f"must be a table, [{key}] (got {literal(tables[key])})")
        for key in (*TABLES, *of_engines)
        if key in tables and not isinstance(tables[key], Mapping)
    ]
    if not_tables:
        raise ConfigError(*problems, *not_tables)
    wrong: list[Problem] = []
    own = {
        name: _tried(wrong, name, partial(_built, tables.get(name, {}), cls))
        for name, cls in of_engines.items()
        if name in tables or name in of_engine
    }
    source = _tried(wrong, "source", lambda: _table(tables, "source", Source))
    sink = _tried(wrong, "sink", lambda: _table(tables, "sink", Sink))
    query = _tried(wrong, "query", lambda: _query(tables, path.parent))
    second = broadcast_key(tables.get("query"))
    broadcast = None
    if second is not None:
        stream = source is not None and source.stream
        broadcast = _tried(wrong, f"query.{second}", lambda: broadcast_source(tables["query"], second, stream))
    aside = {
        name: _tried(wrong, bad_rows.key_of(name), partial(bad_rows.aside_sink, tables, name))
        for name in bad_rows.PLACES
    }
    problems += [problem for problem in wrong if problem.field.partition(".")[0] not in misspelt]
    spark = _spark(tables.get("spark", {}))
    backends = _backends(tables.get("backends", {}), spark)
    shards, name = tables.get("shards"), tables.get("name", path.stem)
    if not isinstance(name, str) or not name:
        problems.append(Problem("name", f"must be text (got {literal(name)})"))
    folder, metrics = path.parent, tables.get("metrics")
    if metrics is not None:
        problems += metrics_problems(metrics, folder)
    source = placed(source, folder) if source else None
    sink = placed(_for_query(sink, query), folder) if sink else None
    aside = {name: placed(one, folder) if one else None for name, one in aside.items()}
    zone = spark.get(ZONE_SETTING)
    choices = list[Choice]()
    choose = partial(_choose, backends, engine, sink if source and source.stream else None, choices)
    limits = {role: choice for role, choice in backends.items() if limited(role, choice)}
    named = {role: choice for role, choice in backends.items() if role not in limits}
    if source and query and source.stream and source.spine is not None:
        from skyband_jobs.job.spine_rows import with_two_watermarks  # on use, as few jobs have one

        query = with_two_watermarks(query)
    findings = check_job(tables, source, query, named, choose, sink, engine, zone, path, tells_case(spark))
    broadcast = placed(broadcast, folder) if broadcast else None
    misplaced = []
    if broadcast is not None and source is not None:
        theirs = broadcast_problems(broadcast, query, engine, zone, findings.source.schema)
        misplaced += [one.within(f"query.{second}") for one in theirs]
    others: dict[str, Sink | None] = {"sink": sink}
    for key, one in aside.items():
        if one is not None and source is not None:
            schema = findings.source.schema
            misplaced += bad_rows.problems_of(key, one, source, others, engine, query, schema, path)
        others = {**others, bad_rows.key_of(key): one}
    blamed = {problem.field for problem in problems}
    later = [*findings.problems, *misplaced]
    problems += [one for one in later if one.field not in blamed]  # the others are consequences of a wrong value
    if problems or source is None or query is None or sink is None:
        raise ConfigError(*problems)
    checked = (findings.source, findings.bindings)
    job = CheckedJob(
        name,
        source,
        query,
        findings.backends,
        sink,
        spark,
        shards,
        path,
        sets,
        *checked,
        bad_rows=aside[bad_rows.BAD],
        late_rows=aside[bad_rows.LATE],
        broadcast=broadcast,
        own=own,
        metrics=_placed(metrics, folder),
        limits=limits,
        choices=[line for choice in choices for line in choice.lines()],
    )
    if problems := _rule_problems(job, engine.name):
        raise ConfigError(*problems)
    return job


def _choose(
    backends: Mapping[str, Any],
    engine: JobEngine,
    stream: Sink | None,
    choices: "list[Choice]",
    query: "Query",
    source: OpenSource,
) -> Mapping[str, Any]:
    """Names for the backends that the job gives limits for; how each was chosen is added to `choices`.

    stream: the sink of a stream, whose checkpoint keeps the choice; None for a batch.
    """
    if not any(limited(role, choice) for role, choice in backends.items()):
        return backends
    named, more = choose_for_job(query, source, backends, None if stream is None else engine.chosen_before(stream))
    choices += more
    return named


def _for_query(sink: Sink, query: "Query | None") -> Sink:
    """The sink, with the key of the answers if it holds the newest ones."""
    from skyband.queries.output_modes import CURRENT, table_key

    return KeyedSink.of(sink, table_key(query)) if query is not None and query.answers == CURRENT else sink


def _placed(metrics: str | None, folder: Path) -> str | None:
    """The place of the metrics, a file resolved against the job's folder."""
    place = None if metrics is None else metrics_place(metrics, folder)
    return str(place) if isinstance(place, Path) else metrics


def _table(tables: Mapping[str, Any], name: str, cls: type[T]) -> T:
    if name not in tables:
        raise ConfigError(Problem("", f"is required: a table [{name}] that says {TABLES[name]}"))
    return _built(tables[name], cls)


def _built(table: Mapping[str, Any], cls: type[T]) -> T:
    values, problems = _without_misplaced(table, cls)
    instance = _tried(problems, "", lambda: build(cls, values))
    if problems or instance is None:
        raise ConfigError(*problems)
    return instance


def _without_misplaced(table: Mapping[str, Any], cls: type, *own: str) -> tuple[dict[str, Any], list[Problem]]:
    """A table without the keys that belong elsewhere in a job, and a problem for each that says where.

    own: keys that it has besides the fields of its class.
    """
    keys = _names(cls) | {*own, *getattr(cls, "renamed", {}), *getattr(cls, "refused_keys", {})}
    problems = []
    for key in table:
        if key in keys:
            continue
        homes = [name for name, other in (("source", Source), ("sink", Sink)) if key in _names(other)]
        if homes:
            problems.append(Problem(key, f"belongs in {' or '.join(f'[{name}]' for name in homes)}"))
        elif key in KEYS and key not in TABLES:
            problems.append(Problem(key, f"belongs outside the tables, above the first one: {key} = …"))
    wrong = {problem.field for problem in problems}
    return {key: value for key, value in table.items() if key not in wrong}, problems


def _names(cls: type) -> set[str]:
    return {parameter.name for parameter in parameters_of(cls)}


def _query(tables: Mapping[str, Any], folder: Path) -> Any:
    from skyband.queries import load_query, make_query

    if "query" not in tables:
        raise ConfigError(Problem("", f"is required: a table [query] that says {TABLES['query']}"))
    keys, problems = bad_rows.query_keys(tables["query"])
    if isinstance(keys.get("kind"), str) and isinstance(keys.get("distribution"), str | None):
        cls = load_query(keys["kind"], keys.get("distribution"))
        keys |= {key: absolute(keys[key], folder) for key in cls.files if isinstance(keys.get(key), str)}
        keys = {key: value for key, value in keys.items() if key != cls.broadcast}
        keys, misplaced = _without_misplaced(keys, cls, "kind", "distribution")
        problems += misplaced
    query = _tried(problems, "", lambda: make_query(keys))
    if problems or query is None:
        raise ConfigError(*map(bad_rows.with_places, problems))
    return query


def _tried(problems: list[Problem], place: str, make: Callable[[], T]) -> T | None:
    """The result of `make`; where it fails, its problems are added to the list."""
    try:
        return make()
    except ConfigError as error:
        problems.extend(problem.within(place) if place else problem for problem in error.problems)
    except PluginError as error:
        problems.append(Problem(place, str(error)))
    return None


def _tables_of_engines(
    tables: Mapping[str, Any], of_engine: Mapping[str, type]
) -> tuple[Mapping[str, type], list[Problem]]:
    """The tables that this engine adds, and those of the others if a key is unknown; a problem for each still unknown.

    The other engines are imported only then.
    """
    unknown = [key for key in tables if key not in KEYS and key not in of_engine]
    if not unknown:
        return of_engine, []
    others, broken = own_tables_of_all(KEYS)
    added = {**others, **of_engine}
    unknown = [key for key in unknown if key not in added]
    return added, [Problem(key, _unknown(key, (*KEYS, *added), broken), NO_TABLE) for key in unknown]


def _unknown(key: str, keys: Iterable[str], broken: Iterable[str]) -> str:
    """What to do about a key that is not one of these; `broken`: engines that might have known it."""
    if key in bad_rows.PLACES:
        return f"belongs in [query]: as a table, [{bad_rows.key_of(key)}]"
    for name, cls in (("source", Source), ("sink", Sink)):
        if key in _names(cls):
            return f"belongs in a table such as [{name}]"
    return "; ".join(["unknown", suggest(key, keys), *broken])


def _spark(table: Mapping[str, Any], prefix: str = "spark") -> dict[str, str]:
    """Settings by full name: `sql.shuffle.partitions = 4` and `"spark.sql.shuffle.partitions" = 4` are the same."""
    settings: dict[str, str] = {}
    for key, value in table.items():
        written_out = prefix == "spark" and (key == "spark" or key.startswith("spark."))
        name = key if written_out else f"{prefix}.{key}"
        if isinstance(value, Mapping):
            settings.update(_spark(value, name))
        else:
            settings[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return settings


def _backends(table: Mapping[str, Any], spark: Mapping[str, str]) -> dict[str, Any]:
    prefix = "spark.skyband.backends."
    settings = {key.removeprefix(prefix): value for key, value in spark.items() if key.startswith(prefix)}
    return {**settings, **table}


def _rule_problems(job: Job, engine: str) -> list[Problem]:
    """Problems that plugins' rules find in a job that is otherwise fine, each with the distribution of the rule.

    A rule that fails is a problem too: what it forbids would pass unnoticed.
    """
    return [problem for plugin in installed().plugins for problem in _of_plugin(plugin, job, engine)]


def _of_plugin(plugin: Plugin, job: Job, engine: str) -> list[Problem]:
    if plugin.manager is None or not plugin.manager.hook.skyband_rules.get_hookimpls():
        return []
    try:
        answers = plugin.manager.hook.skyband_rules(job=job, engine=engine)
        problems = [problem for answer in answers for problem in answer]
        wrong = next((one for one in problems if not isinstance(one, Problem)), None)
        if wrong is not None:
            raise TypeError(f"a rule must return skyband.errors.Problem (got {wrong!r:.80})")
    except (Exception, SystemExit) as error:  # a plugin may raise anything; we report it
        message = f"the rules of {plugin.distribution} failed: {cause(error)}"
        return [Problem("", f"{message}; upgrade or remove it, or leave it out of SKYBAND_PLUGINS")]
    return [evolve(problem, message=f"{problem.message} (a rule of {plugin.distribution})") for problem in problems]
