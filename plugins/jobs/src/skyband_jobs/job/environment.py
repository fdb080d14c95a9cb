"""`${NAME}` in a job: replaced by an environment variable, so that a password need not be in the file.

`${NAME:-default}` has a default, `$${NAME}` is the text `${NAME}`. Works in any text of a job except names of keys.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from skyband.config.redaction import hide
from skyband.errors import ConfigError, Problem

_PLACE = re.compile(r"\$(?P<plain>\$)?\{(?P<name>[A-Za-z_]\w*)(?::-(?P<default>[^}]*))?\}", re.ASCII)
_SECRET = ("options", "catalog", "spark", "url")
"""Tables and keys in which anything may be secret: values from the environment are never shown. Elsewhere they are
paths, columns or numbers, and are shown as if they were in the file."""


def expand(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Fill in a job's tables from the environment. Raises ConfigError with all variables that are not set."""
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
    return f"the environment variable {name} is not set: set it, or give it a default, ${{{name}:-…}}"


def _replacement(match: re.Match[str]) -> str:
    if match["plain"]:
        return match[0][1:]
    return os.environ.get(match["name"], match["default"] or "")
