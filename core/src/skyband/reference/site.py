"""All pages of what is installed, by the path each has in a folder of documentation."""

from collections.abc import Callable, Iterable
from functools import partial

from attrs import frozen

from skyband.errors import PluginError
from skyband.queries import kinds
from skyband.reference.markdown import line, page, section, table
from skyband.registry import Listed, Registry, installed
from skyband.registry.info import BackendInfo


@frozen
class Pages:
    """The text of each page by its path, and the backends that have none, each with the reason."""

    texts: dict[str, str]
    problems: tuple[str, ...]


def everything() -> Pages:
    """A page for every role, query and usable backend that is installed; runs their examples, which takes a while."""
    from skyband.reference.backend import backend_page
    from skyband.reference.errors import errors_page
    from skyband.reference.job_file import job_page
    from skyband.reference.matrix import matrix_page
    from skyband.reference.python_api import python_page
    from skyband.reference.query import query_page
    from skyband.reference.role import role_page

    usable, problems = _usable(installed())
    makers: dict[str, Callable[[], str]] = {"reference.md": partial(_overview, usable)}
    for role in installed().roles:
        makers[f"roles/{role}.md"] = partial(role_page, role, [entry for entry in usable if entry.info.role == role])
    for entry in usable:
        makers[f"backends/{entry.info.key}.md"] = partial(backend_page, entry)
    for info in kinds().values():
        makers[f"queries/{info.kind}.md"] = partial(query_page, info)
    makers |= {"job.md": job_page, "python.md": python_page, "errors.md": errors_page}
    makers["matrix.md"] = partial(matrix_page, usable)
    return Pages({path: make() for path, make in makers.items()}, tuple(problems))


def _usable(registry: Registry) -> tuple[list[Listed[BackendInfo]], list[str]]:
    """The backends that a page can be made of, and why others have none."""
    from skyband.registry import load_class

    usable = []
    problems = [f"{plugin.distribution}: {plugin.problem}" for plugin in registry.plugins if plugin.problem]
    for entry in registry.listing():
        problem = entry.problem
        if problem is None:
            try:
                load_class(entry.info)
                usable.append(entry)
                continue
            except PluginError as error:
                problem = str(error)
        problems.append(f"{entry.info.key} of {entry.distribution}: {problem}")
    return usable, problems


def _overview(usable: Iterable[Listed[BackendInfo]]) -> str:
    by_role = {role: [entry.info for entry in usable if entry.info.role == role] for role in installed().roles}
    queries = [
        [f"[{kind}](queries/{kind}.md)", info.summary, ", ".join(_roles(kind))] for kind, info in kinds().items()
    ]
    roles = [
        [
            f"[{role.name}](roles/{role.name}.md)",
            role.summary,
            ", ".join(f"[{i.name}](backends/{i.key}.md)" for i in infos),
        ]
        for role, infos in ((installed().role(name), infos) for name, infos in by_role.items())
    ]
    backends = [
        [f"[{info.key}](backends/{info.key}.md)", line(info.summary), info.guarantee]
        for infos in by_role.values()
        for info in infos
    ]
    return page(
        "Reference",
        "Generated from what is installed: `skyband docs DIR` writes them anew, for a third party's plugins too. "
        "See also [what works where](matrix.md), [the job file](job.md), [Python](python.md), [commands](commands.md) "
        "and [errors](errors.md).",
        section("Queries", table(["query", "asks", "roles"], queries)),
        section("Roles", table(["role", "says", "backends"], roles)),
        section("Backends", table(["backend", "how", "guarantee"], backends)),
    )


def _roles(kind: str) -> list[str]:
    from skyband.queries import load_query

    return [f"[{role}](roles/{role}.md)" for role in load_query(kind).roles]
