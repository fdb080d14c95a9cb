"""All pages for what is installed, by their paths in a folder of documentation."""

from collections.abc import Callable, Iterable
from functools import partial
from importlib.util import find_spec

from attrs import frozen
from skyband.registry import Listed, installed
from skyband.registry.info import BackendInfo

from skyband_specs.reference.markdown import line, page, section, table
from skyband_specs.reference.usable import faults, role_links, usable_backends, usable_queries, usable_roles


@frozen
class Pages:
    """The text of each page by its path, and why plugins, roles, backends and queries have none."""

    texts: dict[str, str]
    problems: tuple[str, ...]


def all_pages() -> Pages:
    """A page for every usable role, query and backend; running their examples takes a while."""
    from skyband_specs.reference.author_api import author_page
    from skyband_specs.reference.backend import backend_page
    from skyband_specs.reference.errors import errors_page
    from skyband_specs.reference.query import query_page
    from skyband_specs.reference.role import role_page

    usable = usable_backends()
    makers: dict[str, Callable[[], str]] = {"reference.md": partial(_overview, usable)}
    for role in usable_roles():
        makers[f"roles/{role}.md"] = partial(role_page, role, [entry for entry in usable if entry.info.role == role])
    for entry in usable:
        makers[f"backends/{entry.info.key}.md"] = partial(backend_page, entry)
    for info in usable_queries().values():
        makers[f"queries/{info.kind}.md"] = partial(query_page, info)
    makers |= {"authors.md": author_page, "errors.md": errors_page}
    problems = tuple(faults())
    if find_spec("skyband_spark"):
        makers |= _of_engines(usable)
    else:
        problems += ("job.md, python.md and matrix.md are about Spark: pip install skyband-spark",)
    return Pages({path: make() for path, make in makers.items()}, problems)


def _of_engines(usable: Iterable[Listed[BackendInfo]]) -> dict[str, Callable[[], str]]:
    """The pages about what each engine does."""
    from skyband_specs.reference.job_file import job_page
    from skyband_specs.reference.matrix import matrix_page
    from skyband_specs.reference.python_api import python_page

    return {"job.md": job_page, "python.md": python_page, "matrix.md": partial(matrix_page, list(usable))}


def _overview(usable: Iterable[Listed[BackendInfo]]) -> str:
    by_role = {role: [entry.info for entry in usable if entry.info.role == role] for role in usable_roles()}
    queries = [
        [f"[{kind}](queries/{kind}.md)", info.summary, ", ".join(role_links(kind))]
        for kind, info in usable_queries().items()
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
        "Generated from what is installed: `skyband docs DIR` writes it again, also for third-party plugins. "
        "See also [what works where](matrix.md), [the job file](job.md), [Python](python.md), [what authors import]"
        "(authors.md), [commands](commands.md) and [errors](errors.md).",
        section("Queries", table(["query", "asks", "roles"], queries)),
        section("Roles", table(["role", "says", "backends"], roles)),
        section("Backends", table(["backend", "how", "guarantee"], backends)),
    )
