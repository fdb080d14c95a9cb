"""The page of the Python API: the functions that a program calls, from their source."""

import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

import skyband
import skyband_jobs
from skyband import queries, spark, states
from skyband.docstrings import read_docstring
from skyband.engines import local
from skyband.states.functions import exported, questions
from skyband_jobs import formats as tables
from skyband_spark import states as spark_states

from skyband_specs.reference.interface import signature_of
from skyband_specs.reference.markdown import code, fenced, line, page, prose, section, table

SPARK = (spark.session, spark.apply, spark.files, spark.bad_rows, spark.preflight)
HERE = (local.apply, queries.make_query)
JOBS: tuple[Any, ...] = (skyband_jobs.choose_backends,)
STATES = (states.union, states.describe)
COLUMNS = (spark_states.union, spark_states.union_list, spark_states.describe, spark_states.register)
TABLES: tuple[Any, ...] = (tables.open_sink, tables.open_table, tables.kafka_sink)
CHARTS: tuple[Any, ...] = (skyband.plot,)
BACKENDS = (skyband.backends, skyband.create, skyband.restore)


def python_page() -> str:
    """The reference of functions; the methods of backends are on the pages of their roles."""
    return page(
        "Python",
        "The functions that a program calls. A backend's methods are on the page of its role, the errors on "
        "[their own page](errors.md).",
        section("On Spark", _group("skyband.spark", SPARK), _settings()),
        section(
            "In this process",
            _group("skyband.engines.local", HERE[:1]),
            _group("skyband.queries", HERE[1:]),
            _group("skyband_jobs", JOBS),
        ),
        section(
            "States",
            _group("skyband.states", (*_questions(states), *STATES)),
            _group("skyband.spark.states", (*_questions(spark_states), *COLUMNS)),
        ),
        section("Tables", _group("skyband_jobs.formats", TABLES)),
        section("Charts", _group("skyband", CHARTS)),
        section("Backends alone", _group("skyband", BACKENDS)),
    )


def _questions(home: ModuleType) -> tuple[Callable[..., Any], ...]:
    """The functions of a module for the questions that states of the installed backends answer."""
    functions = [getattr(home, name) for name in questions()]
    more = [getattr(home, name) for name in exported()] if home is states else []
    return (*functions, *(one for one in more if not isinstance(one, type)))


def _settings() -> str:
    rows = [[code(name), code(value)] for name, value in spark.SETTINGS.items()]
    lead = "Your own session needs the first of these for streams; the others make it faster or simpler:"
    return f"### `skyband.spark.SETTINGS`\n\n{lead}\n\n{table(['setting', 'value'], rows)}"


def _group(home: str, functions: tuple[Callable[..., Any], ...]) -> str:
    return "\n\n".join(_function(home, function) for function in functions)


def _function(home: str, function: Callable[..., Any]) -> str:
    name = f"{home}.{function.__name__}"
    sections = read_docstring(function)
    parts = [_section(heading, body) for heading, body in sections.sections.items()]
    return "\n\n".join([f"### {code(name)}", fenced("python", signature_of(function)), prose(sections.text), *parts])


def _section(heading: str, body: str) -> str:
    """A section of a docstring: an example unchanged, terms with indented text as a list."""
    if heading == "Examples":
        return fenced("pycon", body)
    entries = re.findall(r"^(\S.*)\n((?:[ ]+.*\n?)+)", body, re.MULTILINE)
    entries_text = "\n".join(f"- {code(term)}: {line(text)}" for term, text in entries)
    return f"**{heading}**\n\n{entries_text or prose(body)}"
