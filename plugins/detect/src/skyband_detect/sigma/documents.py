"""The documents of Sigma's files: detections and correlations, by the names that correlations use."""

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from skyband.errors import ConfigError, Problem

from skyband_detect.sigma.refusals import RefusedError

_SUFFIXES = (".yml", ".yaml")


class Document(NamedTuple):
    """One rule, and where it is."""

    place: str
    content: Mapping[str, Any]

    @property
    def title(self) -> str:
        """Its name, title or id."""
        return str(next((self.content[key] for key in ("name", "title", "id") if self.content.get(key)), self.place))

    @property
    def is_correlation(self) -> bool:
        """Whether it is of other rules."""
        return "correlation" in self.content


def documents_of(paths: Iterable[Path]) -> list[Document]:
    """The documents of files, and of all files of YAML in folders. Raises ConfigError if one cannot be read."""
    try:
        yaml = import_module("yaml")
    except ImportError as error:
        raise ConfigError(Problem("sigma", "needs PyYAML: pip install 'skyband[sigma]'")) from error
    return [document for path in paths for file in _files(path) for document in _in_file(file, yaml)]


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(file for file in path.rglob("*") if file.suffix in _SUFFIXES and file.is_file())
    return [path]


def _in_file(path: Path, yaml: Any) -> Iterator[Document]:
    try:
        contents = list(yaml.safe_load_all(path.read_text("utf-8")))
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise ConfigError(Problem(str(path), f"cannot be read as YAML: {error}")) from error
    for number, content in enumerate(contents):
        if content is None:
            continue
        place = f"{path}, document {number + 1}" if len(contents) > 1 else str(path)
        if not isinstance(content, Mapping):
            raise ConfigError(
                Problem(place, "must be a Sigma rule: a mapping with title, and detection or correlation")
            )
        yield Document(place, content)


class Library:
    """The documents, to be found by id, name or title."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self.documents = list(documents)
        self._by_name: dict[str, list[Document]] = {}
        for document in self.documents:
            for name in {str(document.content[key]) for key in ("id", "name", "title") if document.content.get(key)}:
                self._by_name.setdefault(name, []).append(document)

    def named(self, name: Any) -> Document:
        """The document of a name. Raises RefusedError unless there is exactly one."""
        documents = self._by_name.get(str(name), [])
        if not documents:
            raise RefusedError("correlation.rules", f"no rule has the name or id {name!r} in the files given")
        if len(documents) > 1:
            places = " and ".join(document.place for document in documents)
            raise RefusedError("correlation.rules", f"{name!r} is the name of several rules: {places}")
        return documents[0]
