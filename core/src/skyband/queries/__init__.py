"""The installed kinds of query, and functions that make a query from its keys."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attrs import evolve

from skyband import registry
from skyband.config.literals import literal
from skyband.config.parameters import build
from skyband.errors import ConfigError, PluginError, Problem, suggest
from skyband.registry.info import QueryInfo
from skyband.registry.module_import import check_class, load, load_class

if TYPE_CHECKING:
    from skyband.queries.example import QueryExample
    from skyband.queries.query import Query

_EACH_ROW = re.compile(r"(as it comes|always|row|((for )?(each|every)|per) (row|event|record))", re.IGNORECASE)
"""Values of `every` that a user may write to ask for an answer per row."""


def kinds() -> dict[str, QueryInfo]:
    """The kinds of query that can be used, including those of plugins."""
    return registry.installed().queries.usable


def load_query(kind: str, distribution: str | None = None) -> "type[Query]":
    """The class of a kind of query; `distribution` chooses one if two distributions bring the kind.

    Raises ConfigError if the kind is unknown, PluginError if its plugin is broken or it is claimed twice.
    """
    entry = registry.installed().queries.named(kind, distribution)
    return _load_class(entry.info, entry.distribution)


def _load_class(info: QueryInfo, distribution: str) -> "type[Query]":
    from skyband.queries.error_attribution import BROUGHT_BY
    from skyband.queries.query import Query

    whose = f"query {info.kind!r} of {distribution}"
    cls = load_class(info.factory, Query, whose)
    check_class(cls, info.factory, whose, kind=info.kind)
    if not isinstance(getattr(cls, "answered_by", None), str):
        raise PluginError(f"{whose}: {info.factory} must name its Execution in `answered_by`")
    BROUGHT_BY[cls] = distribution
    return cls


def examples_of(kind: str, distribution: str | None = None) -> "tuple[QueryExample, ...]":
    """The examples of a kind of query, the simplest first; empty if its plugin has none.

    Raises ConfigError for an unknown kind, PluginError if the examples are missing or invalid.
    """
    from skyband.queries.example import QueryExample

    entry = registry.installed().queries.named(kind, distribution)
    if entry.info.examples is None:
        return ()
    whose = f"query {kind!r} of {entry.distribution}"
    brought = load(entry.info.examples, whose)
    examples = brought if isinstance(brought, tuple | list) else (brought,)
    if not examples or not all(isinstance(example, QueryExample) for example in examples):
        message = f"must be a QueryExample or a tuple of them (got {literal(brought)})"
        raise PluginError(f"{whose}: {entry.info.examples} {message}")
    return tuple(examples)


def make_query(values: "Query | Mapping[str, Any]") -> "Query":
    """A query from its keys, including `kind`; a Query is returned unchanged.

    Raises ConfigError with every problem at once.
    """
    from skyband.queries.error_attribution import attributed
    from skyband.queries.query import Query

    if isinstance(values, Query):
        return values
    keys = _keys(values)
    kind = keys.pop("kind", None)
    if kind is None:
        raise ConfigError(Problem("kind", f"is required; {suggest('', kinds())}"))
    if not isinstance(kind, str):
        raise ConfigError(Problem("kind", f"must be a name (got {literal(kind)}); {suggest('', kinds())}"))
    distribution = keys.pop("distribution", None)
    if distribution is not None and not isinstance(distribution, str):
        raise ConfigError(Problem("distribution", f"must be the name of a distribution (got {literal(distribution)})"))
    cls = load_query(kind, distribution)
    with attributed(cls):
        try:
            return build(cls, keys)
        except ConfigError as error:
            raise ConfigError(*(_with_hint(problem, keys) for problem in error.problems)) from error


def _with_hint(problem: Problem, keys: Mapping[str, Any]) -> Problem:
    """The problem, with a hint at another kind of query that does what was asked, if there is one."""
    every = keys.get("every")
    if problem.field != "every" or not isinstance(every, str) or not _EACH_ROW.fullmatch(" ".join(every.split())):
        return problem
    from skyband.registry.install_hints import each_row_hint

    return evolve(problem, message=f"{problem.message}; {each_row_hint()}")


def _keys(values: Any) -> dict[str, Any]:
    if not isinstance(values, Mapping):
        message = (
            f'must be a query\'s keys, such as {{"kind": "distinct-count", …}}, or a Query (got {literal(values)})'
        )
        raise ConfigError(Problem("", message))
    return dict(values)
