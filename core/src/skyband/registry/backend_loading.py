"""Loads backends, roles and engines from their descriptions, importing them only when needed."""

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any
from weakref import WeakKeyDictionary

import attrs
from attrs import field, frozen

from skyband import snapshot
from skyband.config.parameters import build, parameters_of
from skyband.errors import ConfigError, PluginError, SnapshotError
from skyband.registry.info import BackendInfo, EngineInfo, RoleInfo
from skyband.registry.module_import import cause, check_class, load, load_class
from skyband.roles import Backend


def load_interface(info: RoleInfo, brought_by: str = "") -> type[Any]:
    """Import a role's interface. Raises PluginError if it is missing or not a subclass of Backend."""
    return load_interface_at(info.interface, info.name, brought_by)


def load_interface_at(place: str, name: str, brought_by: str = "") -> type[Any]:
    """As `load_interface`, from its place, "package.module:Class", and the role's name."""
    return load_class(place, Backend, f"role {name} of {brought_by}" if brought_by else f"role {name}")


def load_backend(info: BackendInfo, interface: str, brought_by: str = "", role_brought_by: str = "") -> type[Backend]:
    """Import a backend's class, which extends the role's `interface`, "package.module:Class".

    Raises PluginError if it is missing or differs from what its plugin declares; the error names `brought_by` and
    `role_brought_by`, the distributions of the backend and the role.
    """
    label = named(info, brought_by)
    cls = load(info.factory, label)
    if isinstance(cls, type) and _SOUND.get(cls) == (info.role, info.name):
        return cls
    cls = load_class(info.factory, load_interface_at(interface, info.role, role_brought_by), label)
    check_class(cls, info.factory, label, name=info.name)
    undone = [field for field, value in vars(cls).items() if isinstance(value, type(attrs.field()))]
    if undone:
        lost = f"so that its field {undone[0]} would not be a parameter"
        raise PluginError(f"{label}: {info.factory} is not made by attrs.define, {lost}")
    names = {each.name for each in parameters_of(cls)} if attrs.has(cls) else {info.error}
    if info.guarantee == "bounded" and info.error is not None and info.error not in names:
        remedy = "name the parameter that bounds its error as `error` in its BackendInfo, or set that to None"
        raise PluginError(f"{label}: {info.factory} has no parameter {info.error!r}: {remedy}")
    if "numba" in sys.modules:
        import_module("skyband.kernels.numba_compiler_patches")  # its kernels may not import core's
    _SOUND[cls] = info.role, info.name
    return cls


def load_engine(info: EngineInfo, brought_by: str) -> Any:
    """Import an engine's class and create it. Raises PluginError if it is missing or differs from its declaration."""
    label = f"{info.key} of {brought_by}"
    cls = load(info.factory, label)
    check_class(cls, info.factory, label, name=info.name)
    try:
        return cls()
    except Exception as error:
        raise PluginError(f"{label}: {info.factory} could not be created: {cause(error)}") from error


_SOUND: WeakKeyDictionary[type, tuple[str, str]] = WeakKeyDictionary()
"""Classes already checked: an operator of many groups loads the same class for each."""


def named(info: BackendInfo | RoleInfo, brought_by: str = "") -> str:
    """The name of a backend or role, with its distribution if known."""
    name = f"role {info.name}" if isinstance(info, RoleInfo) else info.key
    return f"{name} of {brought_by}" if brought_by else name


def revive(cls: type[Backend], blob: bytes) -> Backend:
    """A backend of class `cls`, installed or not, from its snapshot. Raises SnapshotError as `restore` does."""
    state = snapshot.decode(blob)
    if (state.header.get("role"), state.header.get("name")) != (cls.role, cls.name):
        raise SnapshotError(f"holds {key_of(state)}, not {cls.role}/{cls.name}")
    return revive_decoded(cls, state)


def revive_decoded(cls: type[Backend], decoded: snapshot.Snapshot) -> Backend:
    """As `revive`, from a decoded snapshot."""
    try:
        backend = build(cls, decoded.header["parameters"])
    except Exception as error:  # parameters from another version
        reason = error if isinstance(error, ConfigError) else cause(error)
        raise SnapshotError(f"of {key_of(decoded)} does not fit the installed version: {reason}") from error
    backend.load_state(decoded.arrays)
    return backend


def key_of(decoded: snapshot.Snapshot) -> str:
    """`role/name` of the backend in a snapshot."""
    return f"{decoded.header.get('role')}/{decoded.header.get('name')}"


@frozen
class Binding:
    """A chosen backend and the parameters the user gave. Plain data, so that it can be sent to where it is created.

    interface: "package.module:Class" of its role, so that an executor, which has a plugin's code but perhaps not its
    entry points, can check the backend; `role_brought_by` is the distribution that brings the role.
    """

    info: BackendInfo
    distribution: str
    version: str
    parameters: Mapping[str, Any] = field(factory=dict)
    interface: str = "skyband.roles.backend:Backend"
    role_brought_by: str = ""

    @property
    def backend_class(self) -> type[Backend]:
        """The backend's class. Raises PluginError if it is missing or differs from what its plugin declares."""
        return load_backend(self.info, self.interface, self.distribution, self.role_brought_by)

    @property
    def role_class(self) -> type[Any]:
        """The role's interface."""
        return load_interface_at(self.interface, self.info.role, self.role_brought_by)

    def create(self, **given: Any) -> Backend:
        """A new backend, with the user's parameters and those from the query (`k`, `window`, …)."""
        return build(self.backend_class, {**self.parameters, **given})

    def restore(self, blob: bytes) -> Backend:
        """The backend in a snapshot. Raises SnapshotError if that is another backend."""
        return revive(self.backend_class, blob)
