"""The registry: what the installed plugins bring, and which of it a name means."""

from collections.abc import Iterable
from functools import cache, cached_property
from typing import Any

import skyband
from skyband.errors import ConfigError, PluginError, Problem, suggest
from skyband.registry.binding import Binding
from skyband.registry.core_roles import CORE_ROLES
from skyband.registry.discovery import OURS, Plugin, absent, discover
from skyband.registry.info import BackendInfo, Info, QueryInfo, RoleInfo, api_problem
from skyband.registry.install_hints import comes_with
from skyband.registry.name_claims import Listed, listed, pick


class Registry:
    """What the installed plugins bring. Two distributions that claim one backend must be told apart by the user."""

    def __init__(self, plugins: Iterable[Plugin], absent: Iterable[str] = ()) -> None:
        self.plugins = tuple(plugins)
        self.absent = tuple(absent)
        """What is wrong with the names of plugins that the user asked for."""

    def listing(self, role: str | None = None) -> list[Listed[BackendInfo]]:
        """Every backend of the plugins that load, with the reason beside each that cannot be used."""
        return [entry for entry in self._backends if role is None or entry.info.role == role]

    @cached_property
    def _backends(self) -> list[Listed[BackendInfo]]:
        return listed(self.plugins, lambda plugin: plugin.backends, self._unusable)

    def role_listing(self) -> list[Listed[RoleInfo]]:
        """Every role: core's, then those of the plugins that load, with the reason beside each that cannot be used."""
        core = Plugin(OURS, skyband.__version__, "", "", roles=CORE_ROLES)
        others = listed([core, *self.plugins], lambda plugin: plugin.roles, _outdated)
        return sorted(others, key=lambda entry: CORE_ROLES.index(entry.info) if entry.info in CORE_ROLES else 99)

    def query_listing(self) -> list[Listed[QueryInfo]]:
        """Every kind of query of the plugins that load, with the reason beside each that cannot be used."""
        return listed(self.plugins, lambda plugin: plugin.queries, _outdated)

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
        listing = self.query_listing()
        entries = [entry for entry in listing if entry.info.kind == kind]
        if not entries:
            known = list(dict.fromkeys(entry.info.kind for entry in listing))
            raise ConfigError(Problem("kind", f"unknown {kind!r}; {suggest(kind, known)}{comes_with(kind)}"))
        return pick(entries, "distribution", kind, distribution, _outdated)

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
        return Binding(entry.info, entry.distribution, entry.version, parameters)

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
        known = suggest(name, self.roles)
        return f"unknown role {name!r}; {known}; no installed plugin brings it{comes_with(name)}"

    def _unknown(self, role: str, name: str) -> str:
        known = [info.name for info in self.backends(role)]
        message = f"unknown backend {name!r}; {suggest(name, known)}"
        if name == self.role(role).default:
            home = self.role(role).distribution
            message += f"; it comes with {home}: pip install {home}"
        broken = [f"{plugin.distribution} ({plugin.problem})" for plugin in self.plugins if plugin.problem]
        message += f"; plugins that did not load: {', '.join(broken)}" if broken else ""
        return "; ".join([message, *self.absent])


def _outdated(info: Info, distribution: str) -> str | None:
    return None if info in CORE_ROLES else api_problem(info.api, distribution)


@cache
def installed() -> Registry:
    """The registry of this process."""
    return Registry(discover(), absent())
