"""Continuous top-k, distinct counts and similarity joins over sliding windows, every algorithm a plugin."""

from skyband.version import __version__ as __version__

TYPE_CHECKING = False
"""Not from `typing`: importing that takes longer than everything here."""

if TYPE_CHECKING:
    from typing import Any

    from skyband.errors import (
        BrokenError,
        BusyError,
        ConfigError,
        EngineError,
        InputError,
        PluginError,
        Problem,
        SkybandError,
        SnapshotError,
    )
    from skyband.registry import backends, create, restore
    from skyband.registry.hookspecs import hookimpl
    from skyband.registry.info import BackendInfo, EngineInfo, FormatInfo, QueryInfo, RoleInfo

_HOMES = {
    "skyband.errors": (
        "BrokenError",
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
    "skyband.registry.info": ("BackendInfo", "EngineInfo", "FormatInfo", "QueryInfo", "RoleInfo"),
    "skyband.registry": ("backends", "create", "restore"),
    "skyband_compare.plots": ("plot",),
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
    "FormatInfo",
    "EngineInfo",
    "SkybandError",
    "ConfigError",
    "InputError",
    "SnapshotError",
    "BusyError",
    "BrokenError",
    "PluginError",
    "EngineError",
    "Problem",
]


def __getattr__(name: str) -> "Any":
    """Import a public name when it is first used, so that `import skyband` costs next to nothing.

    An installed engine's name is an attribute too: the module that its plugin offers to programs.
    """
    from importlib import import_module
    from importlib.util import find_spec

    if name not in _HOME:
        if name.startswith("_") or find_spec(f"skyband.{name}"):  # our own module, which Python then imports itself
            raise AttributeError(f"module 'skyband' has no attribute {name!r}")
        return import_module(_module_of_engine(name))
    try:
        return getattr(import_module(_HOME[name]), name)
    except ModuleNotFoundError as error:
        from skyband.registry.install_hints import comes_with

        if (error.name or "").startswith("skyband_") and comes_with(name):
            raise AttributeError(f"skyband.{name} is not installed{comes_with(name)}") from error
        raise


def _module_of_engine(name: str) -> str:
    """Raises AttributeError, with what to install for our engines, if no installed engine has a module of this name."""
    from skyband.registry.install_hints import engine_comes_with
    from skyband.registry.registry import installed

    for entry in installed().engines.listing:
        if entry.info.module is not None and entry.info.name.replace("-", "_") == name and entry.problem is None:
            return entry.info.module
    raise AttributeError(f"module 'skyband' has no attribute {name!r}{engine_comes_with(name)}")
