"""Who claims a name: the plugins that bring one backend, query or role, and why a claim cannot be used."""

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

from attrs import frozen

from skyband.errors import ConfigError, PluginError, Problem
from skyband.registry.discovery import OURS, RESTRICT, Plugin
from skyband.registry.info import Info, RoleInfo

T = TypeVar("T", bound=Info)


@frozen
class Listed(Generic[T]):
    """A backend, query or role as it is listed: who brings it and, if it cannot be used, why."""

    info: T
    distribution: str
    version: str
    problem: str | None = None


def listed(
    plugins: Iterable[Plugin], infos: Callable[[Plugin], Sequence[T]], unusable: Callable[[T, str], str | None]
) -> list[Listed[T]]:
    """What these plugins bring, by key and distribution, each with the reason why it cannot be used, if any.

    Two distributions that claim one name harm that name alone. `unusable` is given what is brought and by which
    distribution.
    """
    claims: dict[str, list[Plugin]] = {}
    brought = [(plugin, info) for plugin in plugins for info in infos(plugin)]
    for plugin, info in brought:
        claims.setdefault(info.key, []).append(plugin)
    entries = [
        Listed(
            info,
            plugin.distribution,
            plugin.version,
            _twice(info, claims[info.key]) or unusable(info, plugin.distribution),
        )
        for plugin, info in brought
    ]
    return sorted(entries, key=lambda entry: (entry.info.key, entry.distribution))


def pick(
    entries: Sequence[Listed[T]],
    field: str,
    name: str,
    distribution: str | None,
    unusable: Callable[[T, str], str | None],
) -> Listed[T]:
    """The one of these claims (at least one) to a name that is meant.

    Raises PluginError where none can be used or it is claimed twice, ConfigError where `distribution` has none.
    """
    usable = [entry for entry in entries if not unusable(entry.info, entry.distribution)]
    if not usable:
        raise PluginError(f"{entries[0].info.key}: {unusable(entries[0].info, entries[0].distribution)}")
    if distribution is not None:
        usable = [entry for entry in usable if entry.distribution == distribution]
    if not usable:
        brought = ", ".join(entry.distribution for entry in entries)
        raise ConfigError(Problem(field, f"{name} is not in {distribution}; it is in {brought}"))
    if len(usable) > 1:
        raise PluginError(f"{usable[0].info.key}: {usable[0].problem}")
    return usable[0]


def _twice(info: Info, claimed_by: Sequence[Plugin]) -> str | None:
    if len(claimed_by) == 1:
        return None
    distributions = list(dict.fromkeys(plugin.distribution for plugin in claimed_by))
    if len(distributions) == 1:
        return f"claimed by two entry points of {distributions[0]}: upgrade or remove it"
    if isinstance(info, RoleInfo):
        message = f"uninstall one, or name the plugins to load, without one of them, in {RESTRICT}"
        return f"claimed by {' and '.join(distributions)}: {message}"
    # Skyband's own are the ones a user had before another came.
    own = [name for name in distributions if name == OURS or name.startswith(f"{OURS}-")]
    choice = (own or distributions)[0]
    return (
        f'claimed by {" and ".join(distributions)}: choose one with distribution = "{choice}" in a job, '
        "--distribution in a command"
    )
