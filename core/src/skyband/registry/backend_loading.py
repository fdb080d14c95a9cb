"""From what a plugin says of a backend to its class and to a backend, imported only when one is needed."""

import sys
from importlib import import_module
from typing import Any
from weakref import WeakKeyDictionary

import attrs

from skyband import snapshot
from skyband.config.parameters import build
from skyband.errors import ConfigError, PluginError, SnapshotError
from skyband.registry.core_roles import CORE_ROLES
from skyband.registry.discovery import cause
from skyband.registry.info import BackendInfo, RoleInfo
from skyband.roles import Backend


def interface_of(role: str) -> type[Any]:
    """The interface of a role; where a plugin's role is not known, that of all backends.

    Executors of Spark have the code of a plugin, but need not have its entry points: they know core's roles by
    themselves. Raises PluginError where the interface cannot be imported.
    """
    known = {info.name: info for info in CORE_ROLES}
    if role not in known:
        from skyband.registry.registry import installed  # looks for plugins, which core's roles do without

        known = installed().roles
    return load_interface(known[role]) if role in known else Backend


def load_interface(info: RoleInfo) -> type[Any]:
    """Import a role's interface. Raises PluginError where it is not there, or is no subclass of Backend."""
    module, _, name = info.interface.partition(":")
    try:
        cls = getattr(import_module(module), name)
    except (Exception, SystemExit) as error:  # a plugin's module may do anything when it is imported
        raise PluginError(f"{named(info)}: {info.interface} could not be imported: {cause(error)}") from error
    if not (isinstance(cls, type) and issubclass(cls, Backend)):
        raise PluginError(f"{named(info)}: {info.interface} is not a subclass of Backend")
    return cls


def load_class(info: BackendInfo) -> type[Backend]:
    """Import a backend's class. Raises PluginError where it is not there or not what its plugin says."""
    module, _, name = info.factory.partition(":")
    try:
        cls = getattr(import_module(module), name)
    except (Exception, SystemExit) as error:  # a plugin's module may do anything when it is imported
        raise PluginError(f"{named(info)}: {info.factory} could not be imported: {cause(error)}") from error
    if isinstance(cls, type) and _SOUND.get(cls) == (info.role, info.name):
        return cls
    interface = interface_of(info.role)
    if not (isinstance(cls, type) and issubclass(cls, interface)):
        raise PluginError(f"{named(info)}: {info.factory} is not a subclass of {interface.__name__}")
    if getattr(cls, "name", None) != info.name:
        raise PluginError(
            f"{named(info)}: {info.factory} calls itself {getattr(cls, 'name', None)!r}; names must agree"
        )
    missing = sorted(getattr(cls, "__abstractmethods__", ()))
    if missing:
        raise PluginError(f"{named(info)}: {info.factory} has no {', '.join(missing)}")
    undone = [field for field, value in vars(cls).items() if isinstance(value, type(attrs.field()))]
    if undone:
        lost = f"so that its field {undone[0]} would be no parameter"
        raise PluginError(f"{named(info)}: {info.factory} is not made by attrs.define, {lost}")
    if "numba" in sys.modules:
        import_module("skyband.kernels.cache_invalidation")  # its own kernels may call none of core's
    _SOUND[cls] = info.role, info.name
    return cls


_SOUND: WeakKeyDictionary[type, tuple[str, str]] = WeakKeyDictionary()
"""Classes that were looked at before: an operator of many groups asks for one as often."""


def named(info: BackendInfo | RoleInfo) -> str:
    """What is brought with the distribution that brings it, where it is installed here."""
    from skyband.registry.registry import installed  # only to tell of a fault

    listing: Any = installed().role_listing() if isinstance(info, RoleInfo) else installed().listing(info.role)
    brought = " and ".join(entry.distribution for entry in listing if entry.info == info)
    name = f"role {info.name}" if isinstance(info, RoleInfo) else info.key
    return f"{name} of {brought}" if brought else name


def revive(cls: type[Backend], blob: bytes) -> Backend:
    """The backend of class `cls`, installed or not, that a snapshot was taken of. Raises SnapshotError as `restore`."""
    held = snapshot.decode(blob)
    if (held.header.get("role"), held.header.get("name")) != (cls.role, cls.name):
        raise SnapshotError(f"holds {key_of(held)}, not {cls.role}/{cls.name}")
    return revive_decoded(cls, held)


def revive_decoded(cls: type[Backend], held: snapshot.Snapshot) -> Backend:
    """The same from a snapshot that is decoded already."""
    try:
        backend = build(cls, held.header["parameters"])
    except Exception as error:  # parameters that another version wrote
        said = error if isinstance(error, ConfigError) else cause(error)
        raise SnapshotError(f"of {key_of(held)} does not fit the installed version: {said}") from error
    backend.load_state(held.arrays)
    return backend


def key_of(held: snapshot.Snapshot) -> str:
    """`role/name` of the backend a snapshot was taken of."""
    return f"{held.header.get('role')}/{held.header.get('name')}"
