"""From what a plugin says of a backend to its class and to a backend, imported only when one is needed."""

import sys
from importlib import import_module
from typing import Any
from weakref import WeakKeyDictionary

import attrs

from skyband import snapshot
from skyband.config.parameters import build
from skyband.errors import ConfigError, PluginError, SnapshotError
from skyband.registry.discovery import cause
from skyband.registry.info import BackendInfo, EngineInfo, RoleInfo
from skyband.registry.module_import import import_plugin
from skyband.roles import Backend


def load_interface(info: RoleInfo, brought_by: str = "") -> type[Any]:
    """Import a role's interface. Raises PluginError where it is not there, or is no subclass of Backend."""
    return load_interface_at(info.interface, info.name, brought_by)


def load_interface_at(place: str, name: str, brought_by: str = "") -> type[Any]:
    """The same from where it is, "package.module:Class", and the role's name."""
    role = f"role {name} of {brought_by}" if brought_by else f"role {name}"
    module, _, cls_name = place.partition(":")
    try:
        cls = getattr(import_plugin(module), cls_name)
    except (Exception, SystemExit) as error:  # a plugin's module may do anything when it is imported
        raise PluginError(f"{role}: {place} could not be imported: {cause(error)}") from error
    if not (isinstance(cls, type) and issubclass(cls, Backend)):
        raise PluginError(f"{role}: {place} is not a subclass of Backend")
    return cls


def load_backend(info: BackendInfo, interface: str, brought_by: str = "", role_brought_by: str = "") -> type[Backend]:
    """Import a backend's class, which extends the role's `interface`, "package.module:Class".

    Raises PluginError where it is not there or not what its plugin says; `brought_by` and `role_brought_by` are the
    distributions to name then.
    """
    label = named(info, brought_by)
    module, _, name = info.factory.partition(":")
    try:
        cls = getattr(import_plugin(module), name)
    except (Exception, SystemExit) as error:  # a plugin's module may do anything when it is imported
        raise PluginError(f"{label}: {info.factory} could not be imported: {cause(error)}") from error
    if isinstance(cls, type) and _SOUND.get(cls) == (info.role, info.name):
        return cls
    base = load_interface_at(interface, info.role, role_brought_by)
    if not (isinstance(cls, type) and issubclass(cls, base)):
        raise PluginError(f"{label}: {info.factory} is not a subclass of {base.__name__}")
    if getattr(cls, "name", None) != info.name:
        raise PluginError(f"{label}: {info.factory} calls itself {getattr(cls, 'name', None)!r}; names must agree")
    missing = sorted(getattr(cls, "__abstractmethods__", ()))
    if missing:
        raise PluginError(f"{label}: {info.factory} has no {', '.join(missing)}")
    undone = [field for field, value in vars(cls).items() if isinstance(value, type(attrs.field()))]
    if undone:
        lost = f"so that its field {undone[0]} would be no parameter"
        raise PluginError(f"{label}: {info.factory} is not made by attrs.define, {lost}")
    if "numba" in sys.modules:
        import_module("skyband.kernels.numba_compiler_patches")  # its own kernels may call none of core's
    _SOUND[cls] = info.role, info.name
    return cls


def load_engine(info: EngineInfo, brought_by: str) -> Any:
    """Import an engine's class and make it. Raises PluginError where it is not there or not what its plugin says."""
    label = f"{info.key} of {brought_by}"
    module, _, name = info.factory.partition(":")
    try:
        engine = getattr(import_plugin(module), name)()
    except (Exception, SystemExit) as error:  # a plugin's module may do anything when it is imported
        raise PluginError(f"{label}: {info.factory} could not be imported: {cause(error)}") from error
    if getattr(engine, "name", None) != info.name:
        raise PluginError(f"{label}: {info.factory} calls itself {getattr(engine, 'name', None)!r}; names must agree")
    return engine


_SOUND: WeakKeyDictionary[type, tuple[str, str]] = WeakKeyDictionary()
"""Classes that were looked at before: an operator of many groups asks for one as often."""


def named(info: BackendInfo | RoleInfo, brought_by: str = "") -> str:
    """What is brought, with the distribution that brings it where that is known."""
    name = f"role {info.name}" if isinstance(info, RoleInfo) else info.key
    return f"{name} of {brought_by}" if brought_by else name


def revive(cls: type[Backend], blob: bytes) -> Backend:
    """The backend of class `cls`, installed or not, that a snapshot was taken of. Raises SnapshotError as `restore`."""
    state = snapshot.decode(blob)
    if (state.header.get("role"), state.header.get("name")) != (cls.role, cls.name):
        raise SnapshotError(f"holds {key_of(state)}, not {cls.role}/{cls.name}")
    return revive_decoded(cls, state)


def revive_decoded(cls: type[Backend], decoded: snapshot.Snapshot) -> Backend:
    """The same from a snapshot that is decoded already."""
    try:
        backend = build(cls, decoded.header["parameters"])
    except Exception as error:  # parameters that another version wrote
        reason = error if isinstance(error, ConfigError) else cause(error)
        raise SnapshotError(f"of {key_of(decoded)} does not fit the installed version: {reason}") from error
    backend.load_state(decoded.arrays)
    return backend


def key_of(decoded: snapshot.Snapshot) -> str:
    """`role/name` of the backend a snapshot was taken of."""
    return f"{decoded.header.get('role')}/{decoded.header.get('name')}"
