"""Which backends' states can be read here, and by which class."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from attrs import field, frozen

from skyband.errors import PluginError, SnapshotError
from skyband.registry import Registry, installed
from skyband.registry.discovery import cause
from skyband.registry.info import BackendInfo
from skyband.registry.install_hints import comes_with
from skyband.registry.module_import import import_plugin
from skyband.roles.answering_reader import AnsweringReader


@frozen
class Readers:
    """The backends whose states can be read. Plain data: workers of Spark need not have the plugins' entry points."""

    infos: Mapping[str, BackendInfo]
    """By `role/name`."""
    restoring: Mapping[str, str] = field(factory=dict)
    """By role the reader of backends that name none, `RoleInfo.reader`."""

    @classmethod
    def installed(cls) -> "Readers":
        """Those of the backends that are installed here."""
        return installed_readers()

    def info(self, role: Any, name: Any) -> BackendInfo:
        """Raises SnapshotError for a backend that is not installed, or whose states are not read."""
        key = f"{role}/{name}"
        if key in self.infos:
            return self.infos[key]
        there = sorted(other for other, info in self.infos.items() if info.role == role)
        if not there:
            hint = comes_with(str(role))
            raise SnapshotError(f"holds the state of {key}, which nothing that is installed here reads{hint}")
        raise SnapshotError(f"holds {key}, which is not installed (there are: {', '.join(there)})")

    def reader(self, info: BackendInfo) -> type[AnsweringReader]:
        """The class that reads a backend's states. Raises PluginError where it cannot be imported."""
        if info.reader is not None:
            return _reader_class(info.key, info.reader)
        restoring: type[AnsweringReader] = load_named(info.key, self.restoring[info.role]).of(info)  # loads the backend
        return restoring


def load_named(owner: str, place: str) -> Any:
    """What stands at "package.module:Name". Raises PluginError that names whose it is, and what to install."""
    module, _, name = place.partition(":")
    try:
        return getattr(import_plugin(module), name)
    except (Exception, SystemExit) as error:  # a plugin's module may do anything when it is imported
        home = module.partition(".")[0].replace("_", "-")
        hint = f"; it comes with {home}: pip install {home}" if home.startswith("skyband-") and _lacks(error) else ""
        raise PluginError(f"{owner}: {place} could not be imported: {cause(error)}{hint}") from error


def _lacks(error: BaseException) -> bool:
    return isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("skyband_")


@lru_cache(maxsize=64)
def _reader_class(key: str, place: str) -> type[AnsweringReader]:
    cls = load_named(key, place)
    if not (isinstance(cls, type) and issubclass(cls, AnsweringReader)):
        raise PluginError(f"{key}: {place} is not a subclass of {AnsweringReader.__name__}")
    return cls


def installed_readers() -> Readers:
    """Those of this process."""
    return _readers_of(installed())


@lru_cache(maxsize=1)
def _readers_of(registry: Registry) -> Readers:
    restoring = {role.name: role.reader for role in registry.roles.values() if role.reader is not None}
    infos = [info for info in registry.backends() if info.reader is not None or info.role in restoring]
    return Readers({info.key: info for info in infos}, restoring)
