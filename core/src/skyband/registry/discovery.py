"""Finds the installed plugins. Each is loaded alone: a broken one is listed with its fault and affects no other."""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from importlib.metadata import Distribution, EntryPoint, distributions
from itertools import islice
from typing import Any, TypeVar

import pluggy
from attrs import evolve, frozen

from skyband.errors import suggest
from skyband.registry import hookspecs
from skyband.registry.info import BackendInfo, EngineInfo, FormatInfo, QueryInfo, RoleInfo
from skyband.registry.module_import import cause, imports_print_on_stderr
from skyband.version import __version__

GROUP = "skyband"
RESTRICT = "SKYBAND_PLUGINS"
OURS = "skyband"
TOOLS = ("skyband-compare", "skyband-jobs", "skyband-serve", "skyband-spark", "skyband-specs")
"""Skyband's own distributions of commands and engines, loaded whatever `SKYBAND_PLUGINS` says."""
MOST_ENTRIES = 1000

T = TypeVar("T")


@frozen
class Plugin:
    """An installed distribution with an entry point in our group, and what it brings, or why it is broken."""

    distribution: str
    version: str
    entry_point: str
    module: str
    backends: tuple[BackendInfo, ...] = ()
    queries: tuple[QueryInfo, ...] = ()
    problem: str | None = None
    manager: pluggy.PluginManager | None = None
    roles: tuple[RoleInfo, ...] = ()
    formats: tuple[FormatInfo, ...] = ()
    engines: tuple[EngineInfo, ...] = ()


def discover() -> tuple[Plugin, ...]:
    """Every installed plugin, by distribution; `SKYBAND_PLUGINS=a,b` restricts it to those, core and `TOOLS`."""
    names = _restriction()
    plugins = [
        plugin
        for name, distribution in _installed()
        if _is_wanted(name, names)
        for plugin in _plugins_of(name, distribution)
    ]
    return tuple(sorted(plugins, key=lambda plugin: (plugin.distribution, plugin.entry_point)))


def core() -> Plugin:
    """Core's own plugin, from its hooks, if its distribution is not listed: code alone, as on an executor."""
    return read_hooks(Plugin(OURS, __version__, "core", "skyband.hooks"), import_module("skyband.hooks"))


def absent() -> list[str]:
    """Each name in `SKYBAND_PLUGINS` that is not an installed plugin, with the closest one that is."""
    names = (_restriction() or set()) - {OURS}
    ours = [name for name, distribution in _installed() if _is_ours(distribution)] if names else []
    message = f"is named in {RESTRICT} but is not an installed plugin"
    return [f"{name} {message}; {suggest(name, ours)}" for name in sorted(names - set(ours))]


def _is_ours(distribution: Distribution) -> bool:
    try:
        return any(entry.group == GROUP for entry in distribution.entry_points)
    except Exception:  # the file may hold any text
        return False


def read_hooks(plugin: Plugin, module: Any) -> Plugin:
    """`plugin` with the results of the hooks in `module`, or with the reason they cannot be used."""
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    try:
        manager.register(module, name=f"{plugin.distribution}:{plugin.entry_point}")
        _check_hooks(manager)
        if not manager.get_hookcallers(module):
            return evolve(plugin, problem=f"{plugin.module} implements no hook: mark them with skyband.hookimpl")
        backends = _entries(manager.hook.skyband_backends, BackendInfo, lambda info: info.key)
        queries = _entries(manager.hook.skyband_queries, QueryInfo, lambda info: info.kind)
        roles = _entries(manager.hook.skyband_roles, RoleInfo, lambda info: info.name)
        formats = _entries(manager.hook.skyband_formats, FormatInfo, lambda info: info.name)
        engines = _entries(manager.hook.skyband_engines, EngineInfo, lambda info: info.name)
    except (Exception, SystemExit) as error:  # a plugin may raise anything: report it
        return evolve(plugin, problem=cause(error))
    brought: Any = {"backends": backends, "queries": queries, "roles": roles, "formats": formats, "engines": engines}
    return evolve(plugin, **brought, manager=manager)


def _check_hooks(manager: pluggy.PluginManager) -> None:
    """Raises PluginValidationError for an unknown hook: misspelt, or from a later version."""
    try:
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        hooks = [name for name in dir(hookspecs) if name.startswith("skyband_")]
        name = (re.findall(r"unknown hook '(\w+)'", str(error)) or [""])[0]
        message = f"unknown hook {name!r}; {suggest(name, hooks)}; if a later Skyband has it, upgrade skyband"
        raise pluggy.PluginValidationError(error.plugin, message) from error


def _installed() -> Iterator[tuple[str, Distribution]]:
    """The distributions that may be plugins, the first on the path for each name.

    Metadata of others is not read: parsing hundreds in an environment would take longer than everything else.
    """
    names = set()
    for distribution in distributions():
        if not _may_be_ours(distribution):
            continue
        name = _name(distribution)
        if name and name not in names:
            names.add(name)
            yield name, next((first for first in distributions(name=name) if _name(first) == name), distribution)


def _may_be_ours(distribution: Distribution) -> bool:
    try:
        return GROUP in (distribution.read_text("entry_points.txt") or "")
    except Exception:  # the file may hold any text
        return True


def _name(distribution: Distribution) -> str | None:
    try:
        return _canonical(distribution.metadata["Name"])
    except Exception:  # without a name it is half removed, or damaged
        return None


def _plugins_of(name: str, distribution: Distribution) -> list[Plugin]:
    metadata: Any = distribution.metadata
    version = metadata.get("Version") or "unknown"
    try:
        entries = [entry for entry in distribution.entry_points if entry.group == GROUP]
    except Exception as error:  # the file may hold any text
        return [Plugin(name, version, "", "", problem=f"its entry points cannot be read: {cause(error)}")]
    return [_load(Plugin(name, version, entry.name, entry.value), entry) for entry in entries]


def _load(plugin: Plugin, entry: EntryPoint) -> Plugin:
    try:
        with imports_print_on_stderr():
            module = entry.load()
    except (Exception, SystemExit) as error:
        return evolve(plugin, problem=f"could not be imported: {cause(error)}")
    return read_hooks(plugin, module)


def _entries(hook: Callable[[], list[Any]], kind: type[T], key: Callable[[T], str]) -> tuple[T, ...]:
    entries: list[T] = []
    for answer in hook():
        if not isinstance(answer, Iterable) or isinstance(answer, str | bytes):
            raise TypeError(f"a hook must return a list of {kind.__name__} (got {answer!r:.80})")
        entries.extend(islice(answer, MOST_ENTRIES + 1))
    if len(entries) > MOST_ENTRIES:
        raise ValueError(f"a hook returned more than {MOST_ENTRIES} entries")
    names = set()
    for entry in entries:
        if not isinstance(entry, kind):
            raise TypeError(f"a hook must return a list of {kind.__name__} (it holds {entry!r:.80})")
        if key(entry) in names:
            raise ValueError(f"{key(entry)} is listed twice")
        names.add(key(entry))
    return tuple(entries)


def _is_wanted(distribution: str, names: set[str] | None) -> bool:
    return names is None or distribution in {*names, OURS, *TOOLS}


def _restriction() -> set[str] | None:
    value = os.environ.get(RESTRICT)
    return None if value is None else {_canonical(name) for name in value.split(",") if name.strip()}


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.strip()).lower()
