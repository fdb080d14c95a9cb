"""`${NAME}` in a job: what stands in the environment, so that a password need not stand in a file.

`${NAME:-default}` has a default, `$${NAME}` is the text `${NAME}`. In any text of a job but the names of its keys.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from skyband.config.redaction import hide
from skyband.errors import ConfigError, Problem

_PLACE = re.compile(r"\$(?P<plain>\$)?\{(?P<name>[A-Za-z_]\w*)(?::-(?P<default>[^}]*))?\}", re.ASCII)
_SECRET = ("options", "catalog", "spark", "url")
"""Tables and keys in which anything may be secret, so that what comes from the environment is shown nowhere. Elsewhere
it is a path, a column or a number, and shown as if it stood in the file."""


def expand(tables: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of a job with what the environment has. Raises ConfigError with all names that are not set."""
    problems: list[Problem] = []
    expanded = {key: _expanded(value, (key,), problems) for key, value in tables.items()}
    if problems:
        raise ConfigError(*problems)
    return expanded


def _expanded(value: Any, place: tuple[str, ...], problems: list[Problem]) -> Any:
    if isinstance(value, Mapping):
        return {key: _expanded(entry, (*place, str(key)), problems) for key, entry in value.items()}
    if isinstance(value, list):
        return [_expanded(entry, place, problems) for entry in value]
    if not isinstance(value, str) or "${" not in value:
        return value
    problems += [Problem(".".join(place), _unset(name)) for name in _missing(value)]
    if not set(place).isdisjoint(_SECRET):
        hide(os.environ[name] for name in _names(value) if name in os.environ)
    return _PLACE.sub(_replacement, value)


def _names(text: str) -> Iterable[str]:
    return dict.fromkeys(match["name"] for match in _PLACE.finditer(text) if not match["plain"])


def _missing(text: str) -> Iterator[str]:
    needed = {match["name"] for match in _PLACE.finditer(text) if not match["plain"] and match["default"] is None}
    yield from (name for name in _names(text) if name in needed and name not in os.environ)


def _unset(name: str) -> str:
    return f"the environment variable {name} is not set: set it, or write a default, ${{{name}:-…}}"


def _replacement(match: re.Match[str]) -> str:
    if match["plain"]:
        return match[0][1:]
    return os.environ.get(match["name"], match["default"] or "")
