"""The page of a backend: its guarantee, parameters, costs and origin, and an example with its output."""

import ast
import sys
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec

from skyband.config.parameters import parameters_of
from skyband.docstrings import read_docstring
from skyband.registry import Listed, installed, load_class
from skyband.registry.info import BackendInfo

from skyband_specs.reference import backend_facts
from skyband_specs.reference.markdown import code, fenced, line, page, parameters, prose, section, table
from skyband_specs.reference.run_examples import Ran, run_program, run_steps


def backend_page(entry: Listed[BackendInfo]) -> str:
    """The page of a usable backend. Raises PluginError where its class is not what its plugin declares."""
    info = entry.info
    cls = load_class(info)
    sections, entries = read_docstring(cls), parameters_of(cls)
    query_parameters = backend_facts.given_by_queries(info.role)
    by_query = {name: ", ".join(map(code, kinds)) for name, kinds in query_parameters.items()}
    return page(
        code(info.key),
        line(_sentence(info.summary)),
        _facts(entry, cls),
        section("How it works", prose(sections.text)),
        section("Parameters", parameters(entries, ("given by", by_query)) or "It has none."),
        section("Complexity", prose(sections.complexity) or backend_facts.NOT_STATED),
        section("Example", *_example(info, cls)),
        section("In a job", *_in_jobs(info, backend_facts.job_line(info, entries, query_parameters))),
        section("Try it", fenced("sh", f"skyband describe {info.key}\nskyband verify {info.key}")),
        section("References", prose(sections.references)),
    )


def _facts(entry: Listed[BackendInfo], cls: type) -> str:
    info = entry.info
    role = installed().role(info.role)
    default = ", the default of its role" if role.default == info.name else ""
    return table(["", ""], [
        ["role", f"[{info.role}](../../roles/{info.role}.md): {role.summary}{default}"],
        ["guarantee", backend_facts.bound(info, cls)],
        ["can", backend_facts.can(info)],
        *([f"lacks {name}", line(reason)] for name, reason in info.lacks.items()),
        ["paper", line(info.reference)],
        ["from", entry.distribution],
    ])  # fmt: skip


def _in_jobs(info: BackendInfo, line_of_job: str) -> list[str]:
    named = backend_facts.named_in_keys(info.role)
    if named:
        links = [f"{code(key)} of the query {_link(kind)}" for kind, key in named.items()]
        return [f'It is named in {" or ".join(links)}, with its parameters, as `of = "{info.name}"`.']
    links = [_link(kind) for kind in backend_facts.queries_of(info.role)]
    lead = f"For the query {' or '.join(links)}, with every parameter at its default:" if links else ""
    return [lead, fenced("toml", f"[backends]\n{line_of_job}")]


def _link(kind: str) -> str:
    return f"[{kind}](../../queries/{kind}.md)"


def _example(info: BackendInfo, cls: type) -> list[str]:
    """The example of its docstring and the role's program, both on this backend; without either, why."""
    own = _own_example(info, cls)
    output = [fenced("pycon", own.output)] if own is not None and own.fault is None else []
    lead, program = role_example(info.role)
    if not program:
        return output
    default = installed().role(info.role).default
    program = program.replace(f'create("{info.role}", "{default}"', f'create("{info.role}", "{info.name}"')
    ran = run_program(program)
    if ran.fault is None:
        return [*output, prose(lead), fenced("python", program), "It prints:", fenced("text", ran.output)]
    if output:
        return output
    hint = "an `Examples` section in its docstring would appear here"
    return [f"The role's example does not run on it ({line(ran.fault)}); {hint}."]


def _own_example(info: BackendInfo, cls: type) -> Ran | None:
    steps = read_docstring(cls).steps
    module = info.factory.partition(":")[0]
    return run_steps(steps, vars(sys.modules[module])) if steps else None


@cache
def role_example(role: str) -> tuple[str, str]:
    """What a role's example shows, and its program: `example.py` of its conformance package; empty without one."""
    package = installed().role(role).conformance
    if package is None or find_spec(package.partition(".")[0]) is None:
        return "", ""
    return program_of(files(package).joinpath("example.py"))


def program_of(place: Traversable) -> tuple[str, str]:
    """What the program in a file shows, by its docstring, and the rest of it; empty where there is no file."""
    if not place.is_file():
        return "", ""
    source = place.read_text("utf-8")
    tree = ast.parse(source)
    after = tree.body[0].end_lineno or 0
    return ast.get_docstring(tree) or "", "\n".join(source.splitlines()[after:]).strip() + "\n"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
