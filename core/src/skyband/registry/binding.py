"""Binding: a chosen backend as plain data, to be created elsewhere."""

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from skyband.config.parameters import build
from skyband.registry.backend_loading import load_backend, load_interface_at, revive
from skyband.registry.info import BackendInfo
from skyband.roles import Backend


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
