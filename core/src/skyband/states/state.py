"""One state as a value: read from its bytes, each part looked at, and its sketch not built."""

from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any

from attrs import define, frozen

from skyband import snapshot
from skyband.arrays import TIME_MIN, Array
from skyband.errors import ConfigError, PluginError, SnapshotError
from skyband.registry import installed
from skyband.registry.discovery import cause
from skyband.registry.info import BackendInfo
from skyband.roles.sketch_reader import SketchReader
from skyband.states.coverage import HEADER, Coverage

ROLE = "sketch"


@frozen
class Readers:
    """The backends whose states can be read. Plain data: workers of Spark need not have the plugins' entry points."""

    infos: Mapping[str, BackendInfo]
    """By name."""

    @classmethod
    def installed(cls) -> "Readers":
        """Those of the backends that are installed here."""
        return cls({info.name: info for info in installed().backends(ROLE)})

    def info(self, name: Any) -> BackendInfo:
        """Raises SnapshotError for a backend that is not installed."""
        try:
            return self.infos[name]
        except (KeyError, TypeError):
            known = ", ".join(sorted(self.infos))
            raise SnapshotError(f"holds {ROLE}/{name}, which is not installed (there are: {known})") from None


@define
class State:
    """A state: of which backend it is, what it covers, and a reader of it."""

    info: BackendInfo
    parameters: dict[str, Any]
    covers: Coverage | None
    reader: SketchReader
    nbytes: int

    @property
    def key(self) -> str:
        """`role/name` of its backend."""
        return self.info.key

    @property
    def floor(self) -> int:
        """The earliest moment that it answers from."""
        return self.reader.floor if self.covers is None else self.covers.since


def read_state(blob: Any, readers: Readers | None = None) -> State:
    """A state from its bytes. Raises SnapshotError where they are damaged, newer, or not the state of a sketch."""
    held = snapshot.decode(blob)
    if held.header.get("role") != ROLE:
        of = f"{held.header.get('role')}/{held.header.get('name')}" if "role" in held.header else "no backend"
        raise SnapshotError(f"holds the state of {of}: only those of sketches can be asked")
    info = (readers or _installed_readers()).info(held.header.get("name"))
    covers = Coverage.from_header(held.header)
    parameters = held.header.get("parameters")
    if not isinstance(parameters, dict):
        raise SnapshotError(f"of {info.key} does not fit the installed version: its parameters are {parameters!r:.80}")
    reader = _reader(info, parameters, held.arrays)
    if covers is not None and (reader.floor > covers.since or (reader.latest or TIME_MIN) >= covers.at):
        raise SnapshotError(f"contradicts itself: it does not hold just what it covers, {covers.to_header()}")
    return State(info, parameters, covers, reader, len(memoryview(blob).cast("B")))


def encode_state(role: str, name: str, parameters: Mapping[str, Any], state: Mapping[str, Array], covers: Any) -> bytes:
    """The bytes of a state: the snapshot of a backend, whose header says besides what it covers (a Coverage or None).

    `skyband.restore` takes it too.
    """
    extra = {} if covers is None else {HEADER: covers.to_header()}
    return snapshot.encode({"role": role, "name": name, "parameters": dict(parameters), **extra}, state)


def _reader(info: BackendInfo, parameters: dict[str, Any], arrays: Mapping[str, Array]) -> SketchReader:
    try:
        return _reader_class(info)(parameters, arrays)
    except SnapshotError as error:
        raise SnapshotError(f"of {info.key}: {error}") from error
    except PluginError:
        raise
    except Exception as error:  # parameters that another version wrote
        said = error if isinstance(error, ConfigError) else cause(error)
        raise SnapshotError(f"of {info.key} does not fit the installed version: {said}") from error


def _reader_class(info: BackendInfo) -> Any:
    if info.reader is None:
        from skyband.states.restored_reader import reader_by_restoring  # loads the backend

        return reader_by_restoring(info)
    return _load(info.key, info.reader)


@lru_cache(maxsize=64)
def _load(key: str, place: str) -> type[SketchReader]:
    module, _, name = place.partition(":")
    try:
        cls = getattr(import_module(module), name)
    except Exception as error:
        raise PluginError(f"{key}: {place} could not be imported: {cause(error)}") from error
    if not (isinstance(cls, type) and issubclass(cls, SketchReader)):
        raise PluginError(f"{key}: {place} is not a subclass of SketchReader")
    return cls


@lru_cache(maxsize=1)
def _installed_readers() -> Readers:
    return Readers.installed()
