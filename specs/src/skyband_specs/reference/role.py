"""The page of a role: a table of its backends, its interface, what a backend implements and what is checked."""

from collections.abc import Iterable
from typing import Any

from skyband.config.parameters import parameters_of
from skyband.errors import PluginError
from skyband.registry import Listed, installed, interface_of, load_class
from skyband.registry.info import BackendInfo
from skyband.roles import Backend

from skyband_specs.reference import backend_facts
from skyband_specs.reference.interface import Member, described, members_of
from skyband_specs.reference.markdown import code, docstring, fenced, line, page, parameters, prose, section, table


def role_page(name: str, entries: Iterable[Listed[BackendInfo]]) -> str:
    """The page of a role with these backends, all of which are usable."""
    role = installed().role(name)
    interface = interface_of(role.name)
    members = members_of(interface)
    own = [member for member in members if member.owner is not Backend]
    links = [f"[{kind}](../queries/{kind}.md)" for kind in backend_facts.queries_of(name)]
    used = f" Used by {' and '.join(links)}." if links else ""
    return page(
        code(name),
        f"{role.summary[:1].upper()}{role.summary[1:]}.{used} Its default is {code(f'{name}/{role.default}')}.",
        section("Backends", *_backends(name, entries)),
        section("Interface", prose(docstring(interface)), *map(described, _called(own))),
        section("Parameters of every backend", parameters(parameters_of(interface))),
        section("What a backend implements", *_written(interface, members)),
        section("What is checked", *_checks(name)),
    )


def _backends(role: str, entries: Iterable[Listed[BackendInfo]]) -> list[str]:
    rows, costs = [], []
    for entry in entries:
        info, cls = entry.info, load_class(entry.info)
        link = f"[{info.name}](../backends/{role}/{info.name}.md)"
        lacks = ", ".join(info.lacks) or "nothing"
        default = " (default)" if installed().role(role).default == info.name else ""
        rows.append([f"{link}{default}", line(info.summary), info.guarantee, lacks, entry.distribution])
        costs.append([link, backend_facts.complexity(cls), line(info.reference)])
    if not rows:
        return [f"None is installed; the usual ones come with {installed().role(role).distribution}."]
    return [
        table(["backend", "how", "guarantee", "lacks", "from"], rows),
        "The cost and origin of each:",
        table(["backend", "complexity", "paper"], costs),
    ]


def _called(members: Iterable[Member]) -> list[Member]:
    return [member for member in members if member.public and member.text]


def _written(interface: type[Any], members: list[Member]) -> list[str]:
    required = [member for member in members if member.name in interface.__abstractmethods__]
    optional = [member for member in members if not member.public and not member.abstract and member.text]
    signatures = "\n\n".join(f"{member.signature}{_comment(member)}" for member in required)
    parts = [
        f"A subclass of {code(f'{_home(interface)}.{interface.__name__}')} with its parameters as fields. The methods "
        "without an underscore check their arguments and call those with one, which get contiguous arrays that keep "
        "the contract.",
        fenced("python", signatures),
    ]
    if optional:
        names = ", ".join(code(member.name) for member in optional)
        parts.append(f"It may override {names}, to be faster or to do more.")
    return parts


def _home(interface: type[Any]) -> str:
    """The module that authors import it from: core's are in one place."""
    return "skyband.roles" if interface.__module__.startswith("skyband.roles.") else interface.__module__


def _comment(member: Member) -> str:
    return f"\n    # {' '.join(member.text.partition(chr(10) * 2)[0].split())}" if member.text else ""


def _checks(role: str) -> list[str]:
    try:
        from skyband_specs.checks import checks_for
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "skyband_specs":
            raise
        return ["The checks are not installed: `pip install skyband-specs`."]
    if installed().role(role).conformance is None:
        return ["Its plugin brings no checks."]
    try:
        checks = checks_for(role)
    except PluginError as error:
        return [f"They cannot be run: {line(str(error))}."]
    rows = [
        [check.group, code(check.name), line(docstring(check.body).partition("\n\n")[0]), _applies(check)]
        for check in checks
    ]
    lead = f"{code(f'skyband verify {role}/NAME')} runs {len(rows)} checks:"
    return [lead, table(["group", "check", "proves", "asked of"], rows)]


def _applies(check: Any) -> str:
    from skyband.registry.info import GUARANTEES

    needs = [f"with {need}" for need in check.needs]
    kinds = [] if set(check.guarantees) == set(GUARANTEES) else [" and ".join(check.guarantees)]
    return ", ".join([*kinds, *needs]) or "all"
