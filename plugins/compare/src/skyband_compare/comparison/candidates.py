"""Parses which backends to compare, with which parameters, and chooses the reference."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import field, frozen
from skyband.errors import ConfigError, PluginError, Problem, suggest
from skyband.registry import installed
from skyband.registry.info import BackendInfo
from skyband_jobs.job.job_file import assignment

EXAMPLE = "sketch=pcsa-ml,k-skb:epsilon=0.05"
_COMMA = re.compile(r",(?![^\[({]*[\])}])")  # but not in a list or a table
_COLON = re.compile(r":(?=\s*[A-Za-z_]\w*\s*=)")


@frozen
class Choice:
    """A backend with its parameters."""

    label: str
    """Its name in tables and charts."""
    name: str
    parameters: Mapping[str, Any] = field(factory=dict)

    @property
    def table(self) -> dict[str, Any]:
        """The entry of a job for it."""
        return {"name": self.name, **self.parameters}


def role_and_names(text: str) -> tuple[str, str]:
    """Split `ROLE=A,B,C` at the first `=`. Raises ConfigError if the role is unknown or there is no `=`."""
    role, equals, names = text.partition("=")
    role = role.strip()
    if not equals:
        raise ConfigError(Problem("", f"must be ROLE=A,B,C, such as {EXAMPLE} (got {text!r})"))
    known_role(role)
    return role, names


def known_role(role: str) -> str:
    """The role. Raises ConfigError if it is unknown, PluginError if it cannot be used."""
    try:
        return installed().role(role).name
    except ConfigError as error:
        raise ConfigError(Problem("", f"unknown role {role!r}; {suggest(role, installed().roles)}")) from error


def choices(role: str, names: str, of_job: Any = None) -> list[Choice]:
    """The backends in `A,B:KEY=VALUE:KEY=VALUE,C`; `of_job` is the role's entry in a job, whose parameters A keeps.

    Raises ConfigError, with all problems, if one is unknown or named twice.
    """
    backend_of_job = dict(of_job) if isinstance(of_job, Mapping) else {}
    own = {backend_of_job.pop("name", installed().role(role).default): backend_of_job}
    problems, entries = list[Problem](), list[Choice]()
    for text in _COMMA.split(names):
        try:
            entries.append(_choice(role, text, own))
        except ConfigError as error:
            problems += error.problems
    twice = sorted({choice.label for choice in entries if sum(choice == other for other in entries) > 1})
    problems += [Problem("", f"{label} is named twice") for label in twice]
    if problems:
        raise ConfigError(*problems)
    return entries


def _choice(role: str, text: str, own: Mapping[str, Mapping[str, Any]]) -> Choice:
    name, *settings = (part.strip() for part in _COLON.split(text))
    if not name:
        raise ConfigError(Problem("", f"a backend's name is missing; write {EXAMPLE}"))
    if ":" in name:
        raise ConfigError(
            Problem("", f"parameters are written NAME:KEY=VALUE, such as k-skb:epsilon=0.05 (got {text!r})")
        )
    parameters = dict(assignment(setting) for setting in settings)
    try:
        installed().bind(role, name, parameters.get("distribution"))
    except PluginError:
        pass  # it exists and cannot be used: its row will say why
    except ConfigError as error:
        raise ConfigError(*(Problem("", problem.message) for problem in error.problems)) from error
    return Choice(" ".join([name, *settings]), name, {**own.get(name, {}), **parameters})


def every(role: str) -> list[Choice]:
    """All usable backends of a role, the default first. Raises ConfigError if there are none."""
    names = [info.name for info in installed().backends(role)]
    if not names:
        home = installed().role(role).distribution
        raise ConfigError(
            Problem("", f"no backend for the role {role}; the usual ones come with {home}: pip install {home}")
        )
    return [
        Choice(name, name) for name in sorted(names, key=lambda name: (name != installed().role(role).default, name))
    ]


def reference(role: str, compared: Sequence[Choice], against: Choice | None) -> Choice:
    """The backend to compare answers with: the one named, else an exact one, preferably among the compared.

    Raises ConfigError if no exact backend of the role is installed.
    """
    if against is not None:
        same = [choice for choice in compared if choice in (against,) or choice.label == against.label]
        return same[0] if same else against
    exact = [info for info in installed().backends(role) if info.guarantee == "exact"]
    names = {info.name for info in exact}
    among = [choice for choice in compared if choice.name in names]
    if among:
        return among[0]
    if not exact:
        message = f"no exact backend of the role {role} is installed; name the one to compare with: --against NAME"
        raise ConfigError(Problem("", message))
    name = min(exact, key=lambda info: _preferred(role, info)).name
    return Choice(name, name)


def _preferred(role: str, info: BackendInfo) -> tuple[bool, bool, str]:
    return info.name != installed().role(role).default, info.name != "exact", info.name
