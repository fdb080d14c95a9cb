"""The registry: what the installed plugins bring, looked up by name."""

from collections.abc import Iterable, Mapping
from functools import cache, cached_property
from typing import Any

from attrs import evolve

from skyband.config.literals import literal
from skyband.errors import ConfigError, PluginError, Problem, suggest
from skyband.registry.backend_loading import Binding, load_backend, load_engine, load_interface, named
from skyband.registry.discovery import OURS, Plugin, absent, core, discover
from skyband.registry.info import BackendInfo, EngineInfo, FormatInfo, QueryInfo, RoleInfo
from skyband.registry.install_hints import CHOOSE_BACKENDS, comes_with, engine_comes_with, format_comes_with
from skyband.registry.name_claims import Catalogue, Listed, outdated
from skyband.roles import Backend


class Registry:
    """What the installed plugins bring. If two distributions claim one backend, the user must choose."""

    def __init__(self, plugins: Iterable[Plugin], absent: Iterable[str] = ()) -> None:
        brought = tuple(plugins)
        self.plugins = brought if any(plugin.distribution == OURS for plugin in brought) else (core(), *brought)
        self.absent = tuple(absent)
        """Problems of the names of plugins that the user asked for."""

    def _brought(self, sort: str) -> list[tuple[Plugin, Any]]:
        return [(plugin, info) for plugin in self.plugins for info in getattr(plugin, sort)]

    @cached_property
    def _backends(self) -> Catalogue[BackendInfo]:
        return Catalogue(self._brought("backends"), unusable=self._unusable)

    @cached_property
    def queries(self) -> Catalogue[QueryInfo]:
        """All kinds of query of plugins that load."""
        return Catalogue(self._brought("queries"), "kind")

    @cached_property
    def formats(self) -> Catalogue[FormatInfo]:
        """All formats of plugins that load."""
        return Catalogue(self._brought("formats"), "format", format_comes_with)

    @cached_property
    def engines(self) -> Catalogue[EngineInfo]:
        """All engines of plugins that load."""
        return Catalogue(self._brought("engines"), "engine", engine_comes_with)

    @cached_property
    def role_listing(self) -> list[Listed[RoleInfo]]:
        """All roles of plugins that load, each with its problem, if any; core's first."""
        brought = self._brought("roles")
        order = [info for _, info in brought]
        listing = Catalogue(brought).listing
        return sorted(listing, key=lambda entry: (entry.distribution != OURS, order.index(entry.info)))

    def listing(self, role: str | None = None) -> list[Listed[BackendInfo]]:
        """All backends of plugins that load, each with its problem, if any."""
        return [entry for entry in self._backends.listing if role is None or entry.info.role == role]

    @cached_property
    def roles(self) -> dict[str, RoleInfo]:
        """The roles that can be chosen, by name; core's first."""
        return {entry.info.name: entry.info for entry in self.role_listing if entry.problem is None}

    def role(self, name: str) -> RoleInfo:
        """Raises ConfigError for an unknown role, PluginError for a role that cannot be used."""
        if name in self.roles:
            return self.roles[name]
        for entry in self.role_listing:
            if entry.info.name == name:
                raise PluginError(f"role {name} of {entry.distribution}: {entry.problem}")
        raise ConfigError(Problem("role", f"unknown {name!r}; {suggest(name, self.roles)}{comes_with(name)}"))

    def load_engine(self, name: str, distribution: str | None = None) -> Any:
        """An engine instance. Raises ConfigError if it is unknown, PluginError if its class fails."""
        entry = self.engines.named(name, distribution)
        return load_engine(entry.info, entry.distribution)

    def backends(self, role: str | None = None) -> list[BackendInfo]:
        """The backends that can be created, by role and name."""
        if role is not None:
            self.role(role)
        return [entry.info for entry in self.listing(role) if entry.problem is None]

    def bind(self, role: str, name: str | None = None, distribution: str | None = None, **parameters: Any) -> Binding:
        """Choose a backend by name (None: the role's default). Raises ConfigError or PluginError."""
        name = name or self.role(role).default
        self.role(role)
        entries = [entry for entry in self.listing(role) if entry.info.name == name]
        if not entries:
            raise ConfigError(Problem(role, self._unknown(role, name)))
        entry = self._backends.pick(entries, role, name, distribution)
        info = self.role(role)
        brought_by = self._brought_by(info)
        return Binding(entry.info, entry.distribution, entry.version, parameters, info.interface, brought_by)

    def interface_of(self, role: str) -> type[Any]:
        """The class that every backend of a role extends. Raises as `role`; PluginError if it cannot be imported."""
        return load_interface(self.role(role), self._brought_by(self.role(role)))

    def load_class(self, info: BackendInfo) -> type[Backend]:
        """A backend's class. Raises PluginError if it is missing or differs from what its plugin declares."""
        role = self.role(info.role)
        return load_backend(info, role.interface, self._brought_by(info), self._brought_by(role))

    def _brought_by(self, info: BackendInfo | RoleInfo) -> str:
        """The distribution of a backend or role, if it is installed here."""
        listing: Any = self.role_listing if isinstance(info, RoleInfo) else self.listing(info.role)
        return " and ".join(entry.distribution for entry in listing if entry.info == info)

    def named(self, info: BackendInfo | RoleInfo) -> str:
        """The name of a backend or role, with its distribution."""
        return named(info, self._brought_by(info))

    def _unusable(self, info: BackendInfo, distribution: str) -> str | None:
        if info.role not in self.roles:
            return self._without_role(info.role)
        return outdated(info, distribution)

    def _without_role(self, name: str) -> str:
        try:
            self.role(name)
        except PluginError as error:
            return str(error)
        except ConfigError:
            pass
        return f"unknown role {name!r}; {suggest(name, self.roles)}; no installed plugin brings it{comes_with(name)}"

    def _unknown(self, role: str, name: str) -> str:
        names = [info.name for info in self.backends(role)]
        message = f"unknown backend {name!r}; {suggest(name, names)}"
        if name == self.role(role).default:
            home = self.role(role).distribution
            message += f"; it comes with {home}: pip install {home}"
        else:
            message += comes_with(f"{role}/{name}")
        broken = [f"{plugin.distribution} ({plugin.problem})" for plugin in self.plugins if plugin.problem]
        message += f"; plugins that did not load: {', '.join(broken)}" if broken else ""
        return "; ".join([message, *self.absent])


@cache
def installed() -> Registry:
    """The registry of this process."""
    return Registry(discover(), absent())


def choose(roles: Iterable[str], choices: Mapping[str, Any] | None = None) -> dict[str, Binding]:
    """A binding for each role, from the user's choices: a name, a table with `name` and parameters, or nothing.

    Raises ConfigError with every problem at once, each under its role.
    """
    if not isinstance(choices, Mapping | None):
        raise ConfigError(Problem("", f"must be a mapping of roles to backends (got {literal(choices)})"))
    names, bindings = dict(choices or {}), {}
    problems: list[Problem] = []
    roles = tuple(roles)
    unknown = sorted(names.keys() - set(roles))
    problems.extend(Problem(role, f"this query has no {_such(role, roles)}") for role in unknown)
    for role in roles:
        try:
            bindings[role] = _binding(role, names.get(role))
        except ConfigError as error:
            problems.extend(error.problems)
        except PluginError as error:
            problems.append(Problem(role, str(error)))
    if problems:
        raise ConfigError(*problems)
    return bindings


def _such(role: str, roles: tuple[str, ...]) -> str:
    return f"such role; {suggest(role, roles)}" if roles else "role, and so no backends: leave it out"


def _binding(role: str, choice: Any) -> Binding:
    if isinstance(choice, Binding):
        return choice
    if choice == "auto" or (isinstance(choice, Mapping) and "name" not in choice and {"error", "memory"} & set(choice)):
        message = f"cannot be chosen by limits here: pass the backends that {CHOOSE_BACKENDS}(rows, query, …) returns"
        raise ConfigError(Problem(role, message))
    if choice is None or isinstance(choice, str):
        return installed().bind(role, choice)
    if not isinstance(choice, Mapping):
        raise ConfigError(Problem(role, f'must be a name or a table such as {{ name = "…" }} (got {literal(choice)})'))
    parameters = dict(choice)
    name, distribution = parameters.pop("name", None), parameters.pop("distribution", None)
    return evolve(installed().bind(role, name, distribution), parameters=parameters)
