"""The backends whose states can be read here, and the reader of each."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from attrs import field, frozen

from skyband.errors import SnapshotError
from skyband.registry import Registry, installed
from skyband.registry.info import BackendInfo, QueryInfo
from skyband.registry.install_hints import comes_with
from skyband.registry.module_import import load, load_class
from skyband.roles.answering_reader import AnsweringReader


@frozen
class Readers:
    """The backends whose states can be read. Plain data: workers need not have the plugins' entry points."""

    infos: Mapping[str, BackendInfo | QueryInfo]
    """Backends by `role/name`, and queries that emit states themselves by `query/kind`."""
    restoring: Mapping[str, str] = field(factory=dict)
    """By role, the reader for backends that name none, `RoleInfo.reader`."""

    @classmethod
    def installed(cls) -> "Readers":
        """Readers for the backends installed here."""
        return installed_readers()

    def info(self, role: Any, name: Any) -> BackendInfo | QueryInfo:
        """Raises SnapshotError for a backend or query that is not installed, or whose states cannot be read."""
        key = f"{role}/{name}"
        if key in self.infos:
            return self.infos[key]
        installed_keys = sorted(other for other, info in self.infos.items() if info.role == role)
        if not installed_keys:
            hint = comes_with(str(role))
            raise SnapshotError(f"holds the state of {key}, which no installed plugin can read{hint}")
        raise SnapshotError(f"holds {key}, which is not installed (installed: {', '.join(installed_keys)})")

    def reader(self, info: BackendInfo | QueryInfo) -> type[AnsweringReader]:
        """The class that reads a backend's states. Raises PluginError if it cannot be imported."""
        if info.reader is not None:
            return _reader_class(info.key, info.reader)
        restoring: type[AnsweringReader] = load(self.restoring[info.role], info.key).of(info)  # loads the backend
        return restoring


@lru_cache(maxsize=64)
def _reader_class(key: str, place: str) -> type[AnsweringReader]:
    return load_class(place, AnsweringReader, key)


def installed_readers() -> Readers:
    """The readers of this process."""
    return _readers_of(installed())


@lru_cache(maxsize=1)
def _readers_of(registry: Registry) -> Readers:
    restoring = {role.name: role.reader for role in registry.roles.values() if role.reader is not None}
    infos: dict[str, BackendInfo | QueryInfo] = {
        info.key: info for info in registry.backends() if info.reader is not None or info.role in restoring
    }
    infos |= {info.key: info for info in registry.queries.usable.values() if info.reader is not None}
    return Readers(infos, restoring)
