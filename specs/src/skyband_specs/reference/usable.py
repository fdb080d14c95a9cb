"""Finds what can have a page: the roles, backends and queries whose classes load, and why others cannot."""

from collections.abc import Callable
from typing import Any, TypeVar

from skyband.errors import ConfigError, PluginError
from skyband.queries import examples_of, kinds, load_query
from skyband.registry import Listed, installed, interface_of, load_class
from skyband.registry.info import BackendInfo, QueryInfo

from skyband_specs.reference.example_jobs import job_example
from skyband_specs.reference.markdown import code

T = TypeVar("T")


def usable_roles() -> list[str]:
    """The roles whose interface loads, core's first."""
    return [name for name, info in installed().roles.items() if _fault(interface_of, info.name) is None]


def usable_backends() -> list[Listed[BackendInfo]]:
    """The backends whose class loads."""
    return [entry for entry in installed().listing() if _backend_fault(entry) is None]


def usable_queries() -> dict[str, QueryInfo]:
    """The kinds of query whose class and examples load."""
    return {kind: info for kind, info in kinds().items() if _query_fault(kind) is None}


def faults() -> list[str]:
    """Why other plugins, roles, backends and queries have no page, each with its distribution."""
    registry = installed()
    problems = [f"{plugin.distribution}: {plugin.problem}" for plugin in registry.plugins if plugin.problem]
    for role in registry.role_listing:
        problems += _problem(f"role {role.info.name}", role, role.problem or _fault(interface_of, role.info.name))
    for entry in registry.listing():
        problems += _problem(entry.info.key, entry, _backend_fault(entry))
    for query in registry.queries.listing:
        problems += _problem(query.info.key, query, query.problem or _query_fault(query.info.kind))
    return problems


def _problem(name: str, entry: Listed[Any], fault: str | None) -> list[str]:
    if fault is None:
        return []
    return [fault if f"of {entry.distribution}: " in fault else f"{name} of {entry.distribution}: {fault}"]


def role_links(kind: str) -> list[str]:
    """The roles of a kind of query, linked if they have a page, relative to the top folder."""
    pages = usable_roles()
    return [f"[{role}](roles/{role}.md)" if role in pages else code(role) for role in load_query(kind).roles]


def _backend_fault(entry: Listed[BackendInfo]) -> str | None:
    return entry.problem or _fault(load_class, entry.info)


def _query_fault(kind: str) -> str | None:
    return _fault(load_query, kind) or _fault(examples_of, kind) or _fault(job_example, kind)


def _fault(load: Callable[[T], object], what: T) -> str | None:
    try:
        load(what)
    except (ConfigError, PluginError) as error:
        return str(error)
    return None
