"""Limits on the error and the memory of a backend, by which it is chosen."""

import re
from collections.abc import Mapping
from typing import Any

from attrs import frozen
from skyband.config.literals import literal
from skyband.config.parameters import parameters_of
from skyband.errors import ConfigError, PluginError, Problem, closest, suggest
from skyband.registry import installed
from skyband.text_tables import size

AUTO = "auto"
MOST_ROWS = 100_000
"""The rows of a source that backends are measured on, at most."""

_KEYS = ("error", "memory")
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmg]?)b\s*", re.IGNORECASE)
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


@frozen
class Limits:
    """The most that the error and the state of a backend may be; None: any."""

    error: float | None = None
    memory: int | None = None

    @classmethod
    def of(cls, role: str, limits: Any) -> "Limits":
        """The limits in a job. Raises ConfigError under the role."""
        if limits == AUTO:
            return cls(memory=256 * 10**6)
        problems = [Problem(f"{role}.{key}", _unknown(key)) for key in limits if key not in _KEYS]
        error, memory = limits.get("error"), limits.get("memory")
        if error is not None and not (isinstance(error, float) and 0 < error < 1):
            message = f"must be a number between 0 and 1, such as 0.02 for 2 % (got {literal(error)})"
            problems.append(Problem(f"{role}.error", message))
        nbytes = None if memory is None else parse_size(memory)
        if memory is not None and nbytes is None:
            problems.append(Problem(f"{role}.memory", f'must be a size such as "200 MB" (got {literal(memory)})'))
        if problems:
            raise ConfigError(*problems)
        return cls(error, nbytes)

    def __str__(self) -> str:
        parts = [] if self.error is None else [f"error = {self.error:g}"]
        return ", ".join(parts if self.memory is None else [*parts, f'memory = "{size(self.memory)}"'])


def parse_size(text: Any) -> int | None:
    """The bytes of a text such as "200 MB"; None if it is not a size."""
    match = _SIZE.fullmatch(text) if isinstance(text, str) and text.isascii() else None
    return int(float(match[1]) * _UNITS[match[2].lower()]) or None if match else None


def limited(role: str, choice: Any) -> bool:
    """Whether a role's backend is to be chosen by limits, perhaps misspelt, rather than by its name.

    A key that is only like one of a limit, such as an error rate, may be a parameter of the role's default backend.
    """
    if not isinstance(choice, Mapping) or "name" in choice:
        return bool(choice == AUTO)
    if not set(_KEYS).isdisjoint(choice):
        return True
    alike = {key for key in choice if closest(key, _KEYS) is not None}
    return bool(alike) and alike.isdisjoint(_parameters_of_default(role))


def _parameters_of_default(role: str) -> set[str]:
    try:
        return {each.name for each in parameters_of(installed().bind(role, None).backend_class)}
    except (ConfigError, PluginError):  # reported where the role is bound
        return set()


def _unknown(key: str) -> str:
    return f"unknown; {suggest(key, _KEYS)}; for a parameter of a backend, give its `name` too"
