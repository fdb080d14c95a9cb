"""A case: one backend with one set of parameters, as every check gets it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attrs import frozen
from skyband import BackendInfo
from skyband.parameters import build
from skyband.registry import revive
from skyband.roles import Backend

if TYPE_CHECKING:
    from skyband_specs.driver import Driver


@frozen(eq=False)
class Case:
    """A backend under test: what its plugin says of it, its class, and the parameters it is tried with.

    The class is given, not looked up, so that one that is not installed can be tried too.
    """

    info: BackendInfo
    factory: type[Backend]
    driver: "Driver"
    parameters: Mapping[str, Any]

    def make(self, **overrides: Any) -> Any:
        """A fresh backend."""
        return build(self.factory, {**self.parameters, **overrides})

    def restore(self, blob: bytes) -> Any:
        """The backend a snapshot was taken of, as `skyband.restore` would bring it back."""
        return revive(self.factory, blob)

    def has(self, capability: str) -> bool:
        """Whether the backend declares this capability."""
        return capability not in self.info.lacks

    def __str__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"{self.info.key}({given})"
