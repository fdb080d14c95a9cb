"""Finds installed plugins by their hooks, and looks up backends, queries and roles by name."""

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
