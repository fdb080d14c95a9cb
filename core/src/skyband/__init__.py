"""Continuous top-k, distinct counts and similarity joins over sliding windows, every algorithm a plugin."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skyband.errors import (
        ConfigError,
        EngineError,
        InputError,
        PluginError,
        Problem,
        SkybandError,
        SnapshotError,
    )
    from skyband.hookspecs import hookimpl
    from skyband.info import BackendInfo, QueryInfo
    from skyband.registry import backends, create, restore

__version__ = "0.1.0"

_HOMES = {
    "skyband.errors": (
        "ConfigError",
        "EngineError",
        "InputError",
        "PluginError",
        "Problem",
        "SkybandError",
        "SnapshotError",
    ),
    "skyband.hookspecs": ("hookimpl",),
    "skyband.info": ("BackendInfo", "QueryInfo"),
    "skyband.registry": ("backends", "create", "restore"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [  # noqa: RUF022 - in the order a reader meets them
    "backends",
    "create",
    "restore",
    "hookimpl",
    "BackendInfo",
    "QueryInfo",
    "SkybandError",
    "ConfigError",
    "InputError",
    "SnapshotError",
    "PluginError",
    "EngineError",
    "Problem",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import skyband` costs next to nothing."""
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'skyband' has no attribute {name!r}")
