"""The registry: from `role/name` to a backend, its class imported only when one is created."""

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Literal, overload
from weakref import WeakKeyDictionary

import attrs
from attrs import evolve, field, frozen

from skyband import snapshot
from skyband.discovery import Plugin, cause, discover
from skyband.errors import ConfigError, PluginError, Problem, SnapshotError, suggest
from skyband.info import API, BackendInfo
from skyband.parameters import build
from skyband.roles import (
    ROLES,
    Backend,
    Matcher,
    ObjectRanker,
    PairRanker,
    Sketch,
    Window,
    WorkloadRanker,
)


@frozen
class Listed:
    """A backend as `skyband backends` lists it: who brings it and, if it cannot be used, why."""

    info: BackendInfo
    distribution: str
    version: str
    problem: str | None = None


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


class Registry:
    """What the installed plugins bring. Two distributions that claim one backend must be told apart by the user."""

    def __init__(self, plugins: Iterable[Plugin]) -> None:
        self.plugins = tuple(plugins)

    def listing(self, role: str | None = None) -> list[Listed]:
        """Every backend of the plugins that load, with the reason beside each that cannot be used."""
        claims: dict[str, list[Plugin]] = {}
        for plugin in self.plugins:
            for info in plugin.backends:
                claims.setdefault(info.key, []).append(plugin)
        listed = [
            Listed(info, plugin.distribution, plugin.version, _problem(info, claims[info.key]))
            for plugin in self.plugins
            for info in plugin.backends
            if role is None or info.role == role
        ]
        return sorted(listed, key=lambda entry: (entry.info.role, entry.info.name, entry.distribution))

    def backends(self, role: str | None = None) -> list[BackendInfo]:
        """The backends that can be created, by role and name."""
        if role is not None and role not in ROLES:
            raise ConfigError(Problem("role", f"unknown {role!r}; {suggest(role, ROLES)}"))
        return [entry.info for entry in self.listing(role) if entry.problem is None]

    def bind(self, role: str, name: str | None = None, distribution: str | None = None, **parameters: Any) -> Binding:
        """Choose a backend by name (None: the role's default). Raises ConfigError or PluginError."""
        if role not in ROLES:
            raise ConfigError(Problem("role", f"unknown {role!r}; {suggest(role, ROLES)}"))
        entry = self._find(role, name or ROLES[role].default, distribution)
        return Binding(entry.info, entry.distribution, entry.version, parameters)

    def _find(self, role: str, name: str, distribution: str | None) -> Listed:
        named = [entry for entry in self.listing(role) if entry.info.name == name]
        if not named:
            raise ConfigError(Problem(role, self._unknown(role, name)))
        usable = [entry for entry in named if not _unusable(entry.info)]
        if not usable:
            raise PluginError(f"{role}/{name}: {_unusable(named[0].info)}")
        if distribution is not None:
            usable = [entry for entry in usable if entry.distribution == distribution]
        if not usable:
            brought = ", ".join(entry.distribution for entry in named)
            raise ConfigError(Problem(role, f"{name} is not in {distribution}; it is in {brought}"))
        if len(usable) > 1:
            raise PluginError(f"{role}/{name}: {usable[0].problem}")
        return usable[0]

    def _unknown(self, role: str, name: str) -> str:
        known = [info.name for info in self.backends(role)]
        message = f"unknown backend {name!r}; {suggest(name, known)}"
        if name == ROLES[role].default:
            message += f"; it comes with {ROLES[role].distribution}: pip install {ROLES[role].distribution}"
        broken = [f"{plugin.distribution} ({plugin.problem})" for plugin in self.plugins if plugin.problem]
        return message + (f"; plugins that did not load: {', '.join(broken)}" if broken else "")


def choose(roles: Iterable[str], chosen: Mapping[str, Any] | None = None) -> dict[str, Binding]:
    """A binding for each role, from what the user chose: a name, a table with `name` and parameters, or nothing.

    Raises ConfigError with every problem at once, each under its role.
    """
    wanted, found = dict(chosen or {}), {}
    problems: list[Problem] = []
    roles = tuple(roles)
    unknown = sorted(wanted.keys() - set(roles))
    problems.extend(Problem(role, f"this query has no such role; {suggest(role, roles)}") for role in unknown)
    for role in roles:
        try:
            found[role] = _binding(role, wanted.get(role))
        except ConfigError as error:
            problems.extend(error.problems)
        except PluginError as error:
            problems.append(Problem(role, str(error)))
    if problems:
        raise ConfigError(*problems)
    return found


def _binding(role: str, chosen: Any) -> Binding:
    if isinstance(chosen, Binding):
        return chosen
    if chosen is None or isinstance(chosen, str):
        return installed().bind(role, chosen)
    if not isinstance(chosen, Mapping):
        raise ConfigError(Problem(role, f'must be a name or a table such as {{ name = "…" }} (got {chosen!r})'))
    parameters = dict(chosen)
    name, distribution = parameters.pop("name", None), parameters.pop("distribution", None)
    return evolve(installed().bind(role, name, distribution), parameters=parameters)


@cache
def installed() -> Registry:
    """The registry of this process."""
    return Registry(discover())


def backends(role: str | None = None) -> list[BackendInfo]:
    """The installed backends that can be created, by role and name."""
    return installed().backends(role)


@overload
def create(
    role: Literal["sketch"], name: str | None = ..., *, distribution: str | None = ..., **parameters: Any
) -> Sketch: ...
@overload
def create(
    role: Literal["window"], name: str | None = ..., *, distribution: str | None = ..., **parameters: Any
) -> Window: ...
@overload
def create(
    role: Literal["matcher"], name: str | None = ..., *, distribution: str | None = ..., **parameters: Any
) -> Matcher: ...
@overload
def create(
    role: Literal["object-ranker"], name: str | None = ..., *, distribution: str | None = ..., **parameters: Any
) -> ObjectRanker: ...
@overload
def create(
    role: Literal["pair-ranker"], name: str | None = ..., *, distribution: str | None = ..., **parameters: Any
) -> PairRanker: ...
@overload
def create(
    role: Literal["workload-ranker"], name: str | None = ..., *, distribution: str | None = ..., **parameters: Any
) -> WorkloadRanker: ...
@overload
def create(role: str, name: str | None = ..., *, distribution: str | None = ..., **parameters: Any) -> Backend: ...
def create(role: str, name: str | None = None, *, distribution: str | None = None, **parameters: Any) -> Backend:
    """A new backend, e.g. `create("sketch", "k-skb", epsilon=0.02)`; without a name, the role's default.

    Raises ConfigError, with every problem at once, naming the field, the value and the closest right one.
    """
    return installed().bind(role, name, distribution, **parameters).create()


def restore(blob: bytes) -> Backend:
    """The backend that `snapshot()` was called on, from its bytes; runs no code out of them.

    Raises SnapshotError where the bytes are damaged or newer than this Skyband, or the backend is not installed.
    """
    held = snapshot.decode(blob)
    try:
        role, name = held.header["role"], held.header["name"]
        binding = installed().bind(role, name)
    except (KeyError, ConfigError) as error:
        raise SnapshotError(f"holds {_key(held)}, which is not installed: {error}") from error
    return _revive(load_class(binding.info), held)


def load_class(info: BackendInfo) -> type[Backend]:
    """Import a backend's class. Raises PluginError where it is not there or not what its plugin says."""
    module, _, name = info.factory.partition(":")
    try:
        cls = getattr(import_module(module), name)
    except Exception as error:
        raise PluginError(f"{info.key}: {info.factory} could not be imported: {cause(error)}") from error
    if isinstance(cls, type) and _SOUND.get(cls) == (info.role, info.name):
        return cls
    interface = ROLES[info.role].interface
    if not (isinstance(cls, type) and issubclass(cls, interface)):
        raise PluginError(f"{info.key}: {info.factory} is not a subclass of {interface.__name__}")
    if getattr(cls, "name", None) != info.name:
        raise PluginError(f"{info.key}: {info.factory} calls itself {getattr(cls, 'name', None)!r}; names must agree")
    missing = sorted(getattr(cls, "__abstractmethods__", ()))
    if missing:
        raise PluginError(f"{info.key}: {info.factory} has no {', '.join(missing)}")
    undone = [field for field, value in vars(cls).items() if isinstance(value, type(attrs.field()))]
    if undone:
        lost = f"so that its field {undone[0]} would be no parameter"
        raise PluginError(f"{info.key}: {info.factory} is not made by attrs.define, {lost}")
    _SOUND[cls] = info.role, info.name
    return cls


_SOUND: WeakKeyDictionary[type, tuple[str, str]] = WeakKeyDictionary()
"""Classes that were looked at before: an operator of many groups asks for one as often."""


def revive(cls: type[Backend], blob: bytes) -> Backend:
    """The backend of class `cls`, installed or not, that a snapshot was taken of. Raises SnapshotError as `restore`."""
    held = snapshot.decode(blob)
    if (held.header.get("role"), held.header.get("name")) != (cls.role, cls.name):
        raise SnapshotError(f"holds {_key(held)}, not {cls.role}/{cls.name}")
    return _revive(cls, held)


def _revive(cls: type[Backend], held: snapshot.Snapshot) -> Backend:
    try:
        backend = build(cls, held.header["parameters"])
    except Exception as error:  # parameters that another version wrote
        said = error if isinstance(error, ConfigError) else cause(error)
        raise SnapshotError(f"of {_key(held)} does not fit the installed version: {said}") from error
    backend.thaw(held.arrays)
    return backend


def _key(held: snapshot.Snapshot) -> str:
    return f"{held.header.get('role')}/{held.header.get('name')}"


def _problem(info: BackendInfo, claimed_by: list[Plugin]) -> str | None:
    if len(claimed_by) > 1:
        distributions = dict.fromkeys(plugin.distribution for plugin in claimed_by)
        if len(distributions) == 1:
            return f"claimed by two entry points of {claimed_by[0].distribution}: upgrade or remove it"
        names = " and ".join(distributions)
        return f'claimed by {names}: choose one with distribution = "{claimed_by[0].distribution}"'
    return _unusable(info)


def _unusable(info: BackendInfo) -> str | None:
    if info.role not in ROLES:
        return f"unknown role {info.role!r}; {suggest(info.role, ROLES)}"
    if info.api > API:
        return f"written for API {info.api}, this Skyband speaks {API}: upgrade skyband"
    if info.api < API:
        return f"written for API {info.api}, this Skyband speaks {API}: upgrade the plugin"
    return None
