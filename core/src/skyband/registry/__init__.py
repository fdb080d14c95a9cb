"""Finds installed plugins by their hooks, and looks up backends, queries and roles by name.

Its names are imported on use: a worker takes a Binding, and looks up no plugin.
"""

from typing import TYPE_CHECKING

from skyband.lazy_names import lazy_names

if TYPE_CHECKING:
    from skyband.registry.backend_loading import Binding as Binding
    from skyband.registry.backend_loading import revive as revive
    from skyband.registry.creation import backends as backends
    from skyband.registry.creation import create as create
    from skyband.registry.creation import interface_of as interface_of
    from skyband.registry.creation import load_class as load_class
    from skyband.registry.creation import restore as restore
    from skyband.registry.name_claims import Listed as Listed
    from skyband.registry.registry import Registry as Registry
    from skyband.registry.registry import choose as choose
    from skyband.registry.registry import installed as installed

_HOMES = {
    "backend_loading": ("Binding", "revive"),
    "creation": ("backends", "create", "interface_of", "load_class", "restore"),
    "name_claims": ("Listed",),
    "registry": ("Registry", "choose", "installed"),
}
__getattr__ = lazy_names(__name__, {name: home for home, names in _HOMES.items() for name in names})
