"""A chosen backend, as plain data that travels to where it is created."""

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from skyband.config.parameters import build
from skyband.registry.backend_loading import load_class, revive
from skyband.registry.info import BackendInfo
from skyband.roles import Backend


@frozen
class Binding:
    """A chosen backend and the parameters the user gave it. Plain data, so that it travels to where it is created."""

    info: BackendInfo
    distribution: str
    version: str
    parameters: Mapping[str, Any] = field(factory=dict)

    def create(self, **given: Any) -> Backend:
        """The backend, with the user's parameters and those the query gives (`k`, `window`, …)."""
        return build(load_class(self.info), {**self.parameters, **given})

    def restore(self, blob: bytes) -> Backend:
        """The backend a snapshot was taken of. Raises SnapshotError where that was another backend."""
        return revive(load_class(self.info), blob)
