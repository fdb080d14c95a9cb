"""Binds a query to the backends of its roles, by the user's choices, and reports all problems at once."""

from collections.abc import Mapping
from typing import Any

import attrs
import pyarrow as pa

from skyband.config.literals import literal
from skyband.config.parameters import parameters_of
from skyband.errors import ConfigError, PluginError, Problem
from skyband.queries.error_attribution import attributed
from skyband.queries.query import Query
from skyband.registry import Binding, choose


def bind(query: Query, schema: pa.Schema | None, backends: Any = None) -> dict[str, Binding]:
    """The backends for a query over a source with this schema; None if the schema is not known yet.

    Those that the query's own keys name are added, and are not for `backends` to change.
    Raises ConfigError with every problem at once; those of a backend are under `backends.ROLE`.
    """
    if not isinstance(backends, Mapping | None):
        message = f'must be a mapping of roles to backends, such as {{"sketch": "exact"}} (got {literal(backends)})'
        raise ConfigError(Problem("backends", message))
    problems = [] if schema is None else column_problems(query, schema)
    backends = {role: choice for role, choice in (backends or {}).items() if role not in query.named_backends}
    try:
        bindings = choose(query.asked_roles, backends)
    except ConfigError as error:
        problems.extend(problem.within("backends") for problem in error.problems)
        wrong = {problem.field.partition(".")[0] for problem in error.problems}
        sound = [role for role in query.asked_roles if role not in wrong]
        bindings = choose(sound, {role: name for role, name in backends.items() if role in sound})
    for role, binding in bindings.items():
        with attributed(query):
            own_keys = query.backend_parameters(role)
        lacking = [name for name in query.needs if name in binding.info.lacks]
        problems.extend(
            Problem(f"backends.{role}", f"{binding.info.name} lacks {name}, which the query needs: {reason}")
            for name, reason in ((name, binding.info.lacks[name]) for name in lacking)
        )
        clashes = [name for name in binding.parameters if name in own_keys]
        problems.extend(
            Problem(f"backends.{role}.{name}", f"is set by the query ({literal(own_keys[name])})") for name in clashes
        )
        unknown = _unknown_parameters(binding, own_keys)
        if unknown:
            problems.extend(Problem(f"backends.{role}", _unable(query, binding, *entry)) for entry in unknown)
            continue
        try:
            with attributed(query, {role: binding}):
                problems.extend(problem.within("query") for problem in query.unsupported_by(binding.create(**own_keys)))
        except ConfigError as error:
            problems.extend(problem.within(f"backends.{role}") for problem in error.problems)
        except PluginError as error:
            problems.append(Problem(f"backends.{role}", str(error)))
    if problems:
        raise ConfigError(*problems)
    return {**bindings, **query.named_backends}


def _unable(query: Query, binding: Binding, name: str, value: Any) -> str:
    remedy = query.backend_remedies.get(name, "choose a backend that has it")
    return (
        f"{binding.info.name} has no parameter {name!r}, and the query's {name} = {literal(value)} needs one: {remedy}"
    )


def _unknown_parameters(binding: Binding, values: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Parameters from the query that its backend lacks: only some backends support such a query."""
    try:
        cls = binding.backend_class
    except PluginError:
        return []  # reported when it is created
    if not attrs.has(cls):
        return []
    names = {*(parameter.name for parameter in parameters_of(cls)), *getattr(cls, "renamed", {})}
    return [(name, value) for name, value in values.items() if name not in names]


def column_problems(query: Query, schema: pa.Schema) -> list[Problem]:
    """Problems of a query over a source with this schema, for any backends."""
    twice = [name for name in query.columns if schema.names.count(name) > 1]
    if twice:
        return [Problem("source", f"has several columns {name!r}: rename all but one") for name in twice]
    with attributed(query):
        return [problem.within("query") for problem in query.check(schema)]
