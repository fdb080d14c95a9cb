"""The page of a query: its keys, what it hands to its backends, its result, and a job with what it prints."""

import tomllib
from typing import Any

from skyband.info import QueryInfo
from skyband.job.ddl import parse_ddl
from skyband.pages.jobs import EXAMPLES, JobExample
from skyband.pages.markdown import code, docstring, fenced, line, page, parameters, prose, section, table
from skyband.pages.running import run_job_text
from skyband.parameters import parameters_of
from skyband.queries import load_query, make_query
from skyband.queries.query import NULL_TIME


def query_page(info: QueryInfo) -> str:
    """The page of an installed kind of query."""
    cls = load_query(info.kind)
    example = EXAMPLES.get(info.kind)
    links = " and ".join(f"[{role}](../roles/{role}.md)" for role in cls.roles)
    return page(
        code(info.kind),
        f"{info.summary[:1].upper()}{info.summary[1:]}. Its roles: {links}.",
        prose(docstring(cls)),
        section("Keys", "Of `[query]` in a job, and of the query in Python:", _keys(info.kind, cls)),
        section("Left out", _left_out(cls)),
        *_shown(example),
    )


def _keys(kind: str, cls: Any) -> str:
    return f'{parameters(parameters_of(cls))}\n\nA job says `kind = "{kind}"` besides.'


def _left_out(cls: Any) -> str:
    reasons = [NULL_TIME, *cls.leaves_out, "late"]
    return f"Rows are left out and counted, by reason: {', '.join(map(code, reasons))}."


def _shown(example: JobExample | None) -> list[str]:
    if example is None:
        return []
    tables = tomllib.loads(example.job)
    query = make_query(tables["query"])
    fields = query.result_schema(parse_ddl(tables["source"]["schema"]))
    rows = [[code(field.name), code(field.type)] for field in fields]
    language = "json" if example.file.endswith("json") else "text"
    given = [
        [code(role), ", ".join(code(f"{name} = {value!r}") for name, value in query.given(role).items()) or "nothing"]
        for role in query.roles
    ]
    return [
        section(
            "Example", example.lead, f"{code(example.file)}", fenced(language, example.rows), code("job.toml"),
            fenced("toml", example.job),
            _output(example),
        ),
        section("Result", "The columns of the example, after those of `by`:", table(["column", "Arrow type"], rows)),
        section("What backends are given", "By the example's query, times in microseconds:",
                table(["role", "parameters"], given)),
    ]  # fmt: skip


def _output(example: JobExample) -> str:
    ran = run_job_text(example.job, example.files)
    if ran.fault is not None:
        return f"It does not run with what is installed: {line(ran.fault)}."
    return fenced("console", f"$ skyband run job.toml --engine local\n{ran.output}")
