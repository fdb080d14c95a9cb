"""Claims of names: the plugins that bring one backend, query or role, and why a claim cannot be used."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Generic, TypeVar

from attrs import frozen

from skyband.errors import ConfigError, PluginError, Problem, suggest
from skyband.registry.discovery import OURS, RESTRICT, Plugin
from skyband.registry.info import Info, RoleInfo, api_problem
from skyband.registry.install_hints import comes_with

T = TypeVar("T", bound=Info)


@frozen
class Listed(Generic[T]):
    """A listed backend, query or role: the distribution that brings it and, if it cannot be used, why."""

    info: T
    distribution: str
    version: str
    problem: str | None = None


def outdated(info: Info, distribution: str) -> str | None:
    """Why code written for an API cannot be used; None if it can."""
    return None if distribution == OURS else api_problem(info.api, distribution)


class Catalogue(Generic[T]):
    """What the plugins bring of one kind, each with the reason why it cannot be used, if any.

    If two distributions claim one name, only that name is unusable.
    """

    def __init__(
        self,
        brought: Iterable[tuple[Plugin, T]],
        field: str = "distribution",
        hint: Callable[[str], str] = comes_with,
        unusable: Callable[[T, str], str | None] = outdated,
    ) -> None:
        """`field`: the key of a job that names one. `hint` says what to install for a name that is unknown here."""
        self._field, self._hint, self._unusable = field, hint, unusable
        claims: dict[str, list[Plugin]] = {}
        pairs = list(brought)
        for plugin, info in pairs:
            claims.setdefault(info.key, []).append(plugin)
        entries = (
            Listed(info, of.distribution, of.version, _twice(info, claims[info.key]) or unusable(info, of.distribution))
            for of, info in pairs
        )
        self.listing = sorted(entries, key=lambda entry: (entry.info.key, entry.distribution))
        """By key and distribution."""

    @cached_property
    def usable(self) -> dict[str, T]:
        """What can be used, by name."""
        return {name_of(entry.info): entry.info for entry in self.listing if entry.problem is None}

    def named(self, name: str, distribution: str | None = None) -> Listed[T]:
        """The entry of a name. Raises ConfigError for an unknown one, PluginError as `pick`."""
        entries = [entry for entry in self.listing if name_of(entry.info) == name]
        if not entries:
            names = list(dict.fromkeys(name_of(entry.info) for entry in self.listing))
            hint = self._hint(name) or (f"; {suggest(name, names)}" if names else "")
            raise ConfigError(Problem(self._field, f"unknown {name!r}{hint}"))
        return self.pick(entries, "distribution", name, distribution)

    def pick(self, entries: Sequence[Listed[T]], field: str, name: str, distribution: str | None) -> Listed[T]:
        """The claim to a name that is meant, of one or more.

        Raises PluginError if none can be used or the name is claimed twice, ConfigError if not by `distribution`.
        """
        usable = [entry for entry in entries if not self._unusable(entry.info, entry.distribution)]
        if not usable:
            raise PluginError(f"{entries[0].info.key}: {self._unusable(entries[0].info, entries[0].distribution)}")
        if distribution is not None:
            usable = [entry for entry in usable if entry.distribution == distribution]
        if not usable:
            brought = ", ".join(entry.distribution for entry in entries)
            raise ConfigError(Problem(field, f"{name} is not in {distribution}; it is in {brought}"))
        if len(usable) > 1:
            raise PluginError(f"{usable[0].info.key}: {usable[0].problem}")
        return usable[0]


def name_of(info: Info) -> str:
    """The last part of a key: `k-skb` of `sketch/k-skb`."""
    return info.key.rpartition("/")[2]


def _twice(info: Info, claimed_by: Sequence[Plugin]) -> str | None:
    if len(claimed_by) == 1:
        return None
    distributions = list(dict.fromkeys(plugin.distribution for plugin in claimed_by))
    if len(distributions) == 1:
        return f"claimed by two entry points of {distributions[0]}: upgrade or remove it"
    if isinstance(info, RoleInfo):
        message = f"uninstall one, or name the plugins to load, without one of them, in {RESTRICT}"
        return f"claimed by {' and '.join(distributions)}: {message}"
    # Users had Skyband's own before another claimed the name.
    own = [name for name in distributions if name == OURS or name.startswith(f"{OURS}-")]
    choice = (own or distributions)[0]
    return (
        f'claimed by {" and ".join(distributions)}: choose one with distribution = "{choice}" in a job, '
        "--distribution in a command"
    )
