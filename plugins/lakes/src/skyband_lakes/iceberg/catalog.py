"""Opens the catalogue of Iceberg tables with the library pyiceberg."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from skyband.errors import ConfigError, Problem

from skyband_lakes.libraries import ICEBERG

_SQLITE = re.compile(r"(sqlite(?:\+\w+)?:///)(?!/|file:|:memory:)(?=.)")
_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


def absolute_catalog(properties: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """A catalogue's properties, with the SQLite file of `uri` and the folder of `warehouse` relative to `folder`."""
    placed = dict(properties)
    uri, warehouse = placed.get("uri"), placed.get("warehouse")
    if isinstance(uri, str):
        placed["uri"] = _SQLITE.sub(lambda match: f"{match[1]}{folder.absolute()}/", uri, count=1)
    if isinstance(warehouse, str) and not _ELSEWHERE.match(warehouse):
        placed["warehouse"] = str(folder.absolute() / warehouse)
    return placed


def catalog_problems(properties: Mapping[str, Any], writes: bool = False) -> list[Problem]:
    """Problems with a catalogue's properties that are visible without opening it.

    writes: whether a table may have to be created in it.
    """
    uri = str(properties.get("uri", ""))
    if not uri and "name" not in properties:
        message = (
            'is required: the catalogue, such as "sqlite:///lake.db", or catalog.name from pyiceberg\'s configuration'
        )
        return [Problem("catalog.uri", message)]
    if uri.startswith("sqlite") and (":memory:" in uri or not uri.partition("://")[2].strip("/")):
        return [Problem("catalog.uri", f'must be a file, such as "sqlite:///lake.db" (got {uri!r})')]
    if writes and uri.startswith("sqlite") and "warehouse" not in properties:
        return [Problem("catalog.warehouse", 'is required: the folder that holds the tables, such as "lake/"')]
    return []


@contextmanager
def opened(properties: Mapping[str, str]) -> Iterator[Any]:
    """Open the catalogue; one in SQLite is created if its file does not exist.

    Converts errors of pyiceberg and its database to ConfigError while it is open.
    """
    wrong = catalog_problems(properties)
    if wrong:
        raise ConfigError(*wrong)
    load = ICEBERG.imported("catalog").load_catalog
    others = {name: value for name, value in properties.items() if name != "name"}
    file = sqlite_file(properties)
    with catalog_errors("catalog"):
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
        catalog = _loaded(load, properties.get("name", "default"), others)
    with catalog_errors("table"), catalog:
        yield catalog


def _loaded(load: Any, name: str, properties: Mapping[str, str]) -> Any:
    try:
        return load(name, **properties)
    except ValueError as error:
        if not str(error).startswith("URI missing"):
            raise
        message = f"pyiceberg's configuration has no catalogue {name!r}: add it there, or set catalog.uri"
        raise ConfigError(Problem("catalog.name", message)) from error


def is_there(properties: Mapping[str, str]) -> bool:
    """Whether the catalogue exists: only a SQLite file may be missing."""
    file = sqlite_file(properties)
    return file is None or file.is_file()


def sqlite_file(properties: Mapping[str, str]) -> Path | None:
    """The SQLite file of a catalogue; None for other catalogues."""
    scheme, _, path = properties.get("uri", "").partition(":///")
    of_sqlite = scheme.partition("+")[0] == "sqlite" and path and not path.startswith("file:")
    return Path(path.partition("?")[0]) if of_sqlite else None


@contextmanager
def catalog_errors(place: str) -> Iterator[None]:
    """Convert errors of pyiceberg, Arrow, the database or the system to a problem with a key of the job."""
    library_errors = tuple(kind for kind in vars(ICEBERG.imported("exceptions")).values() if isinstance(kind, type))
    kinds: list[type[BaseException]] = [kind for kind in library_errors if issubclass(kind, Exception)]
    kinds += [OSError, ValueError, *_database_errors()]
    try:
        yield
    except ConfigError:
        raise
    except tuple(kinds) as error:
        first, *_ = str(error).strip().splitlines() or [type(error).__name__]
        raise ConfigError(Problem(place, f"the Iceberg {place}: {first}")) from error


def _database_errors() -> list[type[BaseException]]:
    try:
        return [import_module("sqlalchemy.exc").SQLAlchemyError]
    except ModuleNotFoundError:  # other kinds of catalogues need no database
        return []
