"""Continuous top-k, distinct counts and similarity joins over sliding windows, every algorithm a plugin."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from skyband.version import __version__ as __version__

if TYPE_CHECKING:
    from skyband.errors import (
        BusyError,
        ConfigError,
        EngineError,
        InputError,
        PluginError,
        Problem,
        SkybandError,
        SnapshotError,
    )
    from skyband.plots import plot
    from skyband.registry import backends, create, restore
    from skyband.registry.hookspecs import hookimpl
    from skyband.registry.info import BackendInfo, QueryInfo, RoleInfo

_HOMES = {
    "skyband.errors": (
        "BusyError",
        "ConfigError",
        "EngineError",
        "InputError",
        "PluginError",
        "Problem",
        "SkybandError",
        "SnapshotError",
    ),
    "skyband.registry.hookspecs": ("hookimpl",),
    "skyband.registry.info": ("BackendInfo", "QueryInfo", "RoleInfo"),
    "skyband.registry": ("backends", "create", "restore"),
    "skyband.plots": ("plot",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [  # noqa: RUF022 - in the order a reader meets them
    "backends",
    "create",
    "restore",
    "plot",
    "hookimpl",
    "BackendInfo",
    "QueryInfo",
    "RoleInfo",
    "SkybandError",
    "ConfigError",
    "InputError",
    "SnapshotError",
    "BusyError",
    "PluginError",
    "EngineError",
    "Problem",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import skyband` costs next to nothing."""
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'skyband' has no attribute {name!r}")
