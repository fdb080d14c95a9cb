"""The page of a query: its keys, the parameters of its backends, its result, and a job with its output."""

import importlib
from typing import Any

from skyband.config.parameters import parameters_of
from skyband.docstrings import read_docstring
from skyband.queries import load_query
from skyband.queries.example import JobExample
from skyband.queries.query import NULL_TIME, Query
from skyband.registry.info import QueryInfo

from skyband_specs.reference.example_jobs import example_query, job_example
from skyband_specs.reference.markdown import code, fenced, line, page, parameters, prose, section, table
from skyband_specs.reference.run_examples import run_job_text
from skyband_specs.reference.usable import role_links


def query_page(info: QueryInfo) -> str:
    """The page of an installed kind of query."""
    cls = load_query(info.kind)
    example, parts = job_example(info.kind), read_docstring(cls)
    links = " and ".join(link.replace("](", "](../") for link in role_links(info.kind)) or "none"
    lead, _, details = parts.text.partition("\n\n")
    return page(
        code(info.kind),
        f"{info.summary[:1].upper()}{info.summary[1:]}. {'Roles' if len(cls.roles) > 1 else 'Role'}: {links}.",
        prose(lead),
        *([] if example is None else [_example(example)]),
        *([] if not parts.example else [section("In Python", fenced("pycon", parts.example))]),
        *([] if not details else [section("Details", prose(details))]),
        section("Keys", _keys(info.kind, cls)),
        *_results(info.kind),
        section("Rows left out", _left_out(cls)),
    )


def _keys(kind: str, cls: Any) -> str:
    """Every key: required ones, those of this query, and those of every query."""
    common = {parameter.name for parameter in parameters_of(Query)}
    ordered = sorted(parameters_of(cls), key=lambda one: (not one.required, not one.required and one.name in common))
    lead = f'In a job, under `[query]` with `kind = "{kind}"`; in Python, `{_in_python(kind, cls)}`.'
    return f"{lead}\n\n{parameters(ordered)}"


def _in_python(kind: str, cls: Any) -> str:
    """As a class if its package exports it, else as a dictionary."""
    package = cls.__module__.partition(".")[0]
    exported = getattr(importlib.import_module(package), cls.__name__, None) is cls
    return f"{package}.{cls.__name__}(…)" if exported else f'spark.apply(rows, {{"kind": "{kind}", …}})'


def _left_out(cls: Any) -> str:
    reasons = [NULL_TIME, *(reason for reason in cls.drop_reasons if reason not in cls.answered_reasons), "late"]
    text = f"These rows are not in the answers; each kind is counted: {', '.join(map(code, reasons))}."
    if not cls.answered_reasons:
        return text
    return f"{text} These are answered with nulls, and also counted: {', '.join(map(code, cls.answered_reasons))}."


def _example(example: JobExample) -> str:
    language = "json" if example.file.endswith("json") else "text"
    return section(
        "Example", example.lead, code(example.file), fenced(language, example.rows), code("job.toml"),
        fenced("toml", example.job), _output(example),
    )  # fmt: skip


def _results(kind: str) -> list[str]:
    example = example_query(kind)
    if example is None:
        return []
    query, schema = example
    fields = query.result_schema(schema)
    rows = [[code(field.name), code(field.type)] for field in fields]
    columns = [
        [
            code(role),
            ", ".join(code(f"{name} = {value!r}") for name, value in query.backend_parameters(role).items())
            or "nothing",
        ]
        for role in query.roles
    ]
    return [
        section("Result", "The example's columns, after those of `by`:",
                table(["column", "Arrow type"], rows)),
        section("Parameters of its backends", *(["Set by the query, here the example, times in microseconds; you set "
                "the rest:", table(["role", "parameters"], columns)] if columns else [])),
    ]  # fmt: skip


def _output(example: JobExample) -> str:
    ran = run_job_text(example.job, example.files)
    if ran.fault is not None:
        return f"It does not run with the installed packages: {line(ran.fault)}."
    return fenced("console", f"$ skyband run job.toml --engine local\n{ran.output}")
