"""Reads a job's TOML file, with the changes of `--set`, as tables."""

import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from skyband.config.literals import MOST_DIGITS, is_huge, literal
from skyband.config.redaction import hide, learn, redacted_line
from skyband.errors import ConfigError, Problem, suggest

from skyband_jobs.files.file_listing import format_by_name
from skyband_jobs.job.job_error import JobError

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


MOST_BYTES = 10_000_000
"""Of a job file."""


def assignment(text: str) -> tuple[str, Any]:
    """Parse `KEY=VALUE`, the value in TOML, or as plain text where it is not. Raises JobError."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise JobError("--set", Problem("", f"must be text in UTF-8 (got {literal(text)})")) from error
    key, equals, value = text.partition("=")
    if not equals or not all(key.strip().split(".")):
        raise JobError("--set", Problem("", f"must be KEY=VALUE, such as query.k=10 (got {literal(text)})"))
    try:
        return key.strip(), tomllib.loads(f"value = {value}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return key.strip(), value.strip()
    except ValueError as error:  # Python refuses longer numbers
        raise JobError("--set", Problem(key.strip(), _TOO_MANY_DIGITS)) from error


REMOVED = object()
"""The value of a key that `--set -KEY` takes out of a job."""


def assignments(sets: Iterable[str]) -> dict[str, Any]:
    """The values of `--set` by key: a value, or REMOVED. Raises JobError where one is malformed."""
    typed = dict((text[1:].strip(), REMOVED) if removes(text) else assignment(text) for text in sets)
    learn(typed)
    return typed


def removes(text: str) -> bool:
    """Whether `--set` removes a key from a job: `-KEY`, without a value."""
    return text.startswith("-") and "=" not in text and all(text[1:].strip().split("."))


Edit = Callable[[dict[str, Any]], Mapping[str, Any]]
"""A function that returns changed tables of a job."""


def tables_of(path: Path, typed: Mapping[str, Any], edit: Edit | None = None) -> dict[str, Any]:
    """The tables of a job's file, with `--set` and the environment applied.

    edit: changes them before the environment is read, so that what it removes needs no variables.
    Raises ConfigError where they cannot be read.
    """
    tables = _parsed(path)
    learn(tables)
    for key, value in typed.items():
        _put(tables, key, value)
    learn(tables)
    tables = expand(tables if edit is None else edit(tables))
    learn(tables)
    wrong = [Problem(place, _TOO_MANY_DIGITS) for place in _huge_numbers("", tables)]
    if wrong:
        raise ConfigError(*wrong)
    return tables


_TOO_MANY_DIGITS = f"must be a number of at most {MOST_DIGITS} digits"


def _huge_numbers(place: str, value: Any) -> Iterator[str]:
    """The places of numbers that have more digits than any use needs."""
    if is_huge(value):
        yield place
    elif isinstance(value, Mapping):
        for key, entry in value.items():
            yield from _huge_numbers(f"{place}.{key}".lstrip("."), entry)
    elif isinstance(value, list):
        for number, entry in enumerate(value):
            yield from _huge_numbers(f"{place}[{number}]", entry)


def _parsed(path: Path) -> dict[str, Any]:
    if format_by_name(path) is not None:
        raise ConfigError(Problem("", f"is data, not a job: `skyband check {path}` prints a first job for it"))
    text = _text_of(path)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(Problem("", _misspelt(text, str(error)))) from error
    except ValueError as error:  # Python refuses longer numbers
        raise ConfigError(Problem("", f"{_line_of_digits(text)}: {_TOO_MANY_DIGITS}")) from error
    except RecursionError as error:
        raise ConfigError(Problem("", "cannot be read: its brackets are nested too deeply")) from error


def _text_of(path: Path) -> str:
    try:
        with path.open("rb") as file:  # may be a pipe, or endless
            content = file.read(MOST_BYTES + 1)
    except FileNotFoundError as error:
        raise ConfigError(Problem("", "does not exist")) from error
    except OSError as error:
        raise ConfigError(Problem("", f"cannot be read: {error.strerror or error}")) from error
    if len(content) > MOST_BYTES:
        raise ConfigError(Problem("", f"is not a job: it is larger than {MOST_BYTES:,} bytes"))
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise ConfigError(Problem("", f"cannot be read: byte {error.start} is not UTF-8")) from error


def _line_of_digits(text: str) -> str:
    """The line of the first number that is too long."""
    digits = re.search(rf"[\d_]{{{MOST_DIGITS}}}", text)
    return f"line {text.count(chr(10), 0, digits.start()) + 1}" if digits else "the file"


def _misspelt(text: str, message: str) -> str:
    """A syntax error of TOML, with its line; the most common mistake is text without quotes."""
    what, _, where = message.rstrip(")").partition(" (at ")
    sentence = f"{where or 'the file'}: {what[0].lower()}{what[1:]}"
    number = re.match(r"line (\d+)", where)
    if number is None:
        return sentence
    *above, line = text.split("\n")[: int(number[1])]
    belongs_to = " ".join(_headings(above)) if "=" not in line else _headings(above)[0]
    quotes = '; text needs quotes: "…"' if what == "Invalid value" else ""
    return f"{sentence}: {redacted_line(line.strip(), belongs_to)}{quotes}"


def _headings(lines: Sequence[str]) -> tuple[str, str]:
    """The last table and the last key that these lines start."""
    table = next((line for line in reversed(lines) if line.lstrip().startswith("[")), "")
    return table, next((line.partition("=")[0] for line in reversed(lines) if "=" in line), "")


def _path(key: str) -> list[str]:
    """The tables that contain a key, and its name there: the name of an option may have dots, as bootstrap.servers."""
    names = key.split(".")
    if len(names) > 3 and names[1] in ("options", "catalog"):
        names[2:] = [".".join(names[2:])]
    return names


def _put(tables: dict[str, Any], key: str, value: Any) -> None:
    *outer, last = _path(key)
    table = tables
    for number, name in enumerate(outer):
        entry = table.get(name, {})
        if outer[:number] == ["backends"] and isinstance(entry, str):
            entry = {"name": entry}  # sketch = "k-skb" is short for a table, to which a parameter can be added
        if not isinstance(entry, dict):
            raise ConfigError(Problem(key, f"{'.'.join(outer[: number + 1])} is {literal(entry)}, not a table"))
        table[name] = dict(entry)
        table = table[name]
    if value is not REMOVED:
        table[last] = value
    elif table.pop(last, REMOVED) is REMOVED:
        raise ConfigError(Problem(key, f"is not in the job, so it cannot be removed; {suggest(last, table)}"))
