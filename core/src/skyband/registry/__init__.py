"""What is installed: hooks, discovery, and the registry from a name to a backend, query or role."""

from skyband.registry.backend_loading import revive
from skyband.registry.binding import Binding
from skyband.registry.creation import backends, create, interface_of, load_class, restore
from skyband.registry.name_claims import Listed
from skyband.registry.registry import Registry, choose, installed

__all__ = [
    "Binding",
    "Listed",
    "Registry",
    "backends",
    "choose",
    "create",
    "installed",
    "interface_of",
    "load_class",
    "restore",
    "revive",
]
