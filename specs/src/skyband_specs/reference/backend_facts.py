"""What pages say of a backend in more than one place: its bound, what it can and costs, who gives its parameters."""

from typing import Any

from skyband.config.parameters import Parameter, parameters_of
from skyband.docstrings import read_docstring
from skyband.queries import load_query
from skyband.registry import installed
from skyband.registry.info import BackendInfo

from skyband_specs.reference.example_jobs import example_query
from skyband_specs.reference.markdown import line
from skyband_specs.reference.usable import usable_queries

NOT_STATED = "not stated"


def bound(info: BackendInfo, cls: type) -> str:
    """What is promised of an answer."""
    if info.guarantee == "exact":
        return "exact: equal to the definition"
    if info.guarantee == "heuristic":
        return "heuristic: no bound is promised"
    defaults = {parameter.name: parameter.default for parameter in parameters_of(cls)}
    at = (
        f" ({defaults['epsilon']} and {defaults['delta']} unless set)"
        if {"epsilon", "delta"} <= defaults.keys()
        else ""
    )
    return f"bounded: of the answers, at most a share delta is off by more than epsilon{at}"


def can(info: BackendInfo) -> str:
    """The capabilities that it has."""
    return (
        ", ".join(name for name in installed().role(info.role).all_capabilities if name not in info.lacks)
        or "nothing beyond its role"
    )


def complexity(cls: type) -> str:
    """Its cost, from its docstring."""
    return line(read_docstring(cls).complexity) or NOT_STATED


def queries_of(role: str) -> list[str]:
    """The usable kinds of query that use a role."""
    return [kind for kind in usable_queries() if role in load_query(kind).roles]


def named_in_keys(role: str) -> dict[str, str]:
    """The usable kinds of query that name backends of a role in a key, each with this key."""
    examples = {kind: example_query(kind) for kind in usable_queries()}
    return {
        kind: key.partition("[")[0]
        for kind, example in examples.items()
        if example is not None
        for key, binding in example[0].named_backends.items()
        if binding.info.role == role
    }


def given_by_queries(role: str) -> dict[str, list[str]]:
    """The parameters that queries set, by name, each with the kinds that set it."""
    queries: dict[str, list[str]] = {}
    for kind in queries_of(role):
        example = example_query(kind)
        if example is not None:
            for name in example[0].backend_parameters(role):
                queries.setdefault(name, []).append(kind)
    return queries


def job_line(info: BackendInfo, parameters: tuple[Parameter, ...], query_parameters: dict[str, list[str]]) -> str:
    """The line that chooses a backend in a job, with the parameters that the user may set, at their defaults."""
    own: dict[str, Any] = {"name": info.name}
    for parameter in parameters:
        if parameter.name not in query_parameters and isinstance(parameter.default, str | int | float):
            own[parameter.name] = parameter.default
    if len(own) == 1:
        return f'{info.role} = "{info.name}"'
    return f"{info.role} = {{ {', '.join(f'{name} = {_toml(value)}' for name, value in own.items())} }}"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else repr(value)
