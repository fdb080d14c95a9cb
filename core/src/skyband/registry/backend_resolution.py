"""From what a user writes for each role to the backends that are meant."""

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import evolve

from skyband.config.literals import literal
from skyband.errors import ConfigError, PluginError, Problem, suggest
from skyband.registry.binding import Binding
from skyband.registry.registry import installed


def choose(roles: Iterable[str], choices: Mapping[str, Any] | None = None) -> dict[str, Binding]:
    """A binding for each role, from what the user chose: a name, a table with `name` and parameters, or nothing.

    Raises ConfigError with every problem at once, each under its role.
    """
    if not isinstance(choices, Mapping | None):
        raise ConfigError(Problem("", f"must be a mapping of roles to backends (got {literal(choices)})"))
    names, bindings = dict(choices or {}), {}
    problems: list[Problem] = []
    roles = tuple(roles)
    unknown = sorted(names.keys() - set(roles))
    problems.extend(Problem(role, f"this query has no {_such(role, roles)}") for role in unknown)
    for role in roles:
        try:
            bindings[role] = _binding(role, names.get(role))
        except ConfigError as error:
            problems.extend(error.problems)
        except PluginError as error:
            problems.append(Problem(role, str(error)))
    if problems:
        raise ConfigError(*problems)
    return bindings


def _such(role: str, roles: tuple[str, ...]) -> str:
    return f"such role; {suggest(role, roles)}" if roles else "role, and so no backends: leave it out"


def _binding(role: str, choice: Any) -> Binding:
    if isinstance(choice, Binding):
        return choice
    if choice is None or isinstance(choice, str):
        return installed().bind(role, choice)
    if not isinstance(choice, Mapping):
        raise ConfigError(Problem(role, f'must be a name or a table such as {{ name = "…" }} (got {literal(choice)})'))
    parameters = dict(choice)
    name, distribution = parameters.pop("name", None), parameters.pop("distribution", None)
    return evolve(installed().bind(role, name, distribution), parameters=parameters)
