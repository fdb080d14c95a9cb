"""The page of what works where: queries on engines, and backends with their capabilities."""

from collections.abc import Sequence

from skyband.errors import ConfigError, PluginError
from skyband.operator.bind_backends import bind
from skyband.queries.query import Query
from skyband.registry import Listed, installed
from skyband.registry.info import CAPABILITIES, BackendInfo
from skyband_jobs.job.engine import JobEngine
from skyband_jobs.programs.engines import engine_named, engine_names
from skyband_spark.program import shard_count

from skyband_specs.reference.example_variants import Form, forms
from skyband_specs.reference.markdown import code, line, page, section, table
from skyband_specs.reference.usable import usable_queries, usable_roles

SEVERAL = 2
"""The number of shards to check whether a query can be shared; larger numbers change nothing."""


def matrix_page(entries: Sequence[Listed[BackendInfo]]) -> str:
    """The page of every kind of query and of these backends, all of which are usable."""
    by_kind = {kind: forms(kind) for kind in usable_queries()}
    return page(
        "What works where",
        "Generated from what is installed: each example's query is created in every variant and checked, as are the "
        "engines and the backends.",
        section("Queries", _queries(by_kind), _silent(by_kind), _keys(by_kind)),
        section("Engines", _engines()),
        section("Backends", _backends(entries)),
        section("Backends that do not answer a query", _refusals(by_kind, entries)),
    )


def _queries(by_kind: dict[str, list[Form]]) -> str:
    engines = [engine_named(name) for name in engine_names()]
    headers = ["query", "windows in", "by groups, any shards", "over all rows, several shards"]
    headers += [f"{engine.name}, {mode}" for engine in engines for mode in _modes(engine)]
    rows = [
        [
            f"[{kind}](queries/{kind}.md)",
            form.unit,
            _shared(form.grouped()),
            _shared(form.query()),
            *(_runs(engine, form) for engine in engines for _ in _modes(engine)),
        ]
        for kind, of_kind in by_kind.items()
        for form in of_kind
    ]
    return table(headers, rows)


def _modes(engine: JobEngine) -> tuple[str, ...]:
    return ("batch", "stream") if engine.batches else ("stream",)


def _shared(query: Query) -> str:
    try:
        shard_count(query, SEVERAL)
    except ConfigError:
        return line(f"no: {query.one_shard}")
    return "yes"


def _runs(engine: JobEngine, form: Form) -> str:
    """Whether an engine runs a variant over all rows and by groups; batch and stream do not differ: every engine hosts
    the same operator for both."""
    problems = [problem for query in (form.query(), form.grouped()) for problem in engine.query_problems(query, {})]
    return line("; ".join(dict.fromkeys(problem.message for problem in problems))) or "yes"


def _silent(by_kind: dict[str, list[Form]]) -> str:
    names = [code(kind) for kind, of_kind in by_kind.items() if not of_kind]
    return f"Without an example, and so not in this table: {', '.join(names)}." if names else ""


def _keys(by_kind: dict[str, list[Form]]) -> str:
    """Single keys that change the table."""
    phrases: dict[str, None] = {}
    for kind, of_kind in by_kind.items():
        for form in of_kind:
            base = form.query()
            for key, word, query in form.with_each_choice():
                phrase = code(f'{key} = "{word}"')
                if query.one_shard is not None and base.one_shard is None:
                    phrases[f"- {code(kind)} with {phrase}: one shard over all rows, as {line(query.one_shard)}."] = (
                        None
                    )
                needs = [name for name in query.needs if name not in base.needs]
                if needs:
                    phrases[f"- {code(kind)} with {phrase}: its backend must have {', '.join(needs)}."] = None
    return "\n".join(phrases)


def _engines() -> str:
    engines = [engine_named(name) for name in engine_names()]
    goes_on = ["resumes from its checkpoint" if engine.resumes else "starts over" for engine in engines]
    shards = ["operators that share the work" if engine.shards else "ignored: one operator" for engine in engines]
    return table(["", *(engine.name for engine in engines)], [
        ["a stream that was stopped", *goes_on],
        ["`shards`", *shards],
        ["sources and sinks", *["[the job file](job.md#engines)"] * len(engines)],
    ])  # fmt: skip


def _backends(entries: Sequence[Listed[BackendInfo]]) -> str:
    infos = [entry.info for role in usable_roles() for entry in entries if entry.info.role == role]
    rows = [
        [f"[{info.key}](backends/{info.key}.md)", info.guarantee, *(_has(info, name) for name in CAPABILITIES)]
        for info in infos
    ]
    lacking: dict[tuple[str, str, str], list[str]] = {}
    for info in infos:
        for name, reason in info.lacks.items():
            lacking.setdefault((name, info.role, reason), []).append(info.name)
    reasons = [[name, role, ", ".join(names), line(reason)] for (name, role, reason), names in sorted(lacking.items())]
    return "\n\n".join([
        table(["backend", "guarantee", *CAPABILITIES], rows),
        table(["lacking", "role", "backends", "why"], reasons),
    ])  # fmt: skip


def _has(info: BackendInfo, capability: str) -> str:
    if capability in info.lacks:
        return "no"
    return "yes" if capability in installed().role(info.role).all_capabilities else ""


def _refusals(by_kind: dict[str, list[Form]], entries: Sequence[Listed[BackendInfo]]) -> str:
    rows = []
    for kind, of_kind in by_kind.items():
        for form in of_kind:
            query = form.query()
            for info in (entry.info for entry in entries if entry.info.role in query.roles):
                why = _refusal(form, query, info)
                if why is not None:
                    rows.append([code(kind), form.unit, f"[{info.key}](backends/{info.key}.md)", line(why)])
    return table(["query", "windows in", "backend", "why"], rows) or "None: each answers every query of its role."


def _refusal(form: Form, query: Query, info: BackendInfo) -> str | None:
    try:
        bind(query, form.schema, {info.role: info.name})
    except ConfigError as error:
        return "; ".join(f"{problem.field.rpartition('.')[2]}: {problem.message}" for problem in error.problems)
    except PluginError as error:
        return str(error)
    return None
