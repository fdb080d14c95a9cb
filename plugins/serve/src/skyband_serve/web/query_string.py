"""Reads the parameters of a request, which the registry declares as those of `skyband ask`."""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

from attrs import frozen
from skyband.config.literals import literal
from skyband.config.parameters import Parameter
from skyband.errors import InputError, suggest
from skyband.registry.install_hints import comes_with

GROUP = "group."
"""Before the name of a column: only rows of groups with this value there."""
_MOST = 64
"""Parameters of a request."""
_LETTERS = 100
"""The longest name in an error."""
_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]{1,3})?|[+-]?(inf|infinity|nan)", re.IGNORECASE)


@frozen
class Option:
    """A parameter of a request. Its value is checked by what it is for."""

    name: str
    type: str
    """As `Parameter.type`: int, float, bool, range, list, or anything else for text."""
    help: str
    several: bool = False

    @classmethod
    def of(cls, question: str, parameter: Parameter, several: bool) -> "Option":
        """The option for a parameter of a question."""
        return cls(parameter.name, parameter.type, f"{question}: {parameter.help}", several)


@frozen
class Request:
    """The parameters of a request."""

    values: Mapping[str, Any]
    """By name; a tuple where a parameter may be given several times."""
    groups: Mapping[str, tuple[str, ...]]
    """By column, the values asked for, as text."""


def request_of(query: bytes, options: Sequence[Option], of_groups: bool) -> Request:
    """Parse a query string. Raises InputError that names the first wrong parameter.

    of_groups: whether `group.COLUMN` is accepted.
    """
    by_name = {option.name: option for option in options}
    texts_by_name: dict[str, list[str]] = {}
    groups: dict[str, list[str]] = {}
    for name, text in _pairs(query):
        if of_groups and name.startswith(GROUP):
            groups.setdefault(name.removeprefix(GROUP), []).append(text)
        elif name in by_name:
            texts_by_name.setdefault(name, []).append(text)
        else:
            names = [*by_name, *([f"{GROUP}COLUMN"] if of_groups else [])]
            raise InputError(name[:_LETTERS], f"unknown; {suggest(name[:_LETTERS], names)}{comes_with(name)}")
    values = {name: _value(by_name[name], texts) for name, texts in texts_by_name.items()}
    return Request(values, {name: tuple(texts) for name, texts in groups.items()})


def _pairs(query: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MOST)
    except UnicodeDecodeError as error:
        raise InputError("query", "must be UTF-8, with % before the codes of other characters") from error
    except ValueError as error:
        raise InputError("query", f"must have at most {_MOST} parameters") from error


def _value(option: Option, texts: Sequence[str]) -> Any:
    if option.several:
        return tuple(_one(option, text) for text in texts)
    if len(texts) > 1:
        raise InputError(option.name, f"is given {len(texts)} times: give it once")
    return _one(option, texts[0])


def _one(option: Option, text: str) -> Any:
    """A value of the option's type, or the text if it is none, for the check that says what it must be."""
    if option.type == "bool":
        if text not in ("", "true", "false"):
            raise InputError(option.name, f"must be true or false (got {literal(text)})")
        return text != "false"
    if option.type == "range":
        low, comma, high = text.partition(",")
        if not (comma and _NUMBER.fullmatch(low) and _NUMBER.fullmatch(high)):
            raise InputError(option.name, f"must be LOW,HIGH, such as 1,5 or -inf,5 (got {literal(text)})")
        return float(low), float(high)
    if option.type in ("int", "list") and _WHOLE.fullmatch(text):
        return int(text)
    if option.type in ("float", "list") and _NUMBER.fullmatch(text):
        return float(text)
    return text
