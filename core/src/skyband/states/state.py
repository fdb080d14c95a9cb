"""One state as a value: read from its bytes, each part looked at, and its sketch not built."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any

from attrs import define, field, frozen

from skyband import snapshot
from skyband.arrays import TIME_MIN, Array
from skyband.errors import ConfigError, PluginError, SnapshotError
from skyband.registry import installed
from skyband.registry.discovery import cause
from skyband.registry.info import BackendInfo
from skyband.roles.sketch_reader import SketchReader
from skyband.roles.top_reader import TopReader
from skyband.states.coverage import HEADER, Coverage

ROLE = "sketch"


@frozen
class Readers:
    """The backends whose states can be read. Plain data: workers of Spark need not have the plugins' entry points."""

    infos: Mapping[str, BackendInfo]
    """The sketches, by name."""
    rankers: Mapping[str, BackendInfo] = field(factory=dict)
    """The rankers whose states can be asked, by `role/name`."""

    @classmethod
    def installed(cls) -> "Readers":
        """Those of the backends that are installed here."""
        others = [info for info in installed().backends() if info.role != ROLE and info.reader is not None]
        sketches = {info.name: info for info in installed().backends(ROLE)}
        return cls(sketches, {info.key: info for info in others})

    def info(self, name: Any) -> BackendInfo:
        """Raises SnapshotError for a backend that is not installed."""
        try:
            return self.infos[name]
        except (KeyError, TypeError):
            known = ", ".join(sorted(self.infos))
            raise SnapshotError(f"holds {ROLE}/{name}, which is not installed (there are: {known})") from None


@define
class AnyState(ABC):
    """A state: of which backend it is, and what it covers."""

    info: BackendInfo
    parameters: dict[str, Any]
    covers: Coverage | None
    nbytes: int

    @property
    def key(self) -> str:
        """`role/name` of its backend."""
        return self.info.key

    @property
    def floor(self) -> int:
        """The earliest moment that it answers from."""
        return self.earliest if self.covers is None else self.covers.since

    @property
    @abstractmethod
    def earliest(self) -> int:
        """It has forgotten what is older than this."""

    @property
    @abstractmethod
    def latest(self) -> int | None:
        """The latest time in it."""

    @property
    @abstractmethod
    def retained(self) -> int:
        """Items that it holds."""

    def check_coverage(self) -> None:
        """Raise SnapshotError unless it holds just what its header says that it covers."""
        covers = self.covers
        if covers is not None and (self.earliest > covers.since or (self.latest or TIME_MIN) >= covers.at):
            raise SnapshotError(f"contradicts itself: it does not hold just what it covers, {covers.to_header()}")


@define
class State(AnyState):
    """The state of a sketch, with a reader of it."""

    reader: SketchReader

    @property
    def earliest(self) -> int:
        return self.reader.floor

    @property
    def latest(self) -> int | None:
        return self.reader.latest

    @property
    def retained(self) -> int:
        return self.reader.retained


def read_state(blob: Any, readers: Readers | None = None) -> State:
    """A state from its bytes. Raises SnapshotError where they are damaged, newer, or not the state of a sketch."""
    return sketch_state(snapshot.decode(blob), len(memoryview(blob).cast("B")), readers or installed_readers())


def sketch_state(held: snapshot.Snapshot, nbytes: int, readers: Readers) -> State:
    """The same from a snapshot that is decoded already."""
    if held.header.get("role") != ROLE:
        of = f"{held.header.get('role')}/{held.header.get('name')}" if "role" in held.header else "no backend"
        remedy = "; heavy_hitters asks those of rankers" if of in readers.rankers else ""
        raise SnapshotError(f"holds the state of {of}: only those of sketches can be asked so{remedy}")
    info = readers.info(held.header.get("name"))
    parameters = parameters_in(held, info)
    state = State(
        info, parameters, Coverage.from_header(held.header), nbytes, read_arrays(info, parameters, held.arrays)
    )
    state.check_coverage()
    return state


def parameters_in(held: snapshot.Snapshot, info: BackendInfo) -> dict[str, Any]:
    """The parameters that a snapshot's header has. Raises SnapshotError where they are none."""
    parameters = held.header.get("parameters")
    if not isinstance(parameters, dict):
        raise SnapshotError(f"of {info.key} does not fit the installed version: its parameters are {parameters!r:.80}")
    return parameters


def encode_state(role: str, name: str, parameters: Mapping[str, Any], state: Mapping[str, Array], covers: Any) -> bytes:
    """The bytes of a state: the snapshot of a backend, whose header says besides what it covers (a Coverage or None).

    `skyband.restore` takes it too.
    """
    extra = {} if covers is None else {HEADER: covers.to_header()}
    return snapshot.encode({"role": role, "name": name, "parameters": dict(parameters), **extra}, state)


def read_arrays(info: BackendInfo, parameters: dict[str, Any], arrays: Mapping[str, Array]) -> Any:
    """The reader of a state. Raises SnapshotError where it contradicts itself, PluginError where there is none."""
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
    return _load(info.key, info.reader, SketchReader if info.role == ROLE else TopReader)


@lru_cache(maxsize=64)
def _load(key: str, place: str, kind: type[Any]) -> type[Any]:
    module, _, name = place.partition(":")
    try:
        cls = getattr(import_module(module), name)
    except Exception as error:
        raise PluginError(f"{key}: {place} could not be imported: {cause(error)}") from error
    if not (isinstance(cls, type) and issubclass(cls, kind)):
        raise PluginError(f"{key}: {place} is not a subclass of {kind.__name__}")
    return cls


@lru_cache(maxsize=1)
def installed_readers() -> Readers:
    """Those of this process."""
    return Readers.installed()
