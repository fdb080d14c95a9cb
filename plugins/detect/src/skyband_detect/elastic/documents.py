"""The rules in Elastic's files: TOML as in its repository of rules, or lines of JSON as exported."""

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen
from skyband.errors import ConfigError, Problem

_SUFFIXES = (".toml", ".json", ".ndjson")


@frozen
class Document:
    """One rule."""

    place: str
    """Its file, and its line in it."""
    content: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """Its type, such as threshold."""
        return str(self.content.get("type"))


def documents_of(paths: Iterable[Path]) -> list[Document]:
    """The rules of files, and of all such files in folders. Raises ConfigError if one cannot be read."""
    return [document for path in paths for file in _files(path) for document in _in_file(file)]


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(file for file in path.rglob("*") if file.suffix in _SUFFIXES and file.is_file())
    return [path]


def _in_file(path: Path) -> Iterator[Document]:
    try:
        text = path.read_text("utf-8")
        if path.suffix == ".toml":
            contents = [(str(path), tomllib.loads(text).get("rule"))]
        else:
            lines = text.splitlines() if path.suffix == ".ndjson" else [text]
            contents = [(f"{path}, line {n}", json.loads(line)) for n, line in enumerate(lines, 1) if line.strip()]
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(Problem(str(path), f"cannot be read: {error}")) from error
    for place, content in contents:
        if not isinstance(content, Mapping):
            raise ConfigError(Problem(place, "must be a rule of Elastic: a table [rule], or a line of JSON"))
        if "type" in content:  # the last line of an export counts its rules
            yield Document(place, content)
