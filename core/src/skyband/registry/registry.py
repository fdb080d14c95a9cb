"""The registry: what the installed plugins bring, and which of it a name means."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache, cached_property
from typing import Any, TypeVar

from attrs import evolve

from skyband.config.literals import literal
from skyband.errors import ConfigError, PluginError, Problem, suggest
from skyband.registry.backend_loading import load_backend, load_engine, load_interface, named
from skyband.registry.binding import Binding
from skyband.registry.discovery import OURS, Plugin, absent, core, discover
from skyband.registry.info import BackendInfo, EngineInfo, FormatInfo, Info, QueryInfo, RoleInfo, api_problem
from skyband.registry.install_hints import comes_with, engine_comes_with, format_comes_with
from skyband.registry.name_claims import Listed, listed, pick
from skyband.roles import Backend

T = TypeVar("T", bound=Info)


class Registry:
    """What the installed plugins bring. Two distributions that claim one backend must be told apart by the user."""

    def __init__(self, plugins: Iterable[Plugin], absent: Iterable[str] = ()) -> None:
        brought = tuple(plugins)
        self.plugins = brought if any(plugin.distribution == OURS for plugin in brought) else (core(), *brought)
        self.absent = tuple(absent)
        """What is wrong with the names of plugins that the user asked for."""

    def listing(self, role: str | None = None) -> list[Listed[BackendInfo]]:
        """Every backend of the plugins that load, with the reason beside each that cannot be used."""
        return [entry for entry in self._backends if role is None or entry.info.role == role]

    @cached_property
    def _backends(self) -> list[Listed[BackendInfo]]:
        return listed(self.plugins, lambda plugin: plugin.backends, self._unusable)

    def role_listing(self) -> list[Listed[RoleInfo]]:
        """Every role of the plugins that load, with the reason beside each that cannot be used; core's first."""
        entries = listed(self.plugins, lambda plugin: plugin.roles, _outdated)
        order = [info for plugin in self.plugins for info in plugin.roles]
        return sorted(entries, key=lambda entry: (entry.distribution != OURS, order.index(entry.info)))

    def query_listing(self) -> list[Listed[QueryInfo]]:
        """Every kind of query of the plugins that load, with the reason beside each that cannot be used."""
        return listed(self.plugins, lambda plugin: plugin.queries, _outdated)

    def format_listing(self) -> list[Listed[FormatInfo]]:
        """Every format of the plugins that load, with the reason beside each that cannot be used."""
        return listed(self.plugins, lambda plugin: plugin.formats, _outdated)

    def engine_listing(self) -> list[Listed[EngineInfo]]:
        """Every engine of the plugins that load, with the reason beside each that cannot be used."""
        return listed(self.plugins, lambda plugin: plugin.engines, _outdated)

    @cached_property
    def roles(self) -> dict[str, RoleInfo]:
        """The roles that can be chosen, by name; core's first."""
        return {entry.info.name: entry.info for entry in self.role_listing() if entry.problem is None}

    def role(self, name: str) -> RoleInfo:
        """Raises ConfigError for a name that is no role, PluginError for a role that cannot be used."""
        if name in self.roles:
            return self.roles[name]
        for entry in self.role_listing():
            if entry.info.name == name:
                raise PluginError(f"role {name} of {entry.distribution}: {entry.problem}")
        raise ConfigError(Problem("role", f"unknown {name!r}; {suggest(name, self.roles)}{comes_with(name)}"))

    def query(self, kind: str, distribution: str | None = None) -> Listed[QueryInfo]:
        """Who brings a kind of query. Raises ConfigError for an unknown one, PluginError for one claimed twice."""
        return _named("kind", kind, distribution, self.query_listing(), comes_with)

    def format(self, name: str, distribution: str | None = None) -> Listed[FormatInfo]:
        """Who brings a format. Raises ConfigError for an unknown one, PluginError for one claimed twice."""
        return _named("format", name, distribution, self.format_listing(), format_comes_with)

    def engine(self, name: str, distribution: str | None = None) -> Listed[EngineInfo]:
        """Who brings an engine. Raises ConfigError for an unknown one, PluginError for one claimed twice."""
        listing = self.engine_listing()
        entries = [entry for entry in listing if entry.info.name == name]
        if not entries:
            hint = engine_comes_with(name) or f"; {suggest(name, [entry.info.name for entry in listing])}"
            raise ConfigError(Problem("engine", f"unknown {name!r}{hint}"))
        return pick(entries, "engine", name, distribution, _outdated)

    def load_engine(self, name: str, distribution: str | None = None) -> Any:
        """An engine, made. Raises as `engine`, and PluginError where its class cannot be imported or made."""
        entry = self.engine(name, distribution)
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
        entry = pick(entries, role, name, distribution, self._unusable)
        info = self.role(role)
        brought_by = self._brought_by(info)
        return Binding(entry.info, entry.distribution, entry.version, parameters, info.interface, brought_by)

    def interface_of(self, role: str) -> type[Any]:
        """The class that every backend of a role extends. Raises as `role`, PluginError where it cannot be imported."""
        return load_interface(self.role(role), self._brought_by(self.role(role)))

    def load_class(self, info: BackendInfo) -> type[Backend]:
        """A backend's class. Raises PluginError where it is not there or not what its plugin says."""
        role = self.role(info.role)
        return load_backend(info, role.interface, self._brought_by(info), self._brought_by(role))

    def _brought_by(self, info: BackendInfo | RoleInfo) -> str:
        """Whose a backend or role is, where it is installed here."""
        listing: Any = self.role_listing() if isinstance(info, RoleInfo) else self.listing(info.role)
        return " and ".join(entry.distribution for entry in listing if entry.info == info)

    def named(self, info: BackendInfo | RoleInfo) -> str:
        """What is brought, with the distribution that brings it."""
        return named(info, self._brought_by(info))

    def _unusable(self, info: BackendInfo, distribution: str) -> str | None:
        if info.role not in self.roles:
            return self._without_role(info.role)
        return _outdated(info, distribution)

    def _without_role(self, name: str) -> str:
        try:
            self.role(name)
        except PluginError as error:
            return str(error)
        except ConfigError:
            pass
        hint = suggest(name, self.roles)
        return f"unknown role {name!r}; {hint}; no installed plugin brings it{comes_with(name)}"

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


def _named(
    field: str, name: str, distribution: str | None, listing: list[Listed[T]], hint: Callable[[str], str]
) -> Listed[T]:
    """The one of a listing that a name means. Raises ConfigError for an unknown one, PluginError as `pick`."""
    entries = [entry for entry in listing if entry.info.key.rpartition("/")[2] == name]
    if not entries:
        names = list(dict.fromkeys(entry.info.key.rpartition("/")[2] for entry in listing))
        near = f"; {suggest(name, names)}" if names else ""
        raise ConfigError(Problem(field, f"unknown {name!r}{near}{hint(name)}"))
    return pick(entries, "distribution", name, distribution, _outdated)


def _outdated(info: Info, distribution: str) -> str | None:
    return None if distribution == OURS else api_problem(info.api, distribution)


@cache
def installed() -> Registry:
    """The registry of this process."""
    return Registry(discover(), absent())


def choose(roles: Iterable[str], choices: Mapping[str, Any] | None = None) -> dict[str, Binding]:
    """A binding for each role, from what the user chose: a name, a table with `name` and parameters, or nothing.

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
    if choice is None or isinstance(choice, str):
        return installed().bind(role, choice)
    if not isinstance(choice, Mapping):
        raise ConfigError(Problem(role, f'must be a name or a table such as {{ name = "…" }} (got {literal(choice)})'))
    parameters = dict(choice)
    name, distribution = parameters.pop("name", None), parameters.pop("distribution", None)
    return evolve(installed().bind(role, name, distribution), parameters=parameters)
